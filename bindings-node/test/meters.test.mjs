import assert from "node:assert/strict";
import { test } from "node:test";
import { Limiter, ManualClock, Meter, UsageError } from "rampmeter";
import { answering, API } from "./servers.mjs";

const asked = async (headers, url = `${API}/x`, limiter) => {
  const clock = new ManualClock({ autoAdvance: false });
  const used = limiter ?? new Limiter({ clock });
  await used.wrapFetch(answering([200, headers]).fetch)(url);
  return { clock, limiter: used };
};

test("a meter tells what the server said, in milliseconds", async () => {
  const { limiter } = await asked({ "ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "42", "ratelimit-reset": "17" });
  const [meter] = limiter.meters();
  assert.ok(meter instanceof Meter);
  assert.equal(meter.scope, API);
  assert.equal(meter.name, null);
  assert.equal(meter.limit, 100);
  assert.equal(meter.remaining, 42);
  assert.equal(meter.windowMs, 60_000);
  assert.equal(meter.exhausted, false);
  assert.equal(meter.msUntilReset(), 17_000);
});

test("a reading ages: the time to the reset is computed at the asking", async () => {
  const { clock, limiter } = await asked({ "x-ratelimit-limit": "10", "x-ratelimit-remaining": "3", "x-ratelimit-reset": "17" });
  const meter = limiter.rateLimit.default;
  clock.advance(7000);
  assert.equal(meter.msUntilReset(), 10_000);
  clock.advance(60_000);
  assert.equal(meter.msUntilReset(), 0);
});

test("what the server did not say is null, never zero", async () => {
  const { limiter } = await asked({ "x-ratelimit-limit": "10" });
  const meter = limiter.rateLimit.default;
  assert.equal(meter.limit, 10);
  assert.equal(meter.remaining, null);
  assert.equal(meter.msUntilReset(), null);
  assert.equal(meter.exhausted, false);
});

test("meters are found by name, whatever the case; an unknown name gives an empty one", async () => {
  const { limiter } = await asked({ "RateLimit-History-Limit": "10", "RateLimit-History-Remaining": "0", "RateLimit-History-Reset": "5" });
  assert.equal(limiter.rateLimit.history.exhausted, true);
  assert.equal(limiter.rateLimit.History.remaining, 0);
  const unknown = limiter.rateLimit.nobody;
  assert.ok(unknown instanceof Meter);
  assert.equal(unknown.remaining, null);
  assert.equal(unknown.exhausted, false);
  assert.ok("history" in limiter.rateLimit);
  assert.ok(!("nobody" in limiter.rateLimit));
  assert.deepEqual(Object.keys(limiter.rateLimit), ["history"]);
  assert.equal({ ...limiter.rateLimit }.history.limit, 10);
});

test("a limiter that knows nothing has empty meters", () => {
  const { rateLimit } = new Limiter();
  assert.equal(rateLimit.default.remaining, null);
  assert.equal(rateLimit.rest.exhausted, false);
});

test("with several scopes the short form is a UsageError, and each scope has its own", async () => {
  const { limiter } = await asked({ "x-ratelimit-limit": "10", "x-ratelimit-remaining": "3" });
  await asked({ "x-ratelimit-limit": "20", "x-ratelimit-remaining": "7" }, "https://other.example.com/x", limiter);
  assert.throws(() => limiter.rateLimit.default, UsageError);
  assert.equal(limiter.scope(`${API}/anything`).rateLimit.default.remaining, 3);
  assert.equal(limiter.scope(new URL("https://other.example.com/")).rateLimit.default.remaining, 7);
  assert.equal(limiter.meters(API).length, 1);
  assert.equal(limiter.meters().length, 2);
  assert.deepEqual(limiter.scope("https://nobody.example.com").meters(), []);
});

test("a meter's reset passes: what remains is unknown again, the limit stays", async () => {
  const { clock, limiter } = await asked({ "x-ratelimit-limit": "10", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "5" });
  clock.advance(6000);
  assert.equal(limiter.rateLimit.default.remaining, null);
  assert.equal(limiter.rateLimit.default.limit, 10);
  assert.equal(limiter.rateLimit.default.exhausted, false);
});

test("the meters can be awaited and shown without being taken for something else", async () => {
  const { limiter } = await asked({ "x-ratelimit-limit": "10" });
  assert.equal((await limiter.rateLimit).default.limit, 10);
  assert.equal(JSON.parse(JSON.stringify(limiter.rateLimit)).default.limit, 10);
});
