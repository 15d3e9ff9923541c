// The jobs of ../README.md with fetch.

import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { Limiter, RateLimitError, RateLimitExceeded } from "rampmeter";

const require = createRequire(new URL("../../../servers/", import.meta.url));

/** What became of these calls, each a promise of a response. */
async function outcomes(calls) {
  const begin = performance.now();
  const done = await Promise.allSettled(calls);
  const elapsed = (performance.now() - begin) / 1000;
  const failed = done.filter(({ status }) => status === "rejected").map(({ reason }) => reason);
  const limited = failed.filter((error) => error instanceof RateLimitError);
  return {
    elapsed,
    statuses: count(done.filter(({ status }) => status === "fulfilled").map(({ value }) => value.status)),
    retry_after: limited.map((error) => error.retryAfterMs / 1000),
    errors: failed.filter((error) => !limited.includes(error)).map(String),
  };
}

function count(statuses) {
  const counts = {};
  for (const status of statuses) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A call whose body is read, as people do. */
async function call(fetch, url, init) {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  return response;
}

const group = (fetch, url, calls, init) =>
  outcomes(Array.from({ length: calls }, (_, number) => call(fetch, `${url}/${number}`, init)));

const jobs = {
  fleet: ({ url, calls }, limiter = new Limiter()) => group(limiter.fetch, `${url}/items`, calls),

  async accounts({ url, first, second, after }) {
    const limiter = new Limiter();
    const account = (name, calls) =>
      group(limiter.fetch, `${url}/items`, calls, { headers: { authorization: `Bearer ${name}` } });
    const firstFacts = account("first", first);
    await sleep(after * 1000);
    const secondFacts = await account("second", second);
    return { first: await firstFacts, second: secondFacts };
  },

  async cancel({ url, calls, answered }) {
    const limiter = new Limiter();
    const begin = performance.now();
    const waiting = new Set();
    const all = Array.from({ length: calls }, (_, number) => {
      const one = { controller: new AbortController() };
      waiting.add(one);
      one.response = call(limiter.fetch, `${url}/items/${number}`, { signal: one.controller.signal });
      one.response.catch(() => {}).then(() => waiting.delete(one));
      return one;
    });
    while (calls - waiting.size < answered) await sleep(10);
    const victims = [...waiting].filter((_, index) => index % 2 === 0);
    victims.forEach(({ controller }) => controller.abort());
    const cancelled = await Promise.allSettled(victims.map(({ response }) => response));
    const facts = await outcomes(all.filter((one) => !victims.includes(one)).map(({ response }) => response));
    facts.elapsed = (performance.now() - begin) / 1000;
    const aborted = cancelled.filter(({ reason }) => reason?.name === "AbortError");
    return { ...facts, cancelled: aborted.length };
  },

  async too_long({ url, calls }) {
    const limiter = new Limiter();
    const facts = {
      fleet: await jobs.fleet({ url, calls }, limiter),
      next: await jobs.fleet({ url, calls: 1 }, limiter),
    };
    try {
      await limiter.run(() => call(fetch, `${url}/items/0`), { method: "GET", url });
    } catch (error) {
      if (!(error instanceof RateLimitExceeded)) throw error;
      facts.run = { retry_after: error.retryAfterMs / 1000 };
    }
    return facts;
  },

  ignore_remaining: ({ url, calls }) =>
    jobs.fleet({ url, calls }, new Limiter({ respectRemaining: false, maxAttempts: 1 })),

  async two_meters({ url, history, rest, after }) {
    const limiter = new Limiter();
    const historyFacts = group(limiter.fetch, `${url}/history`, history);
    await sleep(after * 1000);
    const restFacts = await group(limiter.fetch, `${url}/rest`, rest);
    return { history: await historyFacts, rest: restFacts };
  },

  async cached({ url, cache, repeats }) {
    const limiter = new Limiter();
    const fetchThrough = cache === "outside" ? caching(limiter.fetch) : limiter.wrapFetch(caching(fetch));
    const oneByOne = async (paths) => {
      const begin = performance.now();
      const responses = [];
      for (const path of paths) {
        responses.push(await call(fetchThrough, url + path));
      }
      return { elapsed: (performance.now() - begin) / 1000, statuses: count(responses.map(({ status }) => status)) };
    };
    const repeated = (path, times) => Array.from({ length: 1 + times }, () => path);
    return {
      cached: await oneByOne([...repeated("/items/1", repeats), ...repeated("/items/2", cache === "inside" ? 0 : repeats)]),
      fresh: await oneByOne(["/items/3"]),
    };
  },

  post({ url, calls, size, one_shot }) {
    const limiter = new Limiter();
    const body = new Uint8Array(size).fill(120);
    const init = () =>
      one_shot ? { method: "POST", body: new Blob([body]).stream(), duplex: "half" } : { method: "POST", body };
    return outcomes(Array.from({ length: calls }, () => call(limiter.fetch, `${url}/items`, init())));
  },
};

/** A fetch that keeps what HTTP allows to keep. */
function caching(fetch) {
  const CachePolicy = require("http-cache-semantics");
  const kept = new Map();
  return async (url, init) => {
    const request = { url, method: init?.method ?? "GET", headers: {} };
    const entry = kept.get(url);
    if (entry?.policy.satisfiesWithoutRevalidation(request)) {
      return new Response(entry.body, { headers: entry.policy.responseHeaders() });
    }
    const response = await fetch(url, init);
    const policy = new CachePolicy(request, {
      status: response.status,
      headers: Object.fromEntries(response.headers),
    });
    if (!policy.storable()) return response;
    const body = await response.arrayBuffer();
    kept.set(url, { policy, body });
    return new Response(body, response);
  };
}

const { job, ...given } = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await jobs[job](given)));
