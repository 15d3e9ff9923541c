import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Limiter, LimiterClosed, ManualClock, PermanentlyRefused, RateLimitError, RateLimitExceeded, UsageError } from "rampmeter";
import { answering, API, inTurn, serve, windowed } from "./servers.mjs";

const manual = (options = {}) => {
  const clock = new ManualClock({ wallMs: 1_700_000_000_000 });
  return { clock, limiter: new Limiter({ seed: 1, clock, ...options }) };
};

// ------------------------------------------------------------- a real server

test("a refused request is sent again when the server said, and the body is whole", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "1" }, "slow down"], [200, {}, "served"]));
  const limiter = new Limiter();
  const response = await limiter.fetch(`${server.url}/x`);
  assert.equal(response.status, 200);
  assert.equal(response.url, `${server.url}/x`);
  assert.equal(await response.text(), "served");
  assert.equal(server.requests.length, 2);
  assert.ok(server.requests[1].at - server.requests[0].at >= 1000, "the wait was not shortened");
});

test("fetch is a drop-in: URL, string and Request, methods, headers and bodies go through unchanged", async (t) => {
  const server = await serve(t, inTurn([200, {}, "ok"]));
  const { fetch } = new Limiter();
  await fetch(new URL(`${server.url}/url`));
  await fetch(`${server.url}/string?q=1`, { method: "post", headers: { "x-mine": "1" }, body: "text" });
  await fetch(new Request(`${server.url}/request`, { method: "PUT", headers: { "x-mine": "2" }, body: "more" }));
  await fetch(new Request(`${server.url}/both`, { method: "PUT", body: "one" }), { method: "PATCH", body: "two" });
  assert.deepEqual(
    server.requests.map(({ method, url, headers, body }) => [method, url, headers["x-mine"], body]),
    [
      ["GET", "/url", undefined, ""],
      ["POST", "/string?q=1", "1", "text"],
      ["PUT", "/request", "2", "more"],
      ["PATCH", "/both", undefined, "two"],
    ],
  );
});

test("Retry-After: 3600 hands the 429 back at once, whole, and the next call is sent", async (t) => {
  const refusal = [429, { "retry-after": "3600", "content-type": "text/plain" }, "come back in an hour"];
  const server = await serve(t, inTurn(refusal, [200, {}, "ok"]));
  const limiter = new Limiter();
  const began = performance.now();
  const response = await limiter.fetch(`${server.url}/x`);
  assert.ok(performance.now() - began < 1000);
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "3600");
  assert.equal(response.url, `${server.url}/x`);
  assert.equal(await response.text(), "come back in an hour");
  assert.equal((await limiter.fetch(`${server.url}/x`)).status, 200);
});

test("a refused body is read before the wait, so that the connection is free", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "1" }, "x".repeat(60_000)], [200, {}, "ok"]));
  const sockets = new Set();
  server.server.on("connection", (socket) => sockets.add(socket));
  assert.equal((await new Limiter().fetch(server.url)).status, 200);
  assert.equal(sockets.size, 1);
});

test("a refused body that never ends is closed before the wait", { timeout: 20_000 }, async (t) => {
  const server = await serve(t, (_request, response, number) => {
    if (number > 1) return response.end("ok");
    response.writeHead(429, { "retry-after": "1" });
    const filling = setInterval(() => response.write("x".repeat(1000)), 5);
    response.on("close", () => clearInterval(filling));
  });
  const response = await new Limiter().fetch(server.url);
  assert.equal(response.status, 200);
});

test("a one-shot body is not sent again empty: the refusal is handed back", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "1" }, "no"], [200]));
  const limiter = new Limiter();
  const bodies = [
    new Blob(["once"]).stream(),
    Readable.from(["once"]),
    (async function* () {
      yield Buffer.from("once");
    })(),
  ];
  for (const body of bodies) {
    server.requests.length = 0;
    const fresh = new Limiter();
    const refusing = await serve(t, inTurn([429, { "retry-after": "1" }, "no"], [200]));
    const response = await fresh.fetch(refusing.url, { method: "POST", body, duplex: "half" });
    assert.equal(response.status, 429);
    assert.deepEqual(refusing.requests.map((request) => request.body), ["once"]);
  }
  const request = new Request(server.url, { method: "POST", body: "once" });
  assert.equal((await limiter.fetch(request)).status, 429);
  assert.deepEqual(server.requests.map(({ body }) => body), ["once"]);
});

test("a body that is data is sent again whole", async (t) => {
  const form = new FormData();
  form.set("field", "value");
  for (const body of ["text", new Uint8Array([120, 121]), new URLSearchParams({ a: "1" }), new Blob(["blob"]), form]) {
    const server = await serve(t, inTurn([429, { "retry-after": "0" }], [200]));
    assert.equal((await new Limiter().fetch(server.url, { method: "POST", body })).status, 200);
    assert.equal(server.requests.length, 2);
    assert.ok(server.requests[1].body.length > 0);
    assert.equal(server.requests[1].body.length, server.requests[0].body.length);
  }
});

test("with bufferBody a Request's body and a stream are sent again whole", async (t) => {
  const server = await serve(t, inTurn([429, { "retry-after": "0" }], [200], [429, { "retry-after": "0" }], [200]));
  const fetch = new Limiter().wrapFetch(globalThis.fetch, { bufferBody: true });
  const request = new Request(server.url, { method: "POST", headers: { "x-mine": "1" }, body: "asked" });
  assert.equal((await fetch(request)).status, 200);
  const body = new Blob(["streamed"]).stream();
  assert.equal((await fetch(server.url, { method: "POST", body, duplex: "half" })).status, 200);
  assert.deepEqual(server.requests.map((sent) => sent.body), ["asked", "asked", "streamed", "streamed"]);
  assert.deepEqual(server.requests.slice(0, 2).map((sent) => sent.headers["x-mine"]), ["1", "1"]);
});

test("signals after a redirect to another origin are those of that origin", async (t) => {
  const target = await serve(t, inTurn([200, { "x-ratelimit-limit": "10", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" }]));
  const source = await serve(t, inTurn([302, { location: `${target.url}/there` }]));
  const limiter = new Limiter();
  const response = await limiter.fetch(`${source.url}/here`);
  assert.equal(response.redirected, true);
  assert.equal(limiter.scope(target.url).rateLimit.default.exhausted, true);
  assert.deepEqual(limiter.meters(source.url), []);
});

test("a connection that is refused is tried again, then the client's own error comes out", async (t) => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  const limiter = new Limiter({ backoff: { baseMs: 1, capMs: 1 } });
  const error = await limiter.fetch(`http://127.0.0.1:${port}/`).catch((reason) => reason);
  assert.ok(error instanceof TypeError);
  assert.ok(!(error instanceof RateLimitError));
  assert.equal(error.cause.code, "ECONNREFUSED");
  assert.equal(limiter.stats().total.failed, 3);
  t.diagnostic(error.message);
});

test("a POST whose connection broke is not sent again", async (t) => {
  const server = await serve(t, (request) => request.socket.destroy());
  const limiter = new Limiter({ backoff: { baseMs: 1, capMs: 1 } });
  await assert.rejects(limiter.fetch(server.url, { method: "POST", body: "order" }), { message: "fetch failed" });
  assert.equal(server.requests.length, 1);
  await assert.rejects(limiter.fetch(server.url, { method: "GET" }), { message: "fetch failed" });
  assert.equal(server.requests.length, 4);
});

test("a mistake in the request is not tried again", async () => {
  const limiter = new Limiter();
  await assert.rejects(limiter.fetch("not a url"), TypeError);
  await assert.rejects(limiter.fetch(API, { method: "GET", body: "x" }), TypeError);
  assert.equal(limiter.stats().total.failed, 0);
  assert.equal(limiter.stats().total.inFlight, 0);
});

test("data URLs reach no server and no limiter", async () => {
  const limiter = new Limiter();
  assert.equal(await (await limiter.fetch("data:text/plain,hello")).text(), "hello");
  assert.equal(limiter.stats().total.sent, 0);
});

test("small JSON is looked into, and whole for the caller", async (t) => {
  const json = (status, value) => {
    const body = JSON.stringify(value);
    return [status, { "content-type": "application/json", "content-length": body.length }, body];
  };
  const refusal = { jsonrpc: "2.0", id: 1, error: { code: -32005, message: "rate limit exceeded", data: { retry: true, retryAfter: 1 } } };
  const server = await serve(t, inTurn(json(200, refusal), json(200, { result: [1, 2, 3] })));
  const response = await new Limiter().fetch(server.url, { method: "POST", body: "{}" });
  assert.equal(server.requests.length, 2);
  assert.ok(server.requests[1].at - server.requests[0].at >= 1000);
  assert.equal(response.bodyUsed, false);
  assert.equal(response.url, `${server.url}/`);
  assert.deepEqual(await response.clone().json(), { result: [1, 2, 3] });
  assert.deepEqual(await response.json(), { result: [1, 2, 3] });
});

// ------------------------------------------------------------ the manual clock

test("500 queued calls whose turn comes after minutes all succeed under the default config", async () => {
  const clock = new ManualClock();
  const limiter = new Limiter({ clock });
  const server = windowed(clock, { limit: 60, windowMs: 60_000 });
  const fetch = limiter.wrapFetch(server.fetch);
  const responses = await Promise.all(Array.from({ length: 500 }, (_, number) => fetch(`${API}/items/${number}`)));
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.equal(server.refused, 0);
  assert.ok(clock.now() > 7 * 60_000, `${clock.now()} ms`);
  assert.ok(clock.now() < 9.5 * 60_000, `${clock.now()} ms`);
});

test("calls that wait behind a refusal past the cap end with the same wait, and a later one is sent", async () => {
  const { clock, limiter } = manual({ firstFlight: 1 });
  let refuse;
  const refused = new Promise((resolve) => (refuse = resolve));
  let sent = 0;
  const fetch = limiter.wrapFetch(async () => {
    sent += 1;
    if (sent > 1) return new Response("ok");
    await refused;
    return new Response("no", { status: 429, headers: { "retry-after": "3600" } });
  });
  const all = Array.from({ length: 5 }, () => fetch(`${API}/x`).catch((error) => error));
  await new Promise((resolve) => setImmediate(resolve));
  refuse();
  const [first, ...waiting] = await Promise.all(all);
  assert.equal(first.status, 429);
  for (const error of waiting) {
    assert.ok(error instanceof RateLimitExceeded);
    assert.ok(error instanceof TypeError, "it is of fetch's own kind");
    assert.equal(error.retryAfterMs, 3_600_000);
    assert.equal(error.code, "RAMPMETER_RATE_LIMIT_EXCEEDED");
  }
  assert.ok(clock.now() < 1000);
  assert.equal((await fetch(`${API}/x`)).status, 200);
});

test("a local refusal answers in the stead of an error", async () => {
  const { limiter } = manual({ maxQueueWaitMs: 1000 });
  const { fetch: send } = answering([429, { "retry-after": "60" }]);
  const fetch = limiter.wrapFetch(send, { localRefusal: true });
  const waiting = fetch(`${API}/x`).catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  const response = await fetch(`${API}/x`);
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("rampmeter-local-refusal"), "maxQueueWaitMs");
  assert.ok(Number(response.headers.get("retry-after")) >= 59);
  limiter.close();
  await waiting;
});

test("with respectRemaining off a spent meter really sends", async () => {
  const { clock, limiter } = manual({ respectRemaining: false });
  const { fetch: send, calls } = answering([200, { "x-ratelimit-limit": "10", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" }]);
  const fetch = limiter.wrapFetch(send);
  for (let number = 0; number < 5; number += 1) assert.equal((await fetch(`${API}/x`)).status, 200);
  assert.equal(calls.length, 5);
  assert.ok(clock.now() < 1000);
});

test("a spent history meter does not hold rest", async () => {
  const { clock, limiter } = manual();
  const send = async (url) => {
    const name = url.endsWith("/history") ? "History" : "Rest";
    const left = name === "History" ? "0" : "99";
    return new Response("ok", {
      headers: {
        [`RateLimit-${name}-Limit`]: "100",
        [`RateLimit-${name}-Remaining`]: left,
        [`RateLimit-${name}-Reset`]: "60",
      },
    });
  };
  const fetch = limiter.wrapFetch(send);
  await fetch(`${API}/rest`);
  await fetch(`${API}/history`);
  assert.equal(limiter.rateLimit.history.exhausted, true);
  await fetch(`${API}/rest`);
  assert.ok(clock.now() < 1000, "rest is not held");
  await fetch(`${API}/history`);
  assert.ok(clock.now() >= 60_000, "history is held");
});

test("a caching wrapper around the client changes nothing", async () => {
  const { clock, limiter } = manual();
  const { fetch: send, calls } = answering([200, { "x-ratelimit-limit": "10", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "60" }]);
  const limited = limiter.wrapFetch(send);
  const kept = new Map();
  const caching = async (url) => {
    if (!kept.has(url)) kept.set(url, await limited(url));
    return kept.get(url).clone();
  };
  for (let number = 0; number < 20; number += 1) assert.equal((await caching(`${API}/a`)).status, 200);
  assert.equal(calls.length, 1);
  assert.equal(limiter.rateLimit.default.remaining, 1);
  assert.ok(clock.now() < 1000);
});

test("an answer of a cache beneath is no reading", async () => {
  const { clock, limiter } = manual();
  const spent = { "x-ratelimit-limit": "10", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" };
  const aged = limiter.wrapFetch(answering([200, { ...spent, age: "30" }]).fetch);
  await aged(`${API}/x`);
  const marked = limiter.wrapFetch(answering([200, { ...spent, "x-cache": "HIT" }]).fetch, {
    isCached: (response) => response.headers.get("x-cache") === "HIT",
  });
  await marked(`${API}/x`);
  assert.deepEqual(limiter.meters(), []);
  await aged(`${API}/x`);
  assert.ok(clock.now() < 1000);
});

test("a refusal that was waited for and then ends is handed over with its body", async () => {
  const { clock, limiter } = manual({ maxAttempts: 2 });
  const { fetch: send, calls } = answering([429, { "retry-after": "10", "x-try": "1" }, "first"], [429, { "retry-after": "10", "x-try": "2" }, "second"]);
  const response = await limiter.wrapFetch(send)(`${API}/x`);
  assert.equal(response.status, 429);
  assert.equal(await response.text(), "second");
  assert.equal(calls.length, 2);
  assert.ok(clock.now() >= 10_000);
});

test("a deadline that passes in a wait hands over the last refusal, whose body was kept", async () => {
  const { limiter } = manual({ firstFlight: 1 });
  const { fetch: send } = answering([429, { "retry-after": "5" }, "kept"], [429, { "retry-after": "50" }, "other"]);
  const fetch = limiter.wrapFetch(send);
  const first = fetch(`${API}/x`, { rateLimit: { deadlineMs: 20_000, priority: -1 } });
  const second = fetch(`${API}/x`, { rateLimit: { priority: 1 } }).catch(() => {});
  const response = await first;
  assert.equal(response.status, 429);
  assert.equal(response.bodyUsed, false);
  assert.equal(await response.text(), "kept");
  limiter.close();
  await second;
});

test("onExhausted raises where the limiter, the wrapper or the call says so", async () => {
  const refusal = [429, { "retry-after": "3600" }, "no"];
  const raising = async (limiter, fetch, init) => {
    const error = await fetch(`${API}/x`, init).catch((reason) => reason);
    assert.ok(error instanceof RateLimitExceeded && error instanceof TypeError);
    assert.equal(error.response.status, 429);
    assert.equal(await error.response.text(), "no");
  };
  const strict = manual({ onExhausted: "raise" }).limiter;
  await raising(strict, strict.wrapFetch(answering(refusal).fetch));
  const plain = manual().limiter;
  await raising(plain, plain.wrapFetch(answering(refusal).fetch, { onExhausted: "raise" }));
  await raising(plain, plain.wrapFetch(answering(refusal).fetch), { rateLimit: { onExhausted: "raise" } });
});

test("a permanent refusal comes back as it is and is not sent again", async () => {
  const { limiter } = manual();
  const { fetch: send, calls } = answering([429, { "content-type": "application/json" }, '{"retry":false}']);
  const response = await limiter.wrapFetch(send)(`${API}/x`);
  assert.equal(response.status, 429);
  assert.deepEqual(await response.json(), { retry: false });
  assert.equal(calls.length, 1);
  await assert.rejects(limiter.wrapFetch(send)(`${API}/x`, { rateLimit: { onExhausted: "raise" } }), PermanentlyRefused);
});

test("scope, route and cost may be given by value and by function, for a wrapper and for one call", async () => {
  const { limiter } = manual();
  const fetch = limiter.wrapFetch(answering([200]).fetch, {
    scope: (url, init) => `tenant ${init?.headers?.tenant ?? new URL(url).searchParams.get("tenant")}`,
  });
  await fetch(`${API}/x?tenant=1`);
  await fetch(`${API}/x`, { headers: { tenant: "2" } });
  await fetch(`${API}/x`, { rateLimit: { scope: "mine" } });
  assert.deepEqual(limiter.scopes().sort(), ["mine", "tenant 1", "tenant 2"]);
});

test("a setting that is unknown is a ConfigError that names it", async () => {
  const limiter = new Limiter();
  assert.throws(() => limiter.wrapFetch(fetch, { scopes: "x" }), { name: "ConfigError", option: "rateLimit.scopes" });
  assert.throws(() => limiter.wrapFetch(fetch, { slotUntil: "end" }), { name: "ConfigError", option: "rateLimit.slotUntil" });
  assert.throws(() => limiter.wrapFetch("fetch"), { name: "ConfigError", option: "fetch" });
  await assert.rejects(limiter.fetch(API, { rateLimit: { deadline: 5 } }), { option: "rateLimit.deadline" });
});

test("the real cost is settled by the response", async () => {
  const { limiter } = manual();
  const fetch = limiter.wrapFetch(answering([200, { "x-ratelimit-remaining-tokens": "100", "x-ratelimit-limit-tokens": "1000" }]).fetch);
  const response = await fetch(`${API}/x`, { rateLimit: { cost: { requests: 1, tokens: 10 } } });
  assert.doesNotThrow(() => limiter.settle(response, { requests: 1, tokens: 25 }));
  assert.throws(() => limiter.settle(new Response("other"), { tokens: 1 }), UsageError);
  assert.throws(() => limiter.settle(response, { tokens: -1 }), { name: "ConfigError" });
});

test("with slotUntil: body a stream occupies its slot until it is read, cancelled or broken", async () => {
  const { limiter } = manual({ firstFlight: 1 });
  const fetch = limiter.wrapFetch(
    async (url) => {
      if (url.endsWith("/broken")) {
        return new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) }));
      }
      return new Response("streamed", { headers: { "x-mine": "1" } });
    },
    { slotUntil: "body" },
  );
  const inFlight = () => limiter.stats().total.inFlight;

  const read = await fetch(`${API}/read`);
  assert.equal(inFlight(), 1);
  assert.equal(read.headers.get("x-mine"), "1");
  assert.equal(await read.text(), "streamed");
  assert.equal(inFlight(), 0);

  const cancelled = await fetch(`${API}/cancelled`);
  assert.equal(inFlight(), 1);
  await cancelled.body.cancel();
  assert.equal(inFlight(), 0);

  const broken = await fetch(`${API}/broken`);
  await assert.rejects(broken.text(), /broken/);
  assert.equal(inFlight(), 0);
});

test("by default the slot is free when the headers are there", async () => {
  const { limiter } = manual({ firstFlight: 1 });
  const fetch = limiter.wrapFetch(answering([200]).fetch);
  const unread = await fetch(`${API}/x`);
  assert.equal(limiter.stats().total.inFlight, 0);
  assert.equal(unread.bodyUsed, false);
});

test("a fetch of the same limiter inside another is not limited twice", async () => {
  const { limiter, clock } = manual({ firstFlight: 1, maxAttempts: 3 });
  const { fetch: send, calls } = answering([429, { "retry-after": "1" }]);
  const inner = limiter.wrapFetch(send);
  const outer = limiter.wrapFetch(async (url, init) => inner(url, init));
  const response = await outer(`${API}/x`);
  assert.equal(response.status, 429);
  assert.equal(calls.length, 3, "three attempts, not nine");
  assert.ok(clock.now() < 10_000);
});

test("a patched global fetch is not wrapped twice", async (t) => {
  const { limiter } = manual({ maxAttempts: 2 });
  const { fetch: send, calls } = answering([429, { "retry-after": "1" }]);
  const real = globalThis.fetch;
  t.after(() => (globalThis.fetch = real));
  globalThis.fetch = limiter.wrapFetch(send);
  assert.equal((await limiter.fetch(`${API}/x`)).status, 429);
  assert.equal(calls.length, 2);
  assert.equal(limiter.stats().total.sent, 2);
});

test("closing ends what waits, and later calls, with LimiterClosed", async () => {
  const { limiter } = manual();
  const fetch = limiter.wrapFetch(answering([429, { "retry-after": "60" }]).fetch);
  const waiting = assert.rejects(fetch(`${API}/x`), (error) => error instanceof LimiterClosed && error instanceof TypeError);
  await new Promise((resolve) => setImmediate(resolve));
  limiter.close();
  await waiting;
  await assert.rejects(fetch(`${API}/x`), LimiterClosed);
});

test("responses that are none of Node's own are read too", async () => {
  const { clock, limiter } = manual();
  let destroyed = 0;
  const answers = [
    { status: 429, headers: { get: () => null, forEach: (visit) => visit("5", "retry-after") }, body: { destroy: () => (destroyed += 1) } },
    { status: 200, headers: {}, marker: "mine" },
  ];
  const response = await limiter.wrapFetch(async () => answers.shift())(`${API}/x`);
  assert.equal(response.marker, "mine");
  assert.equal(destroyed, 1);
  assert.ok(clock.now() >= 5000);
});

test("an invalid status or headers of a made-up client harm nothing", async () => {
  const { limiter } = manual();
  for (const response of [{ status: "200" }, { status: NaN, headers: 5 }, {}]) {
    assert.equal(await limiter.wrapFetch(async () => response)(`${API}/x`), response);
  }
});
