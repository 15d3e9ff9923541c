// The limiters live in the CommonJS modules, so that both ways of loading meet
// the same ones.
import rampmeter from "./index.cjs";

export const {
  Limiter,
  Config,
  Call,
  Meter,
  ManualClock,
  callWithRetry,
  RateLimitError,
  RateLimitExceeded,
  PermanentlyRefused,
  LimiterClosed,
  UsageError,
  ConfigError,
  parseRetryAfter,
  readSignals,
  TokenBucket,
  BucketRegistry,
  fullJitter,
  equalJitter,
  decorrelatedJitter,
  Answer,
  Refusal,
  sendRefusal,
  refusalResponse,
  version,
} = rampmeter;
