import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

/** The values at the leaves of a tree of conditions. */
const leaves = (tree) => (typeof tree === "string" ? [tree] : Object.values(tree).flatMap(leaves));

test("a packed package holds all that its manifest names, the sources and the addon", () => {
  const { stdout, status, stderr } = spawnSync("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"], { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const packed = new Set(JSON.parse(stdout)[0].files.map(({ path }) => path));
  const named = [manifest.main, manifest.module, manifest.types, ...leaves(manifest.exports), ...leaves(manifest.bin)];
  for (const file of named) assert.ok(packed.has(file.replace(/^\.\//, "")), file);
  for (const folder of ["bindings-node/js", "bindings-node/src", "bindings-node/types"]) {
    for (const file of readdirSync(new URL(folder, root))) assert.ok(packed.has(`${folder}/${file}`), file);
  }
  assert.ok([...packed].some((file) => file.endsWith(".node")));
  assert.ok([...packed].some((file) => file.startsWith("tests/vectors/")));
  assert.ok(![...packed].some((file) => file.startsWith("bindings-node/test/") || file.includes("node_modules")));
});

test("the package needs nothing at run time and the lock file names no registry", () => {
  assert.equal(manifest.dependencies, undefined);
  assert.ok(existsSync(new URL("package-lock.json", root)));
  assert.doesNotMatch(readFileSync(new URL("package-lock.json", root), "utf8"), /"resolved"/);
});
