import assert from "node:assert/strict";
import { test } from "node:test";
import { Config, ConfigError, Limiter } from "rampmeter";

/** The options that give a ConfigError, the option it names, and what it must say. */
const mistakes = [
  ["an unknown option", { maxRetries: 3 }, "maxRetries", /is unknown; known are enabled, maxAttempts/],
  ["a duration without unit", { maxRetryAfter: 5000 }, "maxRetryAfter", /write maxRetryAfterMs, in milliseconds/],
  ["the core's spelling", { max_attempts: 3 }, "max_attempts", /write maxAttempts$/],
  ["the core's spelling of a duration", { max_queue_wait: 3 }, "max_queue_wait", /write maxQueueWaitMs/],
  ["a duration that is no number", { maxRetryAfterMs: NaN }, "maxRetryAfterMs", /\(milliseconds\), not NaN/],
  ["a negative duration", { maxQueueWaitMs: -5 }, "maxQueueWaitMs", /not -5/],
  ["a duration as text", { maxQueueWaitMs: "5s" }, "maxQueueWaitMs", /not '5s'/],
  ["no attempt at all", { maxAttempts: 0 }, "maxAttempts", /whole number from 1/],
  ["half an attempt", { maxAttempts: 1.5 }, "maxAttempts", /not 1.5/],
  ["an unknown choice", { beyondMax: "wait" }, "beyondMax", /"raise" or "clamp"/],
  ["a flag as text", { enabled: "no" }, "enabled", /true or false/],
  ["a function", { maxAttempts: () => 3 }, "maxAttempts", /whole number/],
  ["a nested duration without unit", { backoff: { base: 1 } }, "backoff.base", /write baseMs/],
  ["a nested duration of nothing", { backoff: { baseMs: 0 } }, "backoff.baseMs", /above 0/],
  ["an unknown backoff", { backoff: { kind: "linear" } }, "backoff.kind", /"full", "equal" or "decorrelated"/],
  ["a pace of nothing", { pace: { rate: 0, burst: 5 } }, "pace.rate", /above 0/],
  ["a status that is none", { retryStatuses: [429, 1000] }, "retryStatuses", /status codes/],
  ["an unknown source", { headerPriority: ["body", "moon"] }, "headerPriority", /retry-after-ms/],
  ["a callback that is none", { onEvent: "log" }, "onEvent", /function/],
  ["a clock that is none", { clock: Date }, "clock", /now and schedule/],
  ["a rule that is none", { classify: 5 }, "classify", /function/],
];

for (const [what, options, option, says] of mistakes) {
  test(`${what} is a ConfigError that names ${option}`, () => {
    assert.throws(
      () => new Limiter(options),
      (error) => {
        assert.ok(error instanceof ConfigError && error instanceof TypeError);
        assert.equal(error.name, "ConfigError");
        assert.equal(error.code, "RAMPMETER_CONFIG_ERROR");
        assert.equal(error.option, option);
        assert.match(error.message, says);
        return true;
      },
    );
  });
}

test("an episode below twice the longest wait is a ConfigError that names both", () => {
  assert.throws(() => new Config({ maxRetryAfterMs: 600_000, maxRateLimitDurationMs: 600_000 }), {
    name: "ConfigError",
    option: "maxRateLimitDurationMs",
    message: /maxRateLimitDurationMs \(600 s\) must be at least twice maxRetryAfterMs \(600 s\)/,
  });
});

test("what is undefined counts as not given", () => {
  assert.equal(new Config({ maxAttempts: undefined, backoff: { baseMs: undefined } }).maxAttempts, 8);
});

test("Infinity and null mean no limit, zero means zero", () => {
  const { maxAttempts, maxRetryAfterMs, maxQueueWaitMs, maxTransientRetries } = new Config({
    maxAttempts: Infinity,
    maxRetryAfterMs: null,
    maxQueueWaitMs: 0,
    maxTransientRetries: 0,
  });
  assert.deepEqual({ maxAttempts, maxRetryAfterMs, maxQueueWaitMs, maxTransientRetries }, {
    maxAttempts: null,
    maxRetryAfterMs: null,
    maxQueueWaitMs: 0,
    maxTransientRetries: 0,
  });
});

test("values are read in the units in which they are given", () => {
  const config = new Config({ backoff: { kind: "equal", baseMs: 250 }, maxRetryAfterMs: 1500, pace: { rate: 2, burst: 5 } });
  assert.deepEqual(config.backoff, { kind: "equal", baseMs: 250, capMs: 60_000 });
  assert.equal(config.maxRetryAfterMs, 1500);
  assert.deepEqual(config.pace, { rate: 2, burst: 5 });
});

test("presets are configs that further options go on top of", () => {
  assert.equal(Config.web().maxRetryAfterMs, 5000);
  assert.equal(Config.background().maxAttempts, null);
  assert.equal(Config.web({ maxAttempts: 2 }).maxAttempts, 2);
  const limiter = new Limiter(Config.web(), { maxQueueWaitMs: 1000 });
  assert.ok(limiter.config instanceof Config);
  assert.equal(limiter.config.maxRetryAfterMs, 5000);
  assert.equal(limiter.config.maxQueueWaitMs, 1000);
});

test("a config does not change", () => {
  const config = new Config();
  assert.throws(() => {
    config.maxAttempts = 1;
  }, TypeError);
  assert.equal(config.maxAttempts, 8);
});
