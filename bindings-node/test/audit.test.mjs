// `npx rampmeter audit` says what the Rust binary says.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { test } from "node:test";

const cli = new URL("../js/cli.cjs", import.meta.url).pathname;
const cases = new URL("../../tests/audit/", import.meta.url).pathname;
const inputs = readdirSync(cases).filter((name) => [".http", ".har", ".jsonl"].includes(extname(name)));
const fixed = ["--now", "1786000000", "--width", "110", "--color", "never"];

const kept = (name, kind) => readFileSync(join(cases, name.replace(/\.\w+$/, kind)), "utf8");
const audit = (args, input = "") => spawnSync(process.execPath, [cli, "audit", ...args], { encoding: "utf8", input, timeout: 60_000 });

test("every kept input is judged as its page says", () => {
  assert.ok(inputs.length >= 5);
  for (const name of inputs) {
    const input = readFileSync(join(cases, name));
    const { status, stdout, stderr } = audit(fixed, input);
    assert.equal(stdout, kept(name, ".page"), name);
    const { unanswered } = JSON.parse(kept(name, ".json"));
    assert.deepEqual([status, stderr], [unanswered > 0 ? 1 : 0, ""], name);
    assert.equal(audit([...fixed, "--annotations"], input).stdout, kept(name, ".annotations"), name);
  }
});

test("a file is named in what is said of it", () => {
  const { status, stdout } = audit([...fixed, join(cases, "bare.http")]);
  assert.equal(status, 1);
  assert.match(stdout, /bare\.http/);
});

test("what holds no response ends with status 2 on standard error", () => {
  const { status, stdout, stderr } = audit([], "hello\n");
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^rampmeter audit: there is no response in the input/);
});

test("a URL is left to the binary", () => {
  const { status, stderr } = audit(["--url", "https://api.example.com"]);
  assert.equal(status, 2);
  assert.match(stderr, /curl -si URL/);
});

test("source is left to the binary", () => {
  const { status, stderr } = audit(["--source", "."]);
  assert.equal(status, 2);
  assert.match(stderr, /--source is for the binary only/);
});
