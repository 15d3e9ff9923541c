import assert from "node:assert/strict";
import diagnostics from "node:diagnostics_channel";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { Limiter, ManualClock } from "rampmeter";
import { answering, API } from "./servers.mjs";

const refusedOnce = (limiter) => limiter.wrapFetch(answering([429, { "retry-after": "10", "set-cookie": "secret" }], [200]).fetch);

test("onEvent hears of a refusal, its hold, the wait and the release, with their lengths", async () => {
  const events = [];
  const limiter = new Limiter({ clock: new ManualClock(), onEvent: (event) => events.push(event) });
  await refusedOnce(limiter)(`${API}/x?token=1`);
  const kinds = events.map(({ kind }) => kind);
  for (const kind of ["refused", "held", "waiting", "released"]) assert.ok(kinds.includes(kind), `${kind} in ${kinds}`);
  assert.ok(kinds.indexOf("refused") < kinds.indexOf("waiting"));
  const waiting = events.find(({ kind }) => kind === "waiting");
  assert.equal(waiting.scope, API);
  assert.ok(waiting.durationMs >= 10_000 && waiting.durationMs <= 10_300, `${waiting.durationMs}`);
  const refused = events.find(({ kind }) => kind === "refused");
  assert.equal(refused.status, 429);
  assert.equal(refused.method, "GET");
  assert.ok(refused.headers.some(([name, value]) => name === "retry-after" && value === "10"));
  assert.ok(!/token|secret/.test(JSON.stringify(events)));
});

test("a callback that throws, or rejects, is told to those who debug and harms nothing", () => {
  const source = `
    import { Limiter } from "rampmeter";
    for (const onEvent of [() => { throw new Error("thrown"); }, async () => { throw new Error("rejected"); }]) {
      let sent = 0;
      const limiter = new Limiter({ onEvent });
      const fetch = limiter.wrapFetch(async () => (sent += 1) === 1
        ? new Response("", { status: 429, headers: { "retry-after": "0" } })
        : new Response("ok"));
      console.log((await fetch("${API}/x")).status);
    }
  `;
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", source], {
    cwd: new URL("../..", import.meta.url),
    env: { ...process.env, NODE_DEBUG: "rampmeter" },
    encoding: "utf8",
    timeout: 20_000,
  });
  assert.equal(child.status, 0, child.stderr);
  assert.equal(child.stdout, "200\n200\n");
  assert.match(child.stderr, /onEvent callback failed: Error: thrown/);
  assert.match(child.stderr, /onEvent callback failed: Error: rejected/);
});

test("a callback may call the limiter", async () => {
  const limiter = new Limiter({
    clock: new ManualClock(),
    onEvent: () => {
      limiter.stats();
      limiter.begin({ url: API }).cancel();
      limiter.meters();
    },
  });
  assert.equal((await refusedOnce(limiter)(`${API}/x`)).status, 200);
});

test("a channel is told while it has subscribers", async () => {
  const heard = [];
  const subscriber = (event, name) => heard.push([name, event.kind]);
  const limiter = new Limiter({ clock: new ManualClock() });
  await refusedOnce(limiter)(`${API}/x`);
  assert.deepEqual(heard, []);
  diagnostics.subscribe("rampmeter:refused", subscriber);
  await refusedOnce(limiter)(`${API}/x`);
  diagnostics.unsubscribe("rampmeter:refused", subscriber);
  await refusedOnce(limiter)(`${API}/x`);
  assert.deepEqual(heard, [["rampmeter:refused", "refused"]]);
});

test("takeEvents gives what was collected since, once listening", async () => {
  const limiter = new Limiter({ clock: new ManualClock() });
  await refusedOnce(limiter)(`${API}/x`);
  assert.deepEqual(limiter.takeEvents(), []);
  limiter.listen();
  await refusedOnce(limiter)(`${API}/x`);
  assert.ok(limiter.takeEvents().some(({ kind }) => kind === "refused"));
  assert.deepEqual(limiter.takeEvents(), []);
  limiter.listen(false);
  await refusedOnce(limiter)(`${API}/x`);
  assert.deepEqual(limiter.takeEvents(), []);
});

test("statistics count what was sent, refused and slept, per scope and in all", async () => {
  const limiter = new Limiter({ clock: new ManualClock() });
  await refusedOnce(limiter)(`${API}/x`);
  await limiter.run(() => 1, { scope: "other" });
  const { total, scopes, droppedEvents } = limiter.stats();
  assert.equal(total.sent, 3);
  assert.equal(total.refused, 1);
  assert.equal(total.accepted, 2);
  assert.ok(total.sleptMs >= 10_000);
  assert.equal(total.heldForMs, null);
  assert.equal(droppedEvents, 0);
  assert.deepEqual(scopes.map(({ scope, sent }) => [scope, sent]).sort(), [["other", 1], [API, 2]].sort());
});
