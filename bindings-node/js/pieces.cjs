"use strict";

/** The plain pieces, usable without a limiter. */

const { native, desk } = require("./native.cjs");
const { names, byName } = require("./names.cjs");
const { ConfigError, RateLimitExceeded, fromCore } = require("./errors.cjs");
const { onAbort } = require("./abort.cjs");
const { systemClock, checkClock } = require("./clock.cjs");
const { start, addBytes, addHeaders, finished, everyName, bodyBytes } = require("./text.cjs");

/**
 * The wait that a `Retry-After` value asks, in milliseconds.
 * @param {string | number | null | undefined} value
 * @param {{ now?: Date | number, date?: Date | number | string }} [clocks]
 * @returns {number | null}
 */
function parseRetryAfter(value, { now = Date.now(), date } = {}) {
  if (value === undefined || value === null) return null;
  start(2);
  addBytes(String(value));
  desk[0] = instantOf("now", now);
  desk[1] = date === undefined || date === null ? NaN : instantOf("date", date);
  native.retryAfter(finished());
  return Number.isNaN(desk[0]) ? null : desk[0];
}

/**
 * What a response says about limits.
 * @param {number} status
 * @param {unknown} headers
 * @param {unknown} [body]
 * @param {{ now?: Date | number | null }} [clocks]
 */
function readSignals(status, headers, body = null, { now = Date.now() } = {}) {
  start(3);
  const pieces = addHeaders(headers, everyName);
  desk[0] = status;
  desk[1] = now === null ? NaN : instantOf("now", now);
  desk[2] = pieces;
  return JSON.parse(native.signals(finished(), bodyBytes(body)));
}

/** Milliseconds since the Unix epoch. @param {string} name @param {unknown} value */
function instantOf(name, value) {
  if (value instanceof Date) return value.getTime();
  if (typeof value === "number") return value;
  // An unreadable date of the response's is as good as none.
  if (typeof value === "string") return Date.parse(value);
  throw new ConfigError(name, `must be a Date or milliseconds since the epoch, not ${String(value)}`);
}

const BASE_MS = /** @type {any} */ (byName.get("backoff.base")).default;
const CAP_MS = /** @type {any} */ (byName.get("backoff.cap")).default;

/** @param {string} kind */
function jitter(kind) {
  const code = names.backoffs.indexOf(kind);
  return (
    /** @type {number} */ step,
    { baseMs = BASE_MS, capMs = CAP_MS, previousMs = 0, random = Math.random } = {},
  ) => {
    if (!Number.isInteger(step) || step < 0) throw new ConfigError("step", `must be a whole number from 0, not ${step}`);
    const spans = { baseMs: span("baseMs", baseMs), capMs: span("capMs", capMs), previousMs: span("previousMs", previousMs) };
    desk[5] = random();
    desk[0] = code;
    desk[1] = spans.baseMs;
    desk[2] = spans.capMs;
    desk[3] = spans.previousMs;
    desk[4] = step;
    native.backoff();
    return desk[0];
  };
}

/** @param {string} name @param {unknown} value */
function span(name, value) {
  if (typeof value === "number" && value >= 0) return value;
  throw new ConfigError(name, `must be milliseconds from 0, not ${String(value)}`);
}

const fullJitter = jitter("full");
const equalJitter = jitter("equal");
const decorrelatedJitter = jitter("decorrelated");

const WAIT = 0;
const TAKE = 1;
const CHARGE = 2;
const AVAILABLE = 3;

/** Frees what nobody holds any more: a bucket, or a registry of them. */
const abandoned = new FinalizationRegistry((/** @type {{ handle: number, registry: boolean }} */ { handle, registry }) => {
  desk[0] = handle;
  desk[1] = registry ? 1 : 0;
  native.bucketDrop();
});

class TokenBucket {
  /** @param {number} rate @param {number} burst @param {{ clock?: any }} [options] */
  constructor(rate, burst, { clock } = {}) {
    desk[0] = amount("rate", rate);
    desk[1] = amount("burst", burst);
    const handle = made(native.bucketNew());
    abandoned.register(this, { handle, registry: false });
    fill(this, handle, undefined, clock === undefined ? systemClock : checkClock(clock));
  }
}

/**
 * The methods of a bucket, bound to it.
 * @param {any} bucket
 * @param {number} handle
 * @param {string | undefined} key
 * @param {import("./clock.cjs").Clock} clock
 */
function fill(bucket, handle, key, clock) {
  const act = (/** @type {number} */ what, /** @type {number} */ cost) => {
    // Held here, so that the registry behind a bucket outlives it.
    void bucket.registry;
    desk[0] = handle;
    desk[1] = clock.now();
    desk[2] = what;
    desk[3] = amount("cost", cost);
    native.bucket(key);
    return desk[0];
  };
  bucket.available = () => act(AVAILABLE, 0);
  bucket.waitMs = (cost = 1) => act(WAIT, cost);
  bucket.take = (cost = 1) => act(TAKE, cost) === 0;
  bucket.charge = (cost = 1) => void act(CHARGE, cost);
  bucket.acquire = async (cost = 1, { signal = /** @type {AbortSignal | undefined} */ (undefined) } = {}) => {
    signal?.throwIfAborted();
    const waitMs = act(WAIT, cost);
    if (waitMs === Infinity) {
      throw new RateLimitExceeded(`a cost of ${cost} never fits into this bucket`, { limitName: "burst" });
    }
    // Charged at once, so that those who wait get their tokens in order.
    act(CHARGE, cost);
    try {
      await sleep(clock, waitMs, signal);
    } catch (reason) {
      act(CHARGE, -cost);
      throw reason;
    }
  };
}

/** @param {import("./clock.cjs").Clock} clock @param {number} ms @param {AbortSignal | undefined} signal */
async function sleep(clock, ms, signal) {
  const end = clock.now() + ms;
  for (let left = ms; left > 0; left = end - clock.now()) {
    await new Promise((resolve, reject) => {
      const forgetTimer = clock.schedule(() => {
        forgetAbort();
        resolve(undefined);
      }, left);
      const forgetAbort = onAbort(signal, () => {
        forgetAbort();
        forgetTimer();
        reject(/** @type {AbortSignal} */ (signal).reason);
      });
    });
  }
}

class BucketRegistry {
  /** @param {number} rate @param {number} burst @param {{ capacity?: number, clock?: any }} [options] */
  constructor(rate, burst, { capacity = 10_000, clock } = {}) {
    const used = clock === undefined ? systemClock : checkClock(clock);
    desk[0] = amount("rate", rate);
    desk[1] = amount("burst", burst);
    desk[2] = amount("capacity", capacity);
    const handle = made(native.registryNew());
    abandoned.register(this, { handle, registry: true });
    this.bucket = (/** @type {string} */ key) => {
      const bucket = Object.create(TokenBucket.prototype);
      Object.defineProperty(bucket, "registry", { value: this });
      fill(bucket, handle, String(key), used);
      return bucket;
    };
    Object.defineProperty(this, "size", {
      get() {
        desk[0] = handle;
        native.registryLen();
        return desk[0];
      },
    });
  }
}

/** @param {string | null} problem */
function made(problem) {
  if (problem !== null) throw fromCore(JSON.parse(problem));
  return desk[0];
}

/** @param {string} name @param {unknown} value */
function amount(name, value) {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  throw new ConfigError(name, `must be a number, not ${String(value)}`);
}

module.exports = {
  parseRetryAfter,
  readSignals,
  fullJitter,
  equalJitter,
  decorrelatedJitter,
  TokenBucket,
  BucketRegistry,
};
