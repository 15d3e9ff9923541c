import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const cli = new URL("../js/cli.cjs", import.meta.url).pathname;
const rampmeter = (...args) => spawnSync(process.execPath, [cli, ...args], { encoding: "utf8", timeout: 60_000 });

/** Writes vectors to a folder and replays it. */
function replay(t, files) {
  const folder = mkdtempSync(join(tmpdir(), "rampmeter-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return rampmeter("self-test", "--vectors", folder);
}

const url = "https://api.example.com/x";
const script = (steps, more = {}) => ({ name: "a script", config: { seed: 1 }, steps, ...more });
const signals = (expect) => ({ id: "a head", status: 429, received_wall: 1_700_000_000, headers: [["Retry-After", "30"]], body: null, expect });

test("vectors that hold pass, in files and folders, alone and in lists", (t) => {
  const { status, stdout } = replay(t, {
    "one.json": signals({ meters: [], retry_after_seconds: 30, class: "unknown" }),
    "deep/list.json": [
      script([
        { at: 0, begin: "a", method: "GET", url },
        { at: 0, poll: "a", expect: { decision: "send" } },
        { at: 0.1, response: "a", status: 429, headers: [["Retry-After", "3600"]], expect: { decision: "raise", error: "RateLimitExceeded", retry_after: [3600, 3600], limit_name: "max_retry_after" } },
        { at: 1, meters: url, expect: {} },
        { at: 2, close: true, events: ["refused", "raised"] },
        { at: 2, begin: "b", method: "GET", url },
        { at: 2, poll: "b", expect: { decision: "raise", error: "LimiterClosed" } },
      ]),
      { name: "a bad option", config: { max_retry: 3 }, config_error: "max_retry" },
      { name: "a bad pair", config: { max_retry_after: 600, max_rate_limit_duration: 600 }, config_error: "max_retry_after" },
    ],
    "notes.txt": "no vector",
  });
  assert.equal(stdout, "4 passed, 0 failed\n");
  assert.equal(status, 0);
});

const wrong = {
  "another wait": signals({ retry_after_seconds: 31 }),
  "a wait where none is expected": signals({ retry_after_seconds: null }),
  "another class": signals({ retry_after_seconds: 30, class: "capacity" }),
  "a meter that is not there": signals({ retry_after_seconds: 30, meters: [{ name: "x", limit: 5 }] }),
  "another decision": script([{ begin: "a", url }, { poll: "a", expect: { decision: "sleep" } }]),
  "another error": script([{ begin: "a", url: "/no/origin", expect: { error: "LimiterClosed" } }]),
  "no error": script([{ begin: "a", url: "/no/origin" }]),
  "an event that did not happen": script([{ begin: "a", url, events: ["held"] }]),
  "a meter of a scope": script([{ at: 0, meters: url, expect: { default: { limit: 5 } } }]),
  "a call that was not begun": script([{ poll: "a" }]),
  "a config that is refused": script([], { config: { max_attempts: 0 } }),
  "a config that is not refused": { name: "fine", config: {}, config_error: "max_attempts" },
  "another option": { name: "fine", config: { max_attempts: 0 }, config_error: "seed" },
  "no vector": { name: "nothing" },
  "no JSON": "{",
};

for (const [what, vector] of Object.entries(wrong)) {
  test(`a vector that expects wrongly fails: ${what}`, (t) => {
    const { status, stdout } = replay(t, { "wrong.json": vector, "right.json": signals({ retry_after_seconds: 30 }) });
    assert.match(stdout, /^FAILED .*wrong\.json/);
    assert.match(stdout, /\n1 passed, 1 failed\n$/);
    assert.equal(status, 1);
  });
}

test("a folder that is not there fails", () => {
  const { status, stdout } = rampmeter("self-test", "--vectors", join(tmpdir(), "rampmeter-nowhere"));
  assert.match(stdout, /\n0 passed, 1 failed\n$/);
  assert.equal(status, 1);
});

test("a wrong command says how it is used", () => {
  for (const args of [[], ["fly"], ["self-test", "--speed"]]) {
    const { status, stderr } = rampmeter(...args);
    assert.equal(status, 2);
    assert.match(stderr, /Usage: rampmeter self-test/);
  }
  assert.match(rampmeter("--help").stdout, /Usage: rampmeter self-test/);
});

test("the vectors of this package are replayed unless others are named", () => {
  const { stdout } = rampmeter("self-test");
  assert.ok(Number(/(\d+) passed/.exec(stdout)[1]) > 100);
});
