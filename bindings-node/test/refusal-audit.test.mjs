// The guard of an application's own tests, around real servers.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";

import { RefusalAudit, RefusalsDoNotAnswer } from "rampmeter/audit";

import { application } from "../../tests/guards/express_app.mjs";

const root = new URL("../../", import.meta.url).pathname;
const source = join(root, "tests/guards/express_app.mjs");
const sites = [...readFileSync(source, "utf8").matchAll(/app\.get\("\/(?!items)([^"]+)"/g)].map(([, site]) => site);
const complete = { url: "/x", status: 429, headers: [["Content-Type", "application/json"], ["Retry-After", "30"]], body: '{"retry": true, "retryAfter": 30}' };

/** Asks the server for the paths and answers their statuses. */
async function ask(handler, paths) {
  const server = createServer(handler);
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    const statuses = [];
    for (const path of paths) {
      const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`);
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    return statuses;
  } finally {
    server.close();
  }
}

test("there are nine sites", () => assert.equal(sites.length, 9));

test("exactly the eight sites of an Express application that do not answer are found", async () => {
  const audit = new RefusalAudit();
  const statuses = await ask(application(audit.middleware), [...sites.map((site) => `/${site}?key=secret`), "/items"]);
  assert.deepEqual(statuses, [...sites.map(() => 429), 200]);
  const { refusals, judged } = audit.report();
  assert.equal(refusals, 9);
  const unanswered = judged.filter(({ answer }) => answer === null).map(({ url }) => url);
  assert.deepEqual(unanswered, sites.filter((site) => site !== "whole").map((site) => `/${site}`));
  assert.throws(audit.check, (error) => {
    assert.ok(error instanceof RefusalsDoNotAnswer);
    assert.equal(error.code, "RAMPMETER_REFUSALS_DO_NOT_ANSWER");
    assert.match(error.message, /9 refusals: 8 do not say whether to come back, and when/);
    return true;
  });
});

test("a complete refusal passes strictly", async () => {
  const audit = new RefusalAudit({ strict: true });
  await ask(application(audit.middleware), ["/whole", "/items"]);
  assert.equal(audit.report().refusals, 1);
  audit.check();
});

test("a suite that is guarded as the documentation shows it fails for a site that does not answer, and else passes", () => {
  const [, example] = readFileSync(join(root, "docs/audit.md"), "utf8").match(/^```js\n([\s\S]*?)^```$/m);
  // Below the package, so that it is found by its name.
  const folder = mkdtempSync(join(root, "bindings-node/test/suite-"));
  after(() => rmSync(folder, { recursive: true }));
  cpSync(source, join(folder, "app.mjs"));
  const own = (site) => `
    import assert from "node:assert";
    import { test } from "node:test";
    test("it refuses", async () => {
      const server = app.listen(0, "127.0.0.1");
      await new Promise((ready) => server.on("listening", ready));
      const response = await fetch(\`http://127.0.0.1:\${server.address().port}/${site}\`);
      assert.equal(response.status, 429);
      await response.text();
      server.close();
    });`;
  const run = (site) => {
    writeFileSync(join(folder, "own.mjs"), example + own(site));
    // As if no test ran around it.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    return spawnSync(process.execPath, ["--test", join(folder, "own.mjs")], { encoding: "utf8", timeout: 60_000, env });
  };
  const failed = run("bare");
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /undecided/);
  const passed = run("whole");
  assert.equal(passed.status, 0, passed.stdout);
});

test("a handler of node:http is judged alike", async () => {
  const audit = new RefusalAudit();
  const bare = audit.listener((request, response) => {
    response.writeHead(429, "Slow down", ["Retry-After", "30"]);
    response.end();
  });
  assert.deepEqual(await ask(bare, ["/a"]), [429]);
  const [{ header_seconds, findings }] = audit.report().judged;
  assert.deepEqual([header_seconds, findings.map(({ rule }) => rule)], [30, ["no-body"]]);
});

test("a body that is written in pieces and one that is coded are heard as a whole", async () => {
  const audit = new RefusalAudit({ strict: true });
  const pieces = audit.listener((request, response) => {
    response.statusCode = 429;
    response.setHeader("Content-Type", "application/json");
    response.setHeader("Retry-After", "30");
    response.write(Buffer.from('{"retry": true,'));
    response.end("ICJyZXRyeUFmdGVyIjogMzB9", "base64");
  });
  await ask(pieces, ["/pieces"]);
  audit.record({ ...complete, headers: [...complete.headers, ["Content-Encoding", "gzip"]], body: gzipSync(complete.body) });
  assert.equal(audit.report().refusals, 2);
  audit.check();
});

test("an answer is not kept, and nothing that was kept is no failure", async () => {
  const audit = new RefusalAudit({ strict: true });
  await ask(application(audit.middleware), ["/items"]);
  assert.equal(audit.report().responses, 0);
  audit.check();
});

test("the guard is one whichever way it is loaded", async () => {
  const { createRequire } = await import("node:module");
  assert.equal(createRequire(import.meta.url)("rampmeter/audit").RefusalAudit, RefusalAudit);
});
