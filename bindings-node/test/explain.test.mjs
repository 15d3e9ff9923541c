// `npx rampmeter explain` says what the Rust binary says.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { test } from "node:test";

const cli = new URL("../js/cli.cjs", import.meta.url).pathname;
const cases = new URL("../../tests/explain/", import.meta.url).pathname;
const inputs = readdirSync(cases).filter((name) => [".http", ".har", ".jsonl"].includes(extname(name)));
const fixed = ["--now", "1786000000", "--width", "110", "--color", "never"];

const kept = (name, kind) => readFileSync(join(cases, name.replace(/\.\w+$/, kind)), "utf8");
const explain = (args, input = "") => spawnSync(process.execPath, [cli, "explain", ...args], { encoding: "utf8", input, timeout: 60_000 });

test("every kept input is explained as its page says", () => {
  assert.ok(inputs.length >= 17);
  for (const name of inputs) {
    const { status, stdout, stderr } = explain([...fixed, join(cases, name)]);
    assert.equal(stdout, kept(name, ".page"), name);
    assert.deepEqual([status, stderr], [0, ""], name);
  }
});

test("standard input is read where no file is named", () => {
  const { status, stdout } = explain(fixed, readFileSync(join(cases, "past-the-cap.http")));
  assert.equal(stdout, kept("past-the-cap.http", ".page"));
  assert.equal(status, 0);
});

test("JSON is for scripts", () => {
  const { stdout } = explain([...fixed, "--json", join(cases, "in-a-row.http")]);
  assert.deepEqual(JSON.parse(stdout), JSON.parse(kept("in-a-row.http", ".json")));
});

test("what holds no response ends with status 2 on standard error", () => {
  const { status, stdout, stderr } = explain([], "hello\n");
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^rampmeter explain: there is no response in the input/);
});

test("a URL is left to the binary", () => {
  const { status, stderr } = explain(["--url", "https://api.example.com"]);
  assert.equal(status, 2);
  assert.match(stderr, /curl -si URL/);
});
