"use strict";

/**
 * Finds and loads the addon, once for all copies of the JavaScript around it.
 *
 * Numbers travel in one shared array, the desk. It hangs on the addon's own
 * exports, so that a module registry made anew (as test runners do) meets the
 * desk, the limiters and the waiters that are there already.
 */

const { existsSync } = require("node:fs");
const { join } = require("node:path");

/** More header fields than fit are not read; Node's own parser admits fewer. */
const DESK_PLACES = 4096;

/** The build triples that may run here, most likely first. */
function triples() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "linux") return [`${base}-gnu`, `${base}-musl`];
  return process.platform === "win32" ? [`${base}-msvc`] : [base];
}

function load() {
  const causes = [];
  for (const triple of triples()) {
    const file = join(__dirname, "..", `rampmeter.${triple}.node`);
    if (!existsSync(file)) continue;
    try {
      return require(file);
    } catch (error) {
      causes.push(error);
    }
  }
  const wanted = triples().join(" or ");
  throw new Error(
    causes.length > 0
      ? `the rampmeter addon for ${wanted} does not load here`
      : `there is no rampmeter addon for ${wanted}: with cargo installed, run "npm install && npm run build" in ${join(__dirname, "../..")}`,
    { cause: causes.length > 1 ? new AggregateError(causes) : causes[0] },
  );
}

/** @type {typeof import("../types/native") & { shared?: Shared }} */
const native = load();

/**
 * @typedef {object} Shared
 * @property {Float64Array} desk
 * @property {Record<string, any>} names what the core calls things
 * @property {Map<number, () => void>} waiters what wakes a waiting call, by its handle
 */

if (native.shared === undefined) {
  const desk = new Float64Array(DESK_PLACES);
  native.shared = { desk, names: JSON.parse(native.attach(desk)), waiters: new Map() };
}

module.exports = { native, ...native.shared };
