import assert from "node:assert/strict";
import { test } from "node:test";
import { BucketRegistry, ConfigError, decorrelatedJitter, equalJitter, fullJitter, ManualClock, parseRetryAfter, RateLimitExceeded, readSignals, TokenBucket } from "rampmeter";

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);

test("parseRetryAfter reads seconds and dates, in milliseconds", () => {
  assert.equal(parseRetryAfter("30"), 30_000);
  assert.equal(parseRetryAfter("1.5"), 1500);
  assert.equal(parseRetryAfter(2), 2000);
  assert.equal(parseRetryAfter("0"), 0);
  assert.equal(parseRetryAfter("Mon, 30 Nov 2026 12:00:10 GMT", { now: NOW }), 10_000);
  assert.equal(parseRetryAfter("Mon, 30 Nov 2026 12:00:10 GMT", { now: new Date(NOW - 5000) }), 15_000);
});

test("parseRetryAfter reads a date against the response's own", () => {
  const value = "Mon, 30 Nov 2026 12:00:10 GMT";
  for (const date of ["Mon, 30 Nov 2026 12:00:00 GMT", new Date(NOW), NOW]) {
    assert.equal(parseRetryAfter(value, { now: NOW - 3_600_000, date }), 10_000);
  }
  assert.equal(parseRetryAfter(value, { now: NOW, date: "yesterday" }), 10_000);
});

test("parseRetryAfter answers null for what is no usable wait", () => {
  for (const value of [undefined, null, "", " ", "soon", "-5", "+3", "1e3", "nan", "inf", NaN, -1, "5s5", "\u{1f600}"]) {
    assert.equal(parseRetryAfter(value), null, String(value));
  }
  assert.throws(() => parseRetryAfter("5", { now: {} }), ConfigError);
});

test("readSignals tells what a response says, and nothing that it does not", () => {
  const headers = new Headers({ "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30", "retry-after": "12" });
  const { meters, wait, refusal } = readSignals(429, headers, null, { now: NOW });
  assert.equal(meters.length, 1);
  assert.equal(meters[0].limit, 60);
  assert.equal(meters[0].remaining, 0);
  assert.equal(meters[0].resetMs, 30_000);
  assert.equal(meters[0].windowMs, null);
  assert.deepEqual(wait, { ms: 12_000, source: "retry-after" });
  assert.equal(refusal.class, "windowed");
  const silent = readSignals(200, {});
  assert.deepEqual(silent, { meters: [], wait: null, refusal: null, ageMs: null, date: null, ignored: [] });
});

test("readSignals reads small bodies, as text or bytes", () => {
  const body = JSON.stringify({ retry: true, retryAfter: 5 });
  for (const form of [body, Buffer.from(body), new TextEncoder().encode(body).buffer]) {
    assert.deepEqual(readSignals(429, { "content-type": "application/json" }, form).wait, { ms: 5000, source: "body" });
  }
});

test("each jitter stays in its bounds and grows with the step", () => {
  const at = (jitter, step, unit, more = {}) => jitter(step, { baseMs: 100, capMs: 1000, random: () => unit, ...more });
  assert.equal(at(fullJitter, 0, 0), 0);
  assert.equal(Math.round(at(fullJitter, 0, 0.999999)), 100);
  assert.equal(Math.round(at(fullJitter, 2, 0.999999)), 400);
  assert.equal(Math.round(at(fullJitter, 60, 0.999999)), 1000);
  assert.equal(at(equalJitter, 1, 0), 100);
  assert.equal(Math.round(at(equalJitter, 1, 0.999999)), 200);
  assert.equal(Math.round(at(decorrelatedJitter, 0, 0.999999)), 100);
  assert.equal(at(decorrelatedJitter, 1, 0, { previousMs: 200 }), 100);
  assert.equal(Math.round(at(decorrelatedJitter, 1, 0.999999, { previousMs: 200 })), 600);
  for (let draw = 0; draw < 100; draw += 1) assert.ok(fullJitter(3) <= 8000);
  assert.throws(() => fullJitter(-1), ConfigError);
  assert.throws(() => fullJitter(0.5), ConfigError);
  assert.throws(() => fullJitter(0, { baseMs: NaN }), ConfigError);
});

test("a token bucket gives its burst at once, then its rate", () => {
  const clock = new ManualClock({ autoAdvance: false });
  const bucket = new TokenBucket(2, 3, { clock });
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false]);
  assert.equal(bucket.waitMs(), 500);
  clock.advance(499);
  assert.equal(bucket.take(), false);
  clock.advance(1);
  assert.equal(bucket.take(), true);
  assert.equal(bucket.waitMs(4), Infinity);
  clock.advance(10_000);
  assert.equal(bucket.available(), 3);
});

test("those who wait for tokens get them in order", async () => {
  const clock = new ManualClock();
  const bucket = new TokenBucket(10, 1, { clock });
  const order = [];
  await Promise.all([1, 2, 3, 4].map((number) => bucket.acquire().then(() => order.push([number, Math.round(clock.now())]))));
  assert.deepEqual(order, [[1, 0], [2, 100], [3, 200], [4, 300]]);
  await assert.rejects(bucket.acquire(5), RateLimitExceeded);
});

test("a wait for tokens that is aborted gives them back", async () => {
  const clock = new ManualClock({ autoAdvance: false });
  const bucket = new TokenBucket(1, 1, { clock });
  await bucket.acquire();
  const controller = new AbortController();
  const waiting = bucket.acquire(1, { signal: controller.signal });
  assert.equal(bucket.waitMs(), 2000);
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  assert.equal(bucket.waitMs(), 1000);
});

test("a bucket that cannot be is a ConfigError that names the argument", () => {
  assert.throws(() => new TokenBucket(0, 1), { name: "ConfigError", option: "rate" });
  assert.throws(() => new TokenBucket(1, 0.5), { name: "ConfigError", option: "burst" });
  assert.throws(() => new TokenBucket("fast", 1), { name: "ConfigError", option: "rate" });
  assert.throws(() => new TokenBucket(1, 1).take(NaN), { name: "ConfigError", option: "cost" });
});

test("a registry keeps one bucket per key", () => {
  const clock = new ManualClock({ autoAdvance: false });
  const registry = new BucketRegistry(1, 2, { clock });
  assert.equal(registry.bucket("a").take(2), true);
  assert.equal(registry.bucket("a").take(), false);
  assert.equal(registry.bucket("b").take(), true);
  assert.ok(registry.bucket("b") instanceof TokenBucket);
  assert.equal(registry.size, 2);
});

test("a registry forgets full buckets beyond its capacity, and no other", () => {
  const clock = new ManualClock({ autoAdvance: false });
  const registry = new BucketRegistry(1, 1, { capacity: 2, clock });
  registry.bucket("spent").take();
  for (let number = 0; number < 10; number += 1) registry.bucket(`full ${number}`).available();
  assert.ok(registry.size <= 3, `${registry.size}`);
  assert.equal(registry.bucket("spent").take(), false);
});

test("a manual clock jumps to the next instant that somebody waits for", async () => {
  const clock = new ManualClock({ startMs: 100, wallMs: 5000 });
  assert.equal(clock.now(), 100);
  assert.equal(clock.wall(), 5000);
  await clock.sleep(60_000);
  assert.equal(clock.now(), 60_100);
  assert.equal(clock.wall(), 65_000);
  clock.setWall(1000);
  assert.equal(clock.wall(), 1000);
  assert.equal(clock.now(), 60_100);
  clock.setWall(null);
  assert.equal(clock.wall(), null);
  assert.throws(() => clock.advance(NaN), ConfigError);
});
