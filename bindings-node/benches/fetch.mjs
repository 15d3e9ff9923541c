// What a call costs: `npm run build`, then `node bindings-node/benches/fetch.mjs`.
// Each figure is the least of many short rounds, taken by turns.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import pThrottle from "p-throttle";
import { Limiter } from "rampmeter";

const url = "https://api.example.com/v1/items";
const plain = { "content-type": "application/octet-stream", server: "stub", date: "Mon, 30 Nov 2026 12:00:00 GMT", vary: "accept" };
const limited = { ...plain, "x-ratelimit-limit": "100000", "x-ratelimit-remaining": "90000", "x-ratelimit-reset": "60" };

/** Runs each case by turns and answers the least microseconds per call. */
async function compare(cases, { calls, rounds }) {
  const least = Object.fromEntries(Object.keys(cases).map((name) => [name, Infinity]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, act] of Object.entries(cases)) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) await act();
      least[name] = Math.min(least[name], ((performance.now() - began) * 1000) / calls);
    }
  }
  return least;
}

function show(title, figures, unit, base) {
  console.log(`\n${title}`);
  for (const [name, figure] of Object.entries(figures)) {
    const added = base === undefined || name === base ? "" : `  (+${(figure - figures[base]).toFixed(2)})`;
    console.log(`  ${name.padEnd(34)} ${figure.toFixed(2).padStart(9)} ${unit}${added}`);
  }
}

const sansIo = (headers) => {
  const limiter = new Limiter();
  return () => {
    for (let repeat = 0; repeat < 100; repeat += 1) {
      const call = limiter.begin({ method: "GET", url });
      call.poll();
      call.onResponse(200, headers);
      call.finish();
    }
  };
};
const sync = await compare(
  {
    "no rate-limit headers": sansIo(plain),
    "three rate-limit headers": sansIo(limited),
    "no rate-limit headers, Headers": sansIo(new Headers(plain)),
    "three rate-limit headers, Headers": sansIo(new Headers(limited)),
  },
  { calls: 20, rounds: 100 },
);
show("begin + poll + onResponse + finish", Object.fromEntries(Object.entries(sync).map(([name, us]) => [name, us * 10])), "ns");

const throttle = pThrottle({ limit: 1e9, interval: 1000 });
const stub = (headers) => {
  const response = new Response("ok", { headers });
  return async () => response;
};
for (const [what, headers] of [["no rate-limit headers", plain], ["three rate-limit headers", limited]]) {
  const bare = stub(headers);
  const throttled = throttle(bare);
  const wrapped = new Limiter().wrapFetch(bare);
  const figures = await compare(
    { bare: () => bare(url), rampmeter: () => wrapped(url), "p-throttle": () => throttled(url) },
    { calls: 200, rounds: 100 },
  );
  show(`a fetch that answers at once, ${what}`, figures, "us", "bare");
}

const server = createServer((_request, response) => response.writeHead(200, limited).end("ok"));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const local = `http://127.0.0.1:${server.address().port}/items`;
const limiter = new Limiter();
const throttled = throttle((input) => fetch(input));
const read = (fetch) => async () => (await fetch(local)).text();
const real = await compare(
  { bare: read(fetch), rampmeter: read(limiter.fetch), "p-throttle": read(throttled) },
  { calls: 50, rounds: 60 },
);
show("fetch from a server on this machine, one after the other", real, "us", "bare");
server.closeAllConnections();
server.close();

const start = (source) => {
  const began = performance.now();
  spawnSync(process.execPath, ["--input-type=module", "--eval", source], { cwd: new URL("../..", import.meta.url) });
  return performance.now() - began;
};
const imports = { nothing: "", rampmeter: 'import "rampmeter"', "p-throttle": 'import "p-throttle"' };
const times = Object.fromEntries(Object.keys(imports).map((name) => [name, []]));
for (let round = 0; round < 15; round += 1) {
  for (const [name, source] of Object.entries(imports)) times[name].push(start(source));
}
const median = (numbers) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)];
show("a process that imports, median", Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)])), "ms", "nothing");
