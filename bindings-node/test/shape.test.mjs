import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import * as rampmeter from "rampmeter";
import { answering, API } from "./servers.mjs";

const require = createRequire(import.meta.url);
const { names } = require("../js/native.cjs");

test("import and require give the same classes and functions", () => {
  const required = require("rampmeter");
  const imported = { ...rampmeter };
  delete imported.default;
  delete imported["module.exports"];
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
  for (const [name, value] of Object.entries(required)) assert.equal(imported[name], value, name);
});

test("a limiter made by import is one for code that was loaded by require", async () => {
  const required = require("rampmeter");
  const limiter = new rampmeter.Limiter();
  assert.ok(limiter instanceof required.Limiter);
  limiter.close();
  await assert.rejects(limiter.run(() => 1), required.LimiterClosed);
});

test("each error of the core has a class of its own with a code", () => {
  for (const name of names.errors) {
    const Class = rampmeter[name];
    assert.equal(typeof Class, "function", name);
    assert.equal(Class.name, name);
    const error = new Class("option", "problem");
    assert.match(error.code, /^RAMPMETER_[A-Z_]+$/);
    assert.equal(error instanceof rampmeter.RateLimitError, name !== "ConfigError", name);
    for (const other of names.errors) assert.equal(error instanceof rampmeter[other], other === name);
  }
});

test("every method of a limiter works detached", async () => {
  const limiter = new rampmeter.Limiter();
  const { fetch: send } = answering([200]);
  const { wrapFetch, run, begin, meters, scope, scopes, stats, listen, takeEvents, takeWakes, close } = limiter;
  const fetch = wrapFetch(send);
  assert.equal((await fetch(`${API}/x`)).status, 200);
  assert.equal(await run(() => 7), 7);
  const { poll, onResponse, finish, attempts } = begin({ url: API });
  assert.equal(poll().kind, "send");
  assert.equal(onResponse(200, {}).kind, "deliver");
  assert.equal(attempts(), 1);
  finish();
  assert.deepEqual(meters(), []);
  assert.deepEqual(scope(API).meters(), []);
  assert.ok(scopes().includes(API));
  assert.equal(stats().total.sent, 3);
  listen();
  assert.deepEqual(takeEvents(), []);
  assert.deepEqual(takeWakes(), []);
  close();
  assert.equal(limiter.closed, true);
});

test("limiter, call, meters and buckets work behind a Proxy", async () => {
  const behind = (target) => new Proxy(target, { get: (object, name, receiver) => Reflect.get(object, name, receiver) });
  const limiter = behind(new rampmeter.Limiter());
  const fetch = limiter.wrapFetch(answering([200, { "x-ratelimit-limit": "5", "x-ratelimit-remaining": "4" }]).fetch);
  assert.equal((await fetch(`${API}/x`)).status, 200);
  assert.equal(behind(limiter.rateLimit.default).remaining, 4);
  assert.equal(behind(limiter.rateLimit.default).exhausted, false);
  assert.equal(behind(limiter.scope(API)).rateLimit.default.limit, 5);
  const call = behind(limiter.begin({ url: API }));
  assert.equal(call.poll().kind, "send");
  call.cancel();
  assert.equal(behind(new rampmeter.TokenBucket(1, 2)).take(), true);
  assert.equal(behind(new rampmeter.BucketRegistry(1, 2)).bucket("a").take(), true);
  assert.equal(behind(rampmeter.Config.web()).maxRetryAfterMs, 5000);
  assert.equal(limiter.closed, false);
});

test("a subclass may add to a limiter", async () => {
  class Mine extends rampmeter.Limiter {
    constructor() {
      super({ maxAttempts: 1 });
      this.label = "mine";
    }
  }
  const mine = new Mine();
  assert.equal(mine.label, "mine");
  assert.equal(await mine.run(() => "done"), "done");
});

test("the types name every option of the core, and nothing else", () => {
  const types = readFileSync(new URL("../types/index.d.cts", import.meta.url), "utf8");
  const block = /export interface Options \{\n([^]*?)\n\}/.exec(types)[1];
  const typed = [...block.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => name);
  assert.deepEqual(typed.sort(), Object.keys(new rampmeter.Config()).sort());
});

test("the types name every reason, event, failure, class, backoff and source of the core", () => {
  const types = readFileSync(new URL("../types/index.d.cts", import.meta.url), "utf8");
  const union = (name) => [...new RegExp(`type ${name} =([^;]*);`).exec(types)[1].matchAll(/"([^"]+)"/g)].map((m) => m[1]);
  assert.deepEqual(union("Reason").sort(), [...names.reasons].sort());
  assert.deepEqual(union("EventKind").sort(), [...names.events].sort());
  assert.deepEqual(union("FailureKind").sort(), [...names.failures].sort());
  assert.deepEqual(union("RefusalClass").sort(), [...names.classes].sort());
  assert.deepEqual(union("BackoffKind").sort(), [...names.backoffs].sort());
  assert.deepEqual(union("WaitSource").sort(), [...names.waitSources].sort());
});

test("the version is that of the package", () => {
  assert.equal(rampmeter.version, require("../../package.json").version);
});

test("each worker thread has limiters of its own", async () => {
  const source = `
    const { parentPort } = require("node:worker_threads");
    const { Limiter } = require("rampmeter");
    const limiter = new Limiter();
    limiter.run(() => "sent").then((value) => parentPort.postMessage([value, limiter.stats().total.sent]));
  `;
  const here = new rampmeter.Limiter();
  const answers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const worker = new Worker(source, { eval: true, filename: import.meta.filename });
      const answer = new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      const message = await answer;
      assert.equal(await ended, 0);
      return message;
    }),
  );
  assert.deepEqual(answers, [["sent", 1], ["sent", 1], ["sent", 1]]);
  assert.equal(here.stats().total.sent, 0);
});

test("copies of the JavaScript around one addon do not disturb each other", async () => {
  const limiter = new rampmeter.Limiter();
  const call = limiter.begin({ url: API });
  for (const file of Object.keys(require.cache)) if (file.endsWith(".cjs")) delete require.cache[file];
  const again = require("../js/index.cjs");
  assert.notEqual(again.Limiter, rampmeter.Limiter);
  const other = new again.Limiter();
  assert.equal(await other.run(() => 1), 1);
  assert.equal(call.poll().kind, "send");
  other.close();
  const error = await other.run(() => 1).catch((reason) => reason);
  assert.ok(error instanceof rampmeter.LimiterClosed, "errors of the other copy are known");
});
