"use strict";

const { names } = require("./native.cjs");
const { Config } = require("./config.cjs");
const { Limiter, callWithRetry } = require("./limiter.cjs");
const { Call } = require("./call.cjs");
const { Meter } = require("./meters.cjs");
const { ManualClock } = require("./clock.cjs");
const errors = require("./errors.cjs");
const pieces = require("./pieces.cjs");
const answer = require("./answer.cjs");

module.exports = {
  Limiter,
  Config,
  Call,
  Meter,
  ManualClock,
  callWithRetry,
  RateLimitError: errors.RateLimitError,
  RateLimitExceeded: errors.RateLimitExceeded,
  PermanentlyRefused: errors.PermanentlyRefused,
  LimiterClosed: errors.LimiterClosed,
  UsageError: errors.UsageError,
  ConfigError: errors.ConfigError,
  parseRetryAfter: pieces.parseRetryAfter,
  readSignals: pieces.readSignals,
  TokenBucket: pieces.TokenBucket,
  BucketRegistry: pieces.BucketRegistry,
  fullJitter: pieces.fullJitter,
  equalJitter: pieces.equalJitter,
  decorrelatedJitter: pieces.decorrelatedJitter,
  Answer: answer.Answer,
  Refusal: answer.Refusal,
  sendRefusal: answer.sendRefusal,
  refusalResponse: answer.refusalResponse,
  version: names.version,
};
