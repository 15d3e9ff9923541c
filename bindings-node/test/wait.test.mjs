import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { Limiter, ManualClock, TokenBucket } from "rampmeter";
import { answering, API, inTurn, serve } from "./servers.mjs";

/** A signal that counts its listeners. */
function counted() {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set();
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  signal.addEventListener = (type, listener, options) => {
    listeners.add(listener);
    addEventListener.call(signal, type, listener, options);
  };
  signal.removeEventListener = (type, listener, options) => {
    listeners.delete(listener);
    removeEventListener.call(signal, type, listener, options);
  };
  return { controller, signal, listeners };
}

/** The waits that a signal must end, each begun by a function that gives the promise. */
const waits = {
  "behind a hold": async ({ limiter, signal }) => {
    const fetch = limiter.wrapFetch(answering([429, { "retry-after": "60" }]).fetch);
    return [fetch(`${API}/x`, { signal })];
  },
  "behind another call": async ({ limiter, signal }) => {
    const fetch = limiter.wrapFetch(async () => new Promise(() => {}));
    void fetch(`${API}/x`);
    return [fetch(`${API}/x`, { signal })];
  },
  "behind a spent meter": async ({ limiter, signal }) => {
    const fetch = limiter.wrapFetch(answering([200, { "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" }]).fetch);
    await fetch(`${API}/x`);
    return [fetch(`${API}/x`, { signal })];
  },
  "of run": async ({ limiter, signal }) => [limiter.run(() => ({ status: 429, headers: { "retry-after": "60" } }), { signal })],
  "while run's function works": async ({ limiter, signal }) => [limiter.run(() => new Promise(() => {}), { signal })],
  "of a token bucket": async ({ clock, signal }) => {
    const bucket = new TokenBucket(0.01, 1, { clock });
    await bucket.acquire();
    return [bucket.acquire(1, { signal })];
  },
};

for (const [name, begin] of Object.entries(waits)) {
  test(`an abort ends a wait ${name} at once, with its reason, and leaves no listener and no timer`, async () => {
    let timers = 0;
    const clock = new ManualClock({ autoAdvance: false });
    const { schedule } = clock;
    const counting = Object.assign(Object.create(clock), {
      schedule(callback, ms) {
        timers += 1;
        const forget = schedule(() => ((timers -= 1), callback()), ms);
        return () => ((timers -= 1), forget());
      },
    });
    const limiter = new Limiter({ clock: counting, firstFlight: 1 });
    const { controller, signal, listeners } = counted();
    const [promise] = await begin({ limiter, clock: counting, signal });
    const outcome = assert.rejects(promise, (error) => error === reason);
    const reason = new Error("mine");
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(listeners.size, 1);
    controller.abort(reason);
    await outcome;
    assert.equal(listeners.size, 0);
    assert.equal(timers, 0);
    assert.equal(limiter.stats().total.waiting, 0);
  });
}

test("a signal that is aborted before the call sends nothing", async () => {
  const limiter = new Limiter();
  const { fetch: send, calls } = answering([200]);
  const reason = new Error("mine");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(limiter.wrapFetch(send)(`${API}/x`, { signal }), (error) => error === reason);
  await assert.rejects(limiter.wrapFetch(send)(new Request(`${API}/x`, { signal })), (error) => error === reason);
  await assert.rejects(limiter.run(() => calls.push(1), { signal }), (error) => error === reason);
  assert.equal(calls.length, 0);
  assert.equal(limiter.stats().total.sent, 0);
});

test("a call that ends well leaves no listener", async () => {
  const limiter = new Limiter({ clock: new ManualClock() });
  const { signal, listeners } = counted();
  const fetch = limiter.wrapFetch(answering([429, { "retry-after": "1" }], [200]).fetch);
  assert.equal((await fetch(`${API}/x`, { signal })).status, 200);
  assert.equal(await limiter.run(async () => "done", { signal }), "done");
  await assert.rejects(limiter.run(async () => Promise.reject(new TypeError("bug")), { signal }), /bug/);
  assert.equal(listeners.size, 0);
});

test("hundreds of calls share one signal with one listener", async () => {
  const limiter = new Limiter({ clock: new ManualClock({ autoAdvance: false }), firstFlight: 1 });
  const { controller, signal, listeners } = counted();
  const fetch = limiter.wrapFetch(() => new Promise(() => {}));
  void fetch(`${API}/x`);
  const waiting = Promise.allSettled(Array.from({ length: 300 }, () => fetch(`${API}/x`, { signal })));
  assert.equal(limiter.stats().total.waiting, 300);
  assert.equal(listeners.size, 1);
  controller.abort();
  assert.ok((await waiting).every(({ reason }) => reason === signal.reason));
  assert.equal(listeners.size, 0);
  assert.equal(limiter.stats().total.waiting, 0);
});

test("a signal that is aborted as a wait ends stops the call before it is sent", async () => {
  const controller = new AbortController();
  const clock = new ManualClock({ autoAdvance: false });
  const limiter = new Limiter({ clock });
  let sent = 0;
  const refused = () => ((sent += 1), { status: 429, headers: { "retry-after": "1" } });
  const outcome = assert.rejects(limiter.run(refused, { signal: controller.signal }), { name: "AbortError" });
  while (limiter.stats().total.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(2000);
  controller.abort();
  await outcome;
  assert.equal(sent, 1);
  assert.equal(limiter.stats().total.inFlight, 0);
});

test("an aborted request is cancelled: not tried again, its place given back", async (t) => {
  const server = await serve(t, () => {});
  const limiter = new Limiter();
  const controller = new AbortController();
  const request = limiter.fetch(server.url, { signal: controller.signal });
  const outcome = assert.rejects(request, { name: "AbortError" });
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await outcome;
  assert.equal(limiter.stats().total.inFlight, 0);
  assert.equal(server.requests.length, 1);
});

test("AbortSignal.timeout ends a wait with its own TimeoutError", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "60" }]));
  const limiter = new Limiter();
  const began = performance.now();
  await assert.rejects(limiter.fetch(server.url, { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
  assert.ok(performance.now() - began < 5000);
});

test("cancelling half of the waiters frees their places for the others", async () => {
  const clock = new ManualClock();
  const limiter = new Limiter({ clock, firstFlight: 1, maxQueueWaitMs: null });
  let active = 0;
  const fetch = limiter.wrapFetch(async () => {
    active += 1;
    await clock.sleep(100);
    active -= 1;
    return new Response("ok");
  });
  const controllers = Array.from({ length: 40 }, () => new AbortController());
  const calls = controllers.map(({ signal }, number) => fetch(`${API}/${number}`, { signal }));
  const outcomes = Promise.allSettled(calls);
  controllers.forEach((controller, number) => number % 2 === 1 && controller.abort());
  const results = await outcomes;
  results.forEach(({ status }, number) => assert.equal(status, number % 2 === 1 ? "rejected" : "fulfilled"));
  assert.equal(active, 0);
  assert.equal(limiter.stats().total.sent, 20);
});

test("a wait longer than a timer holds is slept in slices, not skipped", async (t) => {
  const delays = [];
  t.mock.method(globalThis, "setTimeout", (_callback, ms) => void delays.push(ms));
  const limiter = new Limiter({ maxRetryAfterMs: null, maxTotalSleepMs: null });
  const fetch = limiter.wrapFetch(answering([429, { "retry-after": "3000000" }]).fetch);
  const controller = new AbortController();
  const waiting = fetch(`${API}/x`, { signal: controller.signal });
  for (let turn = 0; turn < 20 && limiter.stats().total.waiting === 0; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(delays.at(-1), 2 ** 31 - 1);
  controller.abort();
  await assert.rejects(waiting, { name: "AbortError" });
});

test("after a slice the call polls again and goes on waiting", async () => {
  const day = 86_400_000;
  const clock = new ManualClock();
  const naps = [];
  const slicing = Object.assign(Object.create(clock), {
    schedule(callback, ms) {
      naps.push(ms);
      return clock.schedule(callback, Math.min(ms, 10 * day));
    },
  });
  const limiter = new Limiter({ clock: slicing, maxRetryAfterMs: null, maxTotalSleepMs: null, maxRateLimitDurationMs: null });
  const fetch = limiter.wrapFetch(answering([429, { "retry-after": "3000000" }], [200]).fetch);
  assert.equal((await fetch(`${API}/x`)).status, 200);
  assert.ok(clock.now() >= 3_000_000_000, `${clock.now()} ms`);
  assert.ok(naps.length >= 4);
});

const outcomeOf = async (source) => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    cwd: new URL("../..", import.meta.url),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const timer = setTimeout(() => child.kill(), 15_000);
  const began = performance.now();
  const [code] = await once(child, "close");
  clearTimeout(timer);
  return { code, output, errors, ms: performance.now() - began };
};

test("a process exits when nobody waits, though a hold goes on", async () => {
  const { code, output } = await outcomeOf(`
    import { Limiter } from "rampmeter";
    const limiter = new Limiter();
    const call = limiter.begin({ url: "${API}" });
    call.poll();
    console.log(call.onResponse(429, { "retry-after": "60" }).kind);
  `);
  assert.equal(code, 0);
  assert.equal(output, "sleep\n");
});

test("a process stays while somebody waits", async () => {
  const { code, output, ms } = await outcomeOf(`
    import { Limiter } from "rampmeter";
    let sent = 0;
    const answer = () => (sent += 1) === 1 ? { status: 429, headers: { "retry-after": "1" } } : "done";
    console.log(await new Limiter().run(answer));
  `);
  assert.equal(code, 0);
  assert.equal(output, "done\n");
  assert.ok(ms >= 1000);
});

test("a long hold is shown as a warning by a program that configured nothing", async () => {
  const { errors } = await outcomeOf(`
    import { Limiter } from "rampmeter";
    const call = new Limiter().begin({ url: "${API}" });
    call.poll();
    call.onResponse(429, { "retry-after": "60" });
  `);
  assert.match(errors, /RateLimitWarning: https:\/\/api\.example\.com .*holding .*60\.\d s/);
  assert.equal(errors.match(/RateLimitWarning/g).length, 1);
});
