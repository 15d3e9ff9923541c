#!/usr/bin/env node
"use strict";

const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { parseArgs } = require("node:util");

const USAGE = `Usage: rampmeter self-test [--vectors PATH]...
       rampmeter explain [OPTIONS] [FILE]
       rampmeter audit [OPTIONS] [FILE...]

explain says what responses tell about rate limits: see rampmeter explain --help.
audit asks of refusals whether they say when to come back: see rampmeter audit --help.

self-test replays vectors offline, prints each that does not hold and "N passed, N failed".
Exit status: 0 if all hold, 1 if one does not, 2 if the command is wrong.

  --vectors PATH  a file or folder of vectors instead of those of this package
  --version       show the version
  --help          show this text`;

async function main(/** @type {string[]} */ args) {
  if (args[0] === "explain" || args[0] === "audit") return toolOf(args[0], args.slice(1));
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        vectors: { type: "string", multiple: true },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
      },
    });
  } catch (error) {
    return misuse(/** @type {Error} */ (error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return say(USAGE);
  if (values.version) return say(require("./index.cjs").version);
  if (positionals.length !== 1 || positionals[0] !== "self-test") return misuse("say which command: self-test, explain or audit");

  const own = join(__dirname, "../../tests/vectors");
  const paths = values.vectors ?? [own];
  if (values.vectors === undefined && !existsSync(own)) return misuse(`there are no vectors in ${own}: give --vectors`);
  // The holds of made-up servers are no news.
  process.removeAllListeners("warning");
  const { selfTest } = require("./self-test.cjs");
  return selfTest(paths) ? 0 : 1;
}

async function toolOf(/** @type {"audit" | "explain"} */ name, /** @type {string[]} */ args) {
  const { native } = require("./native.cjs");
  let said = native[name](args);
  if (said === null) {
    const chunks = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    said = native[name](args, Buffer.concat(chunks));
  }
  const { text, code } = JSON.parse(said ?? '{"text": "", "code": 2}');
  const stream = code === 2 ? process.stderr : process.stdout;
  // A pager that was closed early is no failure.
  stream.on("error", () => {});
  stream.write(text);
  return code;
}

function say(/** @type {string} */ text) {
  console.log(text);
  return 0;
}

function misuse(/** @type {string} */ problem) {
  console.error(`rampmeter: ${problem}\n\n${USAGE}`);
  return 2;
}

main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
