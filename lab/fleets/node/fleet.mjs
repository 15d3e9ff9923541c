// A fleet of concurrent calls with fetch, with Rampmeter or with the usual retry of each call by itself.
//
//     node fleet.mjs URL --calls 200 --strategy rampmeter|per-request [--wait]
//
// Prints one line of JSON. With --wait it prints `ready` first and begins when it has read a line.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Limiter } from "rampmeter";

// The bounds of the usual retry: how often it sends one call, and its longest backoff in milliseconds.
const MAX_ATTEMPTS = 100;
const MAX_BACKOFF_MS = 20_000;

/** Sends, and after each refusal sleeps as long as that refusal says; without a word, full jitter. */
async function perRequest(url, init) {
  let response;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    response = await fetch(url, init);
    if (response.status !== 429) break;
    await response.body?.cancel();
    const retryAfter = response.headers.get("retry-after");
    const backoffMs = Math.min(1000 * 2 ** attempt, MAX_BACKOFF_MS);
    await sleep(retryAfter !== null ? Number(retryAfter) * 1000 : Math.random() * backoffMs);
  }
  return response;
}

async function fleet(url, calls, strategy, wait) {
  const send = strategy === "rampmeter" ? new Limiter().fetch : perRequest;
  const init = { headers: { "x-fleet": strategy } };
  const call = async (number) => {
    const response = await send(`${url}/items/${number}`, init);
    await response.text();
    return response;
  };

  if (wait) {
    console.log("ready");
    await once(process.stdin, "data");
    process.stdin.pause();
  }
  const begin = performance.now();
  const outcomes = await Promise.allSettled(Array.from({ length: calls }, (_, number) => call(number)));
  const elapsed = (performance.now() - begin) / 1000;

  let done = 0;
  const failures = {};
  for (const { value, reason } of outcomes) {
    if (value?.ok) {
      done += 1;
      continue;
    }
    const failure = value ? `status ${value.status}` : String(reason);
    failures[failure] = (failures[failure] ?? 0) + 1;
  }
  return { language: "Node", client: `fetch of Node.js ${process.versions.node}`, strategy, calls, done, elapsed, failures };
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    calls: { type: "string", default: "200" },
    strategy: { type: "string", default: "rampmeter" },
    wait: { type: "boolean", default: false },
  },
});
const known = ["rampmeter", "per-request"];
if (positionals.length !== 1 || !known.includes(values.strategy)) {
  console.error(`usage: fleet.mjs URL [--calls N] [--strategy ${known.join("|")}] [--wait]`);
  process.exit(2);
}
const facts = await fleet(positionals[0], Number(values.calls), values.strategy, values.wait);
console.log(JSON.stringify(facts));
