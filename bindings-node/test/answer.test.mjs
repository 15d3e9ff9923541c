import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import express from "express";
import { Answer, ConfigError, Limiter, ManualClock, readSignals, Refusal, refusalResponse, sendRefusal } from "rampmeter";

const { names } = createRequire(import.meta.url)("../js/native.cjs");

const answers = {
  windowed: Refusal.windowed({ seconds: 30, limit: 100, windowSeconds: 60, policy: "minute", hint: "100 a minute" }),
  capacity: Refusal.capacity({ limit: 4, policy: ["exports", "all"], hint: "4 exports at a time" }),
  permanent: Refusal.permanent({ hint: "the trial has ended", limit: 10, status: 403 }),
};
const forms = [{}, { form: "problem" }, { form: "json-rpc", id: "call-1" }];

/** What each answer in each form must be read as. */
async function readBack(answer, response) {
  const body = await response.text();
  for (const headers of [response.headers, {}]) {
    const { wait, refusal } = readSignals(response.status, headers, body);
    assert.equal(wait?.ms ?? null, answer.seconds === null ? null : answer.seconds * 1000);
    assert.deepEqual(refusal, {
      class: answer.class,
      meter: answer.policies[0] ?? null,
      limit: answer.limit,
      hint: answer.hint,
      firstWaitMs: null,
    });
  }
}

/** Asks a server that answers each request with `handle`. */
async function ask(handle, use) {
  const server = createServer(handle);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

for (const [kind, answer] of Object.entries(answers)) {
  for (const options of forms) {
    const form = options.form ?? "json";

    test(`Express sends a ${kind} answer as ${form}, and it is read back`, async () => {
      const app = express();
      app.get("/", (request, response) => sendRefusal(response, answer, options));
      const { status, headers } = answer.render(options);
      await ask(app, async (url) => {
        const response = await fetch(url);
        assert.equal(response.status, status);
        for (const [name, value] of Object.entries(headers)) assert.equal(response.headers.get(name), value, name);
        await readBack(answer, response);
      });
    });

    test(`a fetch Response carries a ${kind} answer as ${form}, and it is read back`, async () => {
      const response = refusalResponse(answer, options);
      assert.equal(response.headers.get("content-type"), answer.render(options).headers["Content-Type"]);
      await readBack(answer, response);
    });
  }
}

test("node:http sends an answer", () =>
  ask(
    (request, response) => sendRefusal(response, answers.windowed),
    async (url) => readBack(answers.windowed, await fetch(url)),
  ));

test("an answer shows what it says and cannot be changed", () => {
  const { windowed } = answers;
  assert.deepEqual([windowed.class, windowed.status, windowed.seconds, windowed.limit], ["windowed", 429, 30, 100]);
  assert.deepEqual(windowed.headers, {
    "Retry-After": "30",
    "RateLimit-Policy": '"minute";q=100;w=60',
    RateLimit: '"minute";r=0;t=30',
    "Cache-Control": "no-store",
  });
  assert.ok(windowed instanceof Answer);
  windowed.json().retryAfter = 1;
  assert.equal(windowed.json().retryAfter, 30);
  assert.throws(() => {
    windowed.headers["Retry-After"] = "1";
  }, TypeError);
});

test("the forms are those of render", () => {
  const { capacity } = answers;
  assert.deepEqual(JSON.parse(capacity.render().body), capacity.json());
  assert.deepEqual(JSON.parse(capacity.render({ form: "problem" }).body), capacity.problem());
  assert.deepEqual(JSON.parse(capacity.render({ form: "json-rpc", id: 7 }).body), capacity.jsonRpc(7));
  assert.deepEqual(capacity.jsonRpc().error.data, capacity.json());
  assert.equal(capacity.jsonRpc().id, null);
});

test("a window ends where the options say", () => {
  const now = new Date("2026-08-06T07:06:40Z");
  const seconds = (options) => Refusal.windowed({ ...options, now }).seconds;
  assert.equal(seconds({ seconds: 0 }), 1);
  assert.equal(seconds({ seconds: 1.01 }), 2);
  assert.equal(seconds({ until: new Date("2026-08-06T07:10:00Z") }), 200);
  assert.equal(seconds({ until: now.getTime() + 500 }), 1);
  assert.equal(seconds({ untilNext: "minute" }), 20);
  assert.equal(seconds({ untilNext: "day" }), 60_800);
  assert.equal(seconds({ untilNext: 300 }), 200);
});

test("an answer keeps the clock that it was made by", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 1_786_000_000_000 });
  const answer = Refusal.windowed({ untilNext: "minute" });
  context.mock.timers.setTime(1_786_000_010_000);
  assert.equal(answer.problem().retryAfter, answer.seconds);
  assert.equal(answer.seconds, 20);
});

test("a suggested wait is marked as one", () => {
  const answer = Refusal.capacity({ suggestedSeconds: 4.2, status: 503 });
  assert.deepEqual([answer.status, answer.headers["Retry-After"], answer.json().retryAfterSuggested], [503, "5", true]);
});

test("a mistake is an error that names the option", () => {
  const { windowed } = answers;
  for (const [refuse, option] of [
    [() => Refusal.windowed(), "seconds"],
    [() => Refusal.windowed(null), "options"],
    [() => Refusal.windowed({ seconds: 5, untilNext: "day" }), "untilNext"],
    [() => Refusal.windowed({ untilNext: "fortnight" }), "untilNext"],
    [() => Refusal.windowed({ until: "soon" }), "until"],
    [() => Refusal.windowed({ until: new Date(NaN) }), "until"],
    [() => Refusal.windowed({ seconds: -1 }), "seconds"],
    [() => Refusal.windowed({ seconds: 5, windowSeconds: "60" }), "windowSeconds"],
    [() => Refusal.windowed({ seconds: 5, policy: "tägliche" }), "policy"],
    [() => Refusal.windowed({ seconds: 5, limit: 1n }), "limit"],
    [() => Refusal.windowed({ seconds: 5, hint: () => 1 }), "hint"],
    [() => Refusal.capacity({ seconds: 5 }), "seconds"],
    [() => Refusal.capacity({ status: 403 }), "status"],
    [() => Refusal.permanent({ suggestedSeconds: 5 }), "suggestedSeconds"],
    [() => windowed.render({ form: "xml" }), "form"],
    [() => windowed.render({ form: "problem", id: 1 }), "id"],
    [() => windowed.jsonRpc([]), "id"],
    [() => windowed.jsonRpc(() => 1), "id"],
  ]) {
    assert.throws(refuse, (error) => error instanceof ConfigError && error.option === option, `${refuse}`);
  }
  assert.throws(() => Refusal.capacity({ seconds: 5 }), /suggestedSeconds/);
});

test("a limiter does what an application asks", async () => {
  const clock = new ManualClock();
  const responses = [refusalResponse(Refusal.windowed({ seconds: 30 })), new Response("served")];
  const fetch = new Limiter({ seed: 1, clock }).wrapFetch(async () => responses.shift());
  const response = await fetch("https://api.example.com/");
  assert.equal(await response.text(), "served");
  assert.ok(clock.now() >= 30_000);
});

test("the types name every form and period of the core", () => {
  const types = readFileSync(new URL("../types/index.d.cts", import.meta.url), "utf8");
  const union = (name) => [...new RegExp(`type ${name} =([^;]*);`).exec(types)[1].matchAll(/"([^"]+)"/g)].map((m) => m[1]);
  assert.deepEqual(union("AnswerForm"), names.forms);
  assert.deepEqual(union("Period"), names.periods);
});

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/what-a-429-owes.md", root), "utf8");
const examples = [...page.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code]) => code);

/** What the server of an example answers to its second request, asked in a process of its own. */
function refusalOf(code) {
  const asking = `
    const request = { method: "POST", body: '{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}' };
    const ask = async () => {
      if (typeof worker === "object") return worker.fetch(new Request("https://api.example.com/reports", request));
      const server = app.listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const response = await fetch("http://127.0.0.1:" + server.address().port + "/reports");
      server.close();
      return response;
    };
    await (await ask()).text();
    const response = await ask();
    console.log(JSON.stringify([response.status, [...response.headers], await response.text()]));`;
  // What a module exports, code behind it cannot see.
  const script = code.replace("export default", "const worker =").replace("export const", "const") + asking;
  const flags = ["--input-type=module", "--eval", script];
  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const answered = JSON.parse(stdout);
  return { body: answered[2], refusal: readSignals(...answered).refusal };
}

test("the examples of the documentation run", () => {
  assert.equal(examples.length, 2);
  const [expressed, worker] = examples.map(refusalOf);
  assert.deepEqual([expressed.refusal.class, expressed.refusal.meter], ["windowed", "reports"]);
  assert.deepEqual([worker.refusal.class, worker.refusal.limit, JSON.parse(worker.body).id], ["capacity", 2, 7]);
});
