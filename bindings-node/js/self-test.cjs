"use strict";

/**
 * Replays vectors, offline, against this package.
 *
 * A vector is a JSON object: either *signals* (a response head and what must
 * be read from it) or a *script* (steps in virtual time and the decisions that
 * must follow). A file holds one object or a list of them; folders are
 * searched to any depth. The same files are replayed in every language, with
 * the core's names and seconds.
 */

const { readdirSync, readFileSync, statSync } = require("node:fs");
const { join } = require("node:path");

const { byName } = require("./names.cjs");
const { ConfigError } = require("./errors.cjs");
const { Limiter } = require("./limiter.cjs");
const { ManualClock } = require("./clock.cjs");
const { readSignals } = require("./pieces.cjs");

/** The monotonic clock at a vector's zero: an engine that takes zero for "never" shows it here. */
const START_MS = 1_000_000;

/** Clock readings are whole nanoseconds, vectors decimal seconds. */
const ROUNDING = 1e-6;

class Mismatch extends Error {}

/** @typedef {Record<string, any>} Json */

/**
 * Prints each vector that does not hold, then `N passed, N failed`.
 * @param {string[]} paths
 * @param {(line: string) => void} print
 * @returns {boolean} whether all held
 */
function selfTest(paths, print = console.log) {
  let passed = 0;
  let failed = 0;
  const fail = (/** @type {string} */ file, /** @type {string} */ name, /** @type {string} */ problem) => {
    failed += 1;
    print(`FAILED ${file}${name === "" ? "" : `: ${name}`}`);
    for (const line of problem.split("\n")) print(`    ${line}`);
  };
  for (const path of paths) {
    for (const { file, vectors, problem } of files(path)) {
      if (problem !== undefined) fail(file, "", problem);
      for (const vector of vectors) {
        try {
          check(vector);
          passed += 1;
        } catch (error) {
          const name = vector?.name ?? vector?.id ?? "(no name)";
          fail(file, name, error instanceof Mismatch ? error.message : String(/** @type {Error} */ (error).stack));
        }
      }
    }
  }
  print(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

/**
 * @param {string} path
 * @returns {Iterable<{ file: string, vectors: any[], problem?: string }>}
 */
function* files(path) {
  const unreadable = (/** @type {unknown} */ error) => ({
    file: path,
    vectors: [],
    problem: `cannot be read: ${/** @type {Error} */ (error).message}`,
  });
  try {
    if (!statSync(path).isDirectory()) {
      const parsed = JSON.parse(readFileSync(path, "utf8"));
      yield { file: path, vectors: Array.isArray(parsed) ? parsed : [parsed] };
      return;
    }
  } catch (error) {
    yield unreadable(error);
    return;
  }
  const entries = readdirSync(path, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.isDirectory() || entry.name.endsWith(".json")) yield* files(join(path, entry.name));
  }
}

function check(/** @type {Json} */ vector) {
  if (vector.steps !== undefined || vector.config_error !== undefined) checkScript(vector);
  else if (vector.status !== undefined && vector.expect !== undefined) checkSignals(vector);
  else throw new Mismatch("is no vector: it needs steps, a config_error, or a status with what to expect of it");
}

// ------------------------------------------------------------------ signals

function checkSignals(/** @type {Json} */ vector) {
  const { status, expect } = vector;
  const now = typeof vector.received_wall === "number" ? vector.received_wall * 1000 : null;
  const signals = readSignals(status, fieldsOf(vector.headers), bodyOf(vector.body), { now });
  if (Array.isArray(expect.meters)) checkReadings(expect.meters, signals.meters);
  // What is derived from a meter is no explicit wait.
  const wait = signals.wait === null || signals.wait.source === "reset" ? null : signals.wait.ms / 1000;
  checkNumber("retry_after_seconds", expect.retry_after_seconds, wait, 0.01);
  if ("class" in expect && expect.class !== (signals.refusal?.class ?? null)) {
    throw new Mismatch(`class: expected ${expect.class}, got ${signals.refusal?.class ?? "no refusal"}`);
  }
}

/** @param {Json[]} expected @param {Json[]} readings */
function checkReadings(expected, readings) {
  const left = [...readings];
  for (const meter of expected) {
    const named = left.filter((reading) => loose(reading.name) === loose(meter.name));
    const fitting = named.find((reading) => holds(() => checkReading(meter, reading))) ?? named[0];
    if (fitting === undefined) {
      throw new Mismatch(`expected a meter ${meter.name}\nread: ${JSON.stringify(readings)}`);
    }
    left.splice(left.indexOf(fitting), 1);
    checkReading(meter, fitting);
  }
  if (left.length > 0) throw new Mismatch(`expected no such meter: ${JSON.stringify(left[0])}`);
}

/** @param {Json} expected @param {Json} actual */
function checkReading(expected, actual) {
  const of = (/** @type {string} */ field) => `meter ${expected.name}: ${field}`;
  checkNumber(of("limit"), expected.limit, actual.limit, 0.01);
  checkNumber(of("remaining"), expected.remaining, actual.remaining, 0.01);
  checkNumber(of("reset_in_seconds"), expected.reset_in_seconds, seconds(actual.resetMs), 1);
  checkNumber(of("window_seconds"), expected.window_seconds, seconds(actual.windowMs), 0.01);
  // A unit counts only where the engine claims one.
  if (actual.unit !== null) checkText(of("unit"), expected.unit, actual.unit);
}

// ------------------------------------------------------------------ scripts

function checkScript(/** @type {Json} */ vector) {
  const expected = vector.config_error;
  let script;
  try {
    script = new Script(vector);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (expected === undefined) throw new Mismatch(`the config is refused: ${error.message}`);
    if (!namesOption(error, expected)) {
      throw new Mismatch(`expected a ConfigError that names ${expected}, got: ${error.message}`);
    }
    return;
  }
  if (expected !== undefined) throw new Mismatch(`expected a ConfigError that names ${expected}, got none`);
  script.run();
}

/** An error about a member of an option names the option, and one about a pair names both. */
function namesOption(/** @type {any} */ error, /** @type {string} */ option) {
  const wanted = optionName(option);
  const head = (/** @type {string} */ name) => name.split(".")[0];
  return (
    (head(error.option) === head(wanted) && (!option.includes(".") || error.option === wanted)) ||
    error.problem.split(/[^\w]+/).includes(wanted)
  );
}

const optionName = (/** @type {string} */ name) => byName.get(name)?.jsName ?? name;

/**
 * A config with the core's names and seconds, as JavaScript writes it.
 * @param {Json} config
 * @returns {Json}
 */
function configOf(config, prefix = "") {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const option = byName.get(prefix + name);
      const jsName = option === undefined ? name : /** @type {string} */ (option.jsName.split(".").pop());
      if (option?.duration && typeof value === "number") return [jsName, value * 1000];
      const mapping = option !== undefined && option.members.size > 0 && typeof value === "object" && value !== null;
      return [jsName, mapping && !Array.isArray(value) ? configOf(value, `${name}.`) : value];
    }),
  );
}

class Script {
  constructor(/** @type {Json} */ vector) {
    this.clock = new ManualClock({ startMs: START_MS, autoAdvance: false });
    this.limiter = new Limiter({ ...configOf(vector.config ?? {}), clock: this.clock });
    this.limiter.listen();
    /** @type {Json[]} */
    this.steps = vector.steps ?? [];
    /** @type {Map<string, any>} */
    this.calls = new Map();
    this.wallAtZero = typeof vector.wall === "number" ? vector.wall : null;
    /** @type {string[]} the kinds of the events since the last step that asked */
    this.events = [];
    this.at = 0;
  }

  run() {
    for (const [index, step] of this.steps.entries()) {
      try {
        this.step(index, step);
      } catch (error) {
        const text = error instanceof Mismatch ? error.message : String(/** @type {Error} */ (error).stack);
        throw new Mismatch(`step ${index + 1} of ${this.steps.length}: ${text}\nin ${JSON.stringify(step)}`);
      }
    }
  }

  step(/** @type {number} */ index, /** @type {Json} */ step) {
    this.at = step.at ?? this.at;
    if ("wall" in step) this.wallAtZero = step.wall === null ? null : step.wall - this.at;
    this.clock.advance(Math.max(0, START_MS + this.at * 1000 - this.clock.now()));
    this.clock.setWall(this.wallAtZero === null ? null : (this.wallAtZero + this.at) * 1000);

    if (step.begin !== undefined) this.begin(step);
    else if (step.poll !== undefined) checkDecision(step.expect, this.call(step.poll).poll());
    else if (step.response !== undefined) this.response(index, step);
    else if (step.failure !== undefined) {
      const decision = this.call(step.failure).onFailure(step.kind ?? "other");
      this.finishUnlessTold(index, step.failure, decision);
      checkDecision(step.expect, decision);
    } else if (step.settle !== undefined) {
      refusedArgument(step.expect, () => this.call(step.settle).settle(step.cost ?? {}));
    } else if (step.finish !== undefined) this.call(step.finish).finish();
    else if (step.cancel !== undefined) this.call(step.cancel).cancel();
    else if (step.meters !== undefined) checkMeters(step.expect, this.limiter.meters(step.meters));
    else if (step.close !== undefined && step.close !== false) this.limiter.close();
    this.checkEvents(step);
  }

  call(/** @type {string} */ id) {
    const call = this.calls.get(id);
    if (call === undefined) throw new Mismatch(`no call ${id} was begun`);
    return call;
  }

  begin(/** @type {Json} */ step) {
    const { begin: id, method, url = "", headers, scope, route, cost, priority, deadline, retry } = step;
    refusedArgument(step.expect, () => {
      const call = this.limiter.begin({
        method: method ?? undefined,
        url,
        headers: fieldsOf(headers),
        scope,
        route,
        cost,
        priority,
        deadlineMs: typeof deadline === "number" ? deadline * 1000 : undefined,
        retry,
      });
      this.calls.set(id, call);
    });
  }

  response(/** @type {number} */ index, /** @type {Json} */ step) {
    const { response: id, status, headers, body, cached, url } = step;
    const decision = this.call(id).onResponse(status, fieldsOf(headers), bodyOf(body), {
      cached: cached === true,
      url: url ?? undefined,
    });
    this.finishUnlessTold(index, id, decision);
    checkDecision(step.expect, decision);
  }

  /** What is delivered counts as finished at once, unless a later step says when. */
  finishUnlessTold(/** @type {number} */ index, /** @type {string} */ id, /** @type {Json} */ decision) {
    const told = this.steps.slice(index + 1).some((step) => step.finish === id);
    if (decision.kind === "deliver" && !told) this.call(id).finish();
  }

  checkEvents(/** @type {Json} */ step) {
    this.events.push(...this.limiter.takeEvents().map((/** @type {Json} */ event) => event.kind));
    if (!Array.isArray(step.events)) return;
    const happened = this.events;
    const left = [...happened];
    this.events = [];
    for (const kind of step.events) {
      const position = left.indexOf(kind);
      if (position < 0) {
        throw new Mismatch(`expected the events ${JSON.stringify(step.events)}, got ${JSON.stringify(happened)}`);
      }
      left.splice(position, 1);
    }
  }
}

/** Makes sure that `act` fails just if the step expects an error. */
function refusedArgument(/** @type {Json | undefined} */ expected, /** @type {() => void} */ act) {
  try {
    act();
  } catch (error) {
    if (error instanceof Mismatch || expected?.error === undefined) throw error;
    const field = wrongError(expected, error);
    if (field !== undefined) throw new Mismatch(`expected ${field}, got ${describeError(error)}`);
  }
}

// ---------------------------------------------------------------- comparing

function checkDecision(/** @type {Json | undefined} */ expected, /** @type {Json} */ actual) {
  if (typeof expected !== "object" || expected === null) return;
  const mismatch = (/** @type {string} */ wanted) => new Mismatch(`expected ${wanted}, got ${describe(actual)}`);
  if (expected.decision !== undefined && expected.decision !== actual.kind) throw mismatch(JSON.stringify(expected));
  if ((expected.seconds ?? null) !== null) {
    if (actual.delayMs === null || !inRange(expected.seconds, actual.delayMs / 1000, 0.01)) {
      throw mismatch(`to sleep ${JSON.stringify(expected.seconds)} s`);
    }
  }
  if (expected.reason !== undefined && expected.reason !== actual.reason) throw mismatch(`the reason ${expected.reason}`);
  const field = wrongError(expected, actual.error);
  if (field !== undefined) throw mismatch(field);
}

/**
 * Holds an error against `error`, `retry_after`, `limit_name`, `hint` and `limit`.
 * @param {Json} expected
 * @param {any} actual
 * @returns {string | undefined} what was expected and does not hold
 */
function wrongError(expected, actual) {
  if (expected.error !== undefined && expected.error !== actual?.name) return `the error ${expected.error}`;
  if (expected.retry_after !== undefined) {
    const retryAfter = seconds(actual?.retryAfterMs ?? null);
    if (!holds(() => checkNumber("", expected.retry_after, retryAfter, 0.01))) {
      return `retry_after ${JSON.stringify(expected.retry_after)}`;
    }
  }
  if (typeof expected.limit_name === "string") {
    const wanted = expected.limit_name === "deadline" ? "deadlineMs" : optionName(expected.limit_name);
    if (actual?.limitName !== wanted) return `the limit_name ${wanted}`;
  }
  if (typeof expected.hint === "string" && actual?.hint !== expected.hint) return `the hint ${expected.hint}`;
  if (expected.limit !== undefined && !holds(() => checkNumber("", expected.limit, actual?.limit ?? null, 0.01))) {
    return `the limit ${JSON.stringify(expected.limit)}`;
  }
  return undefined;
}

function describe(/** @type {Json} */ decision) {
  if (decision.error !== null) return describeError(decision.error);
  const length = decision.delayMs === null ? "" : ` ${decision.delayMs / 1000} s`;
  return `${decision.kind}${length} (${decision.reason})`;
}

function describeError(/** @type {any} */ error) {
  const { name, retryAfterMs = null, limitName = null, message } = error;
  return `raise ${name} (retryAfterMs ${retryAfterMs}, limitName ${limitName}): ${message}`;
}

/**
 * Holds a scope's meters against the map of a `meters` step. Several unnamed
 * meters that are kept apart by route share the key `default`: one must fit.
 * @param {Json | undefined} expected
 * @param {any[]} actual
 */
function checkMeters(expected, actual) {
  if (typeof expected !== "object" || expected === null) return;
  const key = (/** @type {any} */ meter) => loose(meter.name ?? "default");
  for (const [name, fields] of Object.entries(expected)) {
    const candidates = actual.filter((meter) => key(meter) === loose(name));
    if (candidates.length === 0) throw new Mismatch(`expected a meter ${name}, got ${actual.map(key).join(", ") || "none"}`);
    if (!candidates.some((meter) => holds(() => checkMeter(name, fields, meter)))) checkMeter(name, fields, candidates[0]);
  }
  const known = Object.keys(expected).map(loose);
  const extra = actual.find((meter) => !known.includes(key(meter)));
  if (extra !== undefined) throw new Mismatch(`expected no such meter: ${JSON.stringify(extra)}`);
}

function checkMeter(/** @type {string} */ name, /** @type {Json} */ expected, /** @type {any} */ actual) {
  const of = (/** @type {string} */ field) => `meter ${name}: ${field}`;
  checkNumber(of("limit"), expected.limit, actual.limit, 0.01);
  checkNumber(of("remaining"), expected.remaining, actual.remaining, 0.01);
  checkNumber(of("window"), expected.window, seconds(actual.windowMs), 0.01);
  const reset = seconds(actual.msUntilReset());
  // A reset that has passed and one that is unknown say the same.
  const passed = reset === null || reset <= 0;
  const none = (expected.reset ?? null) === null || inRange(expected.reset, 0, 1);
  if (!(passed && none)) checkNumber(of("reset"), expected.reset, reset, 1);
  checkText(of("unit"), expected.unit, actual.unit);
  checkText(of("policy"), expected.policy, actual.policy);
}

const seconds = (/** @type {number | null} */ ms) => (ms === null ? null : ms / 1000);

const loose = (/** @type {string | null | undefined} */ name) => name?.replace(/[-_ ]/g, "").toLowerCase() ?? null;

function holds(/** @type {() => void} */ act) {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof Mismatch) return false;
    throw error;
  }
}

/** A number, or a range `[lo, hi]` in which `null` leaves an end open. */
function inRange(/** @type {any} */ expected, /** @type {number} */ actual, /** @type {number} */ tolerance) {
  if (!Array.isArray(expected)) return Math.abs(expected - actual) <= tolerance;
  const [low, high] = expected;
  return actual >= (low ?? -Infinity) - ROUNDING && actual <= (high ?? Infinity) + ROUNDING;
}

/** An expected number that may be absent on either side. */
function checkNumber(
  /** @type {string} */ field,
  /** @type {any} */ expected,
  /** @type {number | null} */ actual,
  /** @type {number} */ tolerance,
) {
  const absent = (expected ?? null) === null;
  if (absent ? actual === null : actual !== null && inRange(expected, actual, tolerance)) return;
  throw new Mismatch(`${field}: expected ${absent ? "absent" : JSON.stringify(expected)}, got ${actual ?? "absent"}`);
}

/** A text that is compared only if the vector gives it. */
function checkText(/** @type {string} */ field, /** @type {any} */ expected, /** @type {string | null} */ actual) {
  if (typeof expected !== "string" || loose(expected) === loose(actual)) return;
  throw new Mismatch(`${field}: expected ${expected}, got ${actual ?? "absent"}`);
}

/**
 * Header fields as HTTP clients give them: each character stands for one byte.
 * @param {any} headers
 * @returns {[string, string][]}
 */
function fieldsOf(headers) {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  const bytes = (/** @type {any} */ value) =>
    Buffer.from(typeof value === "string" ? value : JSON.stringify(value), "utf8").toString("latin1");
  return pairs.map(([name, value]) => [bytes(name), bytes(value)]);
}

/** A body as a vector writes it: text, or JSON to be written as text. */
function bodyOf(/** @type {any} */ body) {
  if (body === undefined || body === null || typeof body === "string") return body ?? null;
  return JSON.stringify(body);
}

module.exports = { selfTest };
