import assert from "node:assert/strict";
import { test } from "node:test";
import { callWithRetry, Config, ConfigError, Limiter, LimiterClosed, ManualClock, PermanentlyRefused, RateLimitExceeded, UsageError } from "rampmeter";
import { API, inTurn, serve } from "./servers.mjs";

const manual = (options = {}) => {
  const clock = new ManualClock({ wallMs: 1_700_000_000_000 });
  return { clock, limiter: new Limiter({ seed: 1, clock, ...options }) };
};

/** A function that returns, or throws, these in turn; the last one for all that follow. */
const turns = (...outcomes) => {
  const seen = [];
  const fn = async (attempt) => {
    seen.push(attempt);
    const outcome = outcomes[Math.min(seen.length, outcomes.length) - 1];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  return Object.assign(fn, { seen });
};

const httpError = (status, headers = {}) =>
  Object.assign(new Error(`status ${status}`), { response: { status, headers } });

test("run calls again when the server said, and gives what the function gives", async () => {
  const { clock, limiter } = manual();
  const fn = turns({ status: 429, headers: { "retry-after": "30" } }, { status: 200, headers: {}, data: 7 });
  assert.deepEqual(await limiter.run(fn), { status: 200, headers: {}, data: 7 });
  assert.deepEqual(fn.seen.map(({ attempt }) => attempt), [1, 2]);
  assert.ok(clock.now() >= 30_000 && clock.now() <= 30_700, `${clock.now()}`);
});

test("a value that says nothing counts as a success", async () => {
  const { limiter } = manual();
  for (const value of [undefined, null, 0, "text", [], { status: "ok" }]) assert.equal(await limiter.run(() => value), value);
  assert.equal(limiter.stats().total.accepted, 6);
});

test("a refusal is read from what clients throw", async () => {
  const errors = {
    axios: httpError(429, { "retry-after": "5" }),
    got: Object.assign(new Error("429"), { response: { statusCode: 429, headers: { "retry-after": "5" } } }),
    ky: Object.assign(new Error("429"), { response: new Response("no", { status: 429, headers: { "retry-after": "5" } }) }),
    openai: Object.assign(new Error("429"), { status: 429, headers: new Headers({ "retry-after": "5" }) }),
  };
  for (const [name, error] of Object.entries(errors)) {
    const { clock, limiter } = manual();
    assert.equal(await limiter.run(turns(error, "done")), "done", name);
    assert.ok(clock.now() >= 5000, name);
  }
});

test("Retry-After: 3600 rejects with 3600000 inside, the client's error as its cause", async () => {
  const { clock, limiter } = manual();
  const cause = httpError(429, { "retry-after": "3600" });
  const error = await limiter.run(turns(cause)).catch((reason) => reason);
  assert.ok(error instanceof RateLimitExceeded);
  assert.ok(!(error instanceof TypeError));
  assert.equal(error.retryAfterMs, 3_600_000);
  assert.equal(error.limitName, "maxRetryAfterMs");
  assert.equal(error.cause, cause);
  assert.equal(error.response, cause.response);
  assert.ok(clock.now() < 1000);
  assert.equal(await limiter.run(() => "sent"), "sent");
});

test("what is no rate-limit matter comes out unchanged, and is not tried again", async () => {
  const { limiter } = manual();
  for (const error of [httpError(404), httpError(401), new TypeError("x is not a function"), new RangeError("bug")]) {
    const fn = turns(error);
    assert.equal(await limiter.run(fn, { method: "GET" }).catch((reason) => reason), error);
    assert.equal(fn.seen.length, 1);
  }
});

test("a network failure is tried again if the method is declared idempotent, else not", async () => {
  const { limiter } = manual();
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" });
  const undeclared = turns(reset);
  assert.equal(await limiter.run(undeclared).catch((reason) => reason), reset);
  assert.equal(undeclared.seen.length, 1);
  const declared = turns(reset, reset, "done");
  assert.equal(await limiter.run(declared, { method: "GET" }), "done");
  const allowed = turns(reset, "done");
  assert.equal(await limiter.run(allowed, { retry: true }), "done");
});

test("a failure to connect is tried again whatever the method", async () => {
  const { limiter } = manual();
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" });
  const wrapped = Object.assign(new TypeError("fetch failed"), { cause: new AggregateError([refused]) });
  assert.equal(await limiter.run(turns(refused, wrapped, "done"), { method: "POST" }), "done");
});

test("a permanent refusal rejects with PermanentlyRefused", async () => {
  const { limiter } = manual();
  const fn = turns(new Response('{"retry":false}', { status: 429, headers: { "content-type": "application/json" } }));
  const error = await limiter.run(fn).catch((reason) => reason);
  assert.ok(error instanceof PermanentlyRefused);
  assert.equal(await error.response.text(), '{"retry":false}');
  assert.equal(fn.seen.length, 1);
});

test("a refused Response is closed before the wait", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "1" }, "x".repeat(60_000)], [200]));
  const sockets = new Set();
  server.server.on("connection", (socket) => sockets.add(socket));
  const response = await new Limiter().run(() => fetch(server.url), { method: "GET", url: server.url });
  assert.equal(response.status, 200);
  assert.equal(sockets.size, 1);
});

test("with onExhausted: return the last refusal is given like any other response", async () => {
  const { limiter } = manual({ onExhausted: "return", maxAttempts: 2 });
  const refusal = { status: 429, headers: { "retry-after": "1" } };
  assert.equal(await limiter.run(turns(refusal)), refusal);
});

test("read tells what the function's values mean", async () => {
  const { clock, limiter } = manual();
  const read = (said) => (said?.code === 17 ? { status: 429, headers: { "retry-after": "9" } } : null);
  assert.equal(await limiter.run(turns({ code: 17 }, "done"), { read }), "done");
  assert.ok(clock.now() >= 9000);
  await assert.rejects(limiter.run(() => 1, { read: () => ({ status: "429" }) }), ConfigError);
});

test("calls without a URL share one scope, those with one its origin", async () => {
  const { limiter } = manual();
  await limiter.run(() => 1);
  await limiter.run(() => 1, { url: `${API}/x` });
  await limiter.run(() => 1, { scope: "mine" });
  assert.deepEqual(limiter.scopes().sort(), ["default", API, "mine"].sort());
});

test("a run inside a run of the same limiter does not retry again and waits for no slot", async () => {
  const { limiter } = manual({ firstFlight: 1, maxAttempts: 3 });
  let sent = 0;
  const refused = () => {
    sent += 1;
    return { status: 429, headers: { "retry-after": "1" } };
  };
  await assert.rejects(limiter.run(() => limiter.run(refused)), RateLimitExceeded);
  assert.ok(sent <= 3, `${sent} sends`);
});

test("a run inside a run of another limiter is a call of its own", async () => {
  const outer = manual().limiter;
  const inner = manual().limiter;
  assert.equal(await outer.run(() => inner.run(turns({ status: 429, headers: { "retry-after": "1" } }, "done"))), "done");
  assert.equal(inner.stats().total.sent, 2);
  assert.equal(outer.stats().total.sent, 1);
});

test("the real cost is settled while the function works, and not after", async () => {
  const { limiter } = manual();
  let late;
  const fn = ({ settle }) => {
    settle({ requests: 1, tokens: 40 });
    late = settle;
    return "done";
  };
  assert.equal(await limiter.run(fn, { cost: { requests: 1, tokens: 10 } }), "done");
  assert.throws(() => late({ tokens: 1 }), UsageError);
});

test("an unknown option is a ConfigError that names it", async () => {
  const { limiter } = manual();
  await assert.rejects(limiter.run(() => 1, { deadline: 5 }), { name: "ConfigError", option: "deadline" });
  await assert.rejects(limiter.run("no function"), { name: "ConfigError", option: "fn" });
});

test("callWithRetry retries with a limiter of its own", async () => {
  const clock = new ManualClock();
  const fn = turns({ status: 429, headers: { "retry-after": "2" } }, "done");
  assert.equal(await callWithRetry(fn, { clock, method: "GET", url: API }), "done");
  assert.ok(clock.now() >= 2000);
  const impatient = callWithRetry(turns({ status: 429, headers: { "retry-after": "30" } }), { config: Config.web(), clock });
  await assert.rejects(impatient, { name: "RateLimitExceeded", retryAfterMs: 30_000 });
  await assert.rejects(async () => callWithRetry(fn, { retries: 3 }), { name: "ConfigError", option: "retries" });
});

test("a closed limiter runs nothing", async () => {
  const { limiter } = manual();
  limiter[Symbol.dispose]();
  const fn = turns("done");
  await assert.rejects(limiter.run(fn), LimiterClosed);
  assert.equal(fn.seen.length, 0);
});
