import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Limiter, ManualClock, RateLimitExceeded, PermanentlyRefused, ConfigError, UsageError } from "rampmeter";
import { API } from "./servers.mjs";

const still = (options = {}) => {
  const clock = new ManualClock({ startMs: 5000, wallMs: 1_700_000_000_000, autoAdvance: false });
  return { clock, limiter: new Limiter({ seed: 1, clock, ...options }) };
};

test("a refusal holds every call of its scope for as long as the server asked", () => {
  const { clock, limiter } = still();
  const first = limiter.begin({ method: "GET", url: `${API}/a` });
  assert.deepEqual(first.poll(), { kind: "send", delayMs: null, reason: "ready", error: null });
  const decision = first.onResponse(429, { "Retry-After": "30" });
  assert.equal(decision.kind, "sleep");
  assert.equal(decision.reason, "held");
  assert.ok(decision.delayMs >= 30_000 && decision.delayMs <= 30_600, String(decision.delayMs));

  clock.advance(10_000);
  const second = limiter.begin({ method: "GET", url: `${API}/b` });
  const held = second.poll();
  assert.equal(held.kind, "sleep");
  assert.ok(held.delayMs >= 19_000 && held.delayMs <= 20_600, String(held.delayMs));
  clock.advance(20_600);
  assert.equal(first.poll().kind, "send");
});

test("another scope is not held", () => {
  const { limiter } = still();
  const first = limiter.begin({ url: `${API}/a` });
  first.poll();
  first.onResponse(429, { "retry-after": "30" });
  assert.equal(limiter.begin({ url: "https://other.example.com/a" }).poll().kind, "send");
  assert.equal(limiter.begin({ url: `${API}/a`, scope: "mine" }).poll().kind, "send");
});

test("two credentials at one origin are two scopes", () => {
  const { limiter } = still();
  const as = (name) => limiter.begin({ url: `${API}/a`, headers: { Authorization: `Bearer ${name}` } });
  const first = as("one");
  first.poll();
  first.onResponse(429, { "retry-after": "30" });
  assert.equal(as("one").poll().kind, "sleep");
  assert.equal(as("two").poll().kind, "send");
});

test("a wait past the cap raises with the asked wait inside, and the next call is sent", () => {
  const { limiter } = still();
  const call = limiter.begin({ url: `${API}/a` });
  call.poll();
  const { kind, error } = call.onResponse(429, { "retry-after": "3600" });
  assert.equal(kind, "raise");
  assert.ok(error instanceof RateLimitExceeded);
  assert.equal(error.name, "RateLimitExceeded");
  assert.equal(error.code, "RAMPMETER_RATE_LIMIT_EXCEEDED");
  assert.equal(error.retryAfterMs, 3_600_000);
  assert.equal(error.limitName, "maxRetryAfterMs");
  assert.equal(error.limitValueMs, 120_000);
  assert.equal(error.scope, API);
  assert.equal(error.status, 429);
  assert.equal(error.attempts, 1);
  assert.match(error.message, /more than maxRetryAfterMs \(120 s\)/);
  assert.equal(limiter.begin({ url: `${API}/a` }).poll().kind, "send");
});

test("a permanent refusal raises at once with what the server said", () => {
  const { limiter } = still();
  const call = limiter.begin({ url: `${API}/a` });
  call.poll();
  const body = JSON.stringify({ retry: false, detail: "buy the larger plan" });
  const { error } = call.onResponse(429, { "content-type": "application/json" }, body);
  assert.ok(error instanceof PermanentlyRefused);
  assert.equal(error.retryAfterMs, null);
});

test("a deadline that a wait cannot meet raises and names the argument", () => {
  const { limiter } = still();
  const call = limiter.begin({ url: `${API}/a`, deadlineMs: 5000 });
  call.poll();
  const { error } = call.onResponse(429, { "retry-after": "30" });
  assert.equal(error.limitName, "deadlineMs");
  assert.equal(error.retryAfterMs, 30_000);
});

test("headers are read however a client holds them", () => {
  const shapes = {
    "a mapping": { "Retry-After": "30" },
    "a mapping to lists": { "retry-after": ["30"] },
    "a mapping to numbers": { "retry-after": 30 },
    Headers: new Headers({ "retry-after": "30" }),
    "a Map": new Map([["retry-after", "30"]]),
    pairs: [["content-type", "text/plain"], ["retry-after", "30"]],
    "a flat list": ["content-type", "text/plain", "retry-after", "30"],
    "a flat list of bytes": [Buffer.from("retry-after"), Buffer.from("30")],
    "an iterable": new Set([["retry-after", "30"]]),
  };
  for (const [name, headers] of Object.entries(shapes)) {
    const call = still().limiter.begin({ url: API });
    call.poll();
    const { kind, delayMs } = call.onResponse(429, headers);
    assert.equal(kind, "sleep", name);
    assert.ok(delayMs >= 30_000 && delayMs <= 30_600, `${name}: ${delayMs}`);
  }
});

test("hostile headers change nothing but a counter and an event", () => {
  const hostile = [
    ["retry-after", "x".repeat(1_000_000)],
    ["retry-after", "nan"],
    ["retry-after", "1e999"],
    ["retry-after", "-5"],
    ["retry-after", "18446744073709551616"],
    ["retry-after", "\xff\xfe\x00\u{1f600}"],
    ["x-ratelimit-remaining", "-5"],
    ["x-ratelimit-limit", "1e999"],
    ["ratelimit", '"a";r=nan;t=-1'],
  ];
  for (const field of hostile) {
    const { limiter } = still();
    limiter.listen();
    const call = limiter.begin({ url: `${API}/a` });
    call.poll();
    assert.equal(call.onResponse(200, [field]).kind, "deliver", field[0]);
    call.finish();
    assert.equal(limiter.rateLimit.default.exhausted, false);
    assert.equal(limiter.begin({ url: `${API}/a` }).poll().kind, "send", field[0]);
  }
});

test("what is no header at all is passed over", () => {
  for (const headers of [undefined, null, 5, "retry-after: 30", [], {}, [null], [["retry-after"]], { "retry-after": null }]) {
    const call = still().limiter.begin({ url: API });
    call.poll();
    assert.equal(call.onResponse(200, headers).kind, "deliver", String(headers));
  }
});

test("a call that waits without a driver is listed when it should poll again", () => {
  const { limiter } = still({ firstFlight: 1 });
  const first = limiter.begin({ url: `${API}/a` });
  const second = limiter.begin({ url: `${API}/a` });
  assert.equal(first.poll().kind, "send");
  assert.equal(second.poll().kind, "sleep");
  assert.deepEqual(limiter.takeWakes(), []);
  first.onResponse(200, {});
  first.finish();
  assert.deepEqual(limiter.takeWakes(), [second.id]);
  assert.equal(second.poll().kind, "send");
});

test("a cancelled call gives its place to the next", () => {
  const { limiter } = still({ firstFlight: 1 });
  const first = limiter.begin({ url: `${API}/a` });
  const second = limiter.begin({ url: `${API}/a` });
  first.poll();
  second.poll();
  first.cancel();
  first.cancel();
  assert.equal(second.poll().kind, "send");
});

test("an argument that cannot be is a ConfigError that names it", () => {
  const { limiter } = still();
  const mistakes = [
    [{ url: API, deadlineMs: NaN }, "deadlineMs"],
    [{ url: API, deadlineMs: -1 }, "deadlineMs"],
    [{ url: API, priority: 1.5 }, "priority"],
    [{ url: API, scope: 5 }, "scope"],
    [{ url: API, route: {} }, "route"],
    [{ url: API, method: 5 }, "method"],
    [{ url: API, cost: { tokens: "many" } }, "cost.tokens"],
    [{ url: API, cost: { tokens: NaN } }, "cost"],
    [{ url: "/no/origin" }, "url"],
    [{}, "url"],
  ];
  for (const [request, option] of mistakes) {
    assert.throws(
      () => limiter.begin(request),
      (error) => error instanceof ConfigError && error.option.split(".")[0] === option.split(".")[0],
      JSON.stringify(request),
    );
  }
});

test("driving a call out of turn raises a UsageError and changes nothing", () => {
  const { limiter } = still();
  const call = limiter.begin({ url: API });
  const { kind, error } = call.onResponse(200, {});
  assert.equal(kind, "raise");
  assert.ok(error instanceof UsageError);
  assert.equal(call.poll().kind, "send");
});

test("a call that is disposed of is over", () => {
  const { limiter } = still({ firstFlight: 1 });
  const call = limiter.begin({ url: API });
  call.poll();
  call[Symbol.dispose]();
  call[Symbol.dispose]();
  assert.throws(() => call.poll(), UsageError);
  assert.doesNotThrow(() => (call.finish(), call.cancel()));
  assert.equal(call.attempts(), 0);
  assert.equal(limiter.begin({ url: API }).poll().kind, "send");
});

test("the caller's own rule goes before ours", () => {
  const seen = [];
  const { limiter } = still({
    classify(status, headers, body) {
      seen.push([status, headers["x-odd"], body === null ? null : Buffer.from(body).toString()]);
      return status === 418 ? { class: "windowed", waitMs: 7000 } : undefined;
    },
  });
  const call = limiter.begin({ url: API });
  call.poll();
  const { kind, delayMs } = call.onResponse(418, { "x-odd": "yes" }, "tea");
  assert.equal(kind, "sleep");
  assert.ok(delayMs >= 7000 && delayMs <= 7140, String(delayMs));
  assert.deepEqual(seen, [[418, "yes", "tea"]]);
});

test("a rule may say that a 429 is no refusal", () => {
  const { limiter } = still({ classify: () => ({ class: null }) });
  const call = limiter.begin({ url: API });
  call.poll();
  assert.equal(call.onResponse(429, { "retry-after": "30" }).kind, "deliver");
});

for (const answer of ["windowed", 5, {}, { kind: "windowed" }, { class: "soon" }, { class: "windowed", waitMs: -1 }]) {
  test(`a rule that answers ${JSON.stringify(answer)} is a ConfigError that names it`, () => {
    const call = still({ classify: () => answer }).limiter.begin({ url: API });
    call.poll();
    assert.throws(() => call.onResponse(429), { name: "ConfigError", option: "classify" });
  });
}

test("the body of a refusal is wanted, that of a success is not", () => {
  const { limiter } = still();
  const call = limiter.begin({ url: API });
  assert.equal(call.wantsBody(200, {}), 0);
  assert.ok(call.wantsBody(429, { "content-type": "application/json" }) > 0);
});

test("a call that nobody holds any more gives back its place", async () => {
  const { limiter } = still({ firstFlight: 1 });
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  (() => limiter.begin({ url: API }).poll())();
  for (let round = 0; round < 50 && limiter.stats().total.inFlight > 0; round += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(limiter.stats().total.inFlight, 0);
});

test("a dialect of the caller's own is read, and another limiter does not read it", () => {
  const dialects = [{ name: "acme", headers: { "X-Acme-Again": { field: "wait", format: "seconds" } }, refusals: [509] }];
  const call = still({ dialects }).limiter.begin({ url: API });
  call.poll();
  const { kind, delayMs } = call.onResponse(509, { "x-acme-again": "40" });
  assert.equal(kind, "sleep");
  assert.ok(delayMs >= 40_000 && delayMs <= 40_500, String(delayMs));
  const other = still().limiter.begin({ url: API });
  other.poll();
  assert.equal(other.onResponse(509, { "x-acme-again": "40" }).kind, "deliver");
});

test("a mistake in a dialect is a ConfigError that names its place", () => {
  assert.throws(() => still({ dialects: [{ name: "acme", headers: { "X-Left": "leftover" } }] }), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.option, /^dialects/);
    return true;
  });
});
