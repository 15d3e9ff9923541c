"use strict";

const { inspect } = require("node:util");

const { Config, extend, given } = require("./config.cjs");
const { ConfigError } = require("./errors.cjs");
const { Engine } = require("./engine.cjs");
const { Call, dispose } = require("./call.cjs");
const { Scope, meters, rateLimit } = require("./meters.cjs");
const { makeFetch, settle } = require("./fetch.cjs");
const { run, RUN_OPTIONS } = require("./run.cjs");
const { systemClock, checkClock } = require("./clock.cjs");

/** Where a limiter keeps its engine: a private field would not pass a Proxy. */
const ENGINE = Symbol("rampmeter.engine");

/** What a limiter takes beside the core's options. */
const OWN_OPTIONS = ["onEvent", "clock", "classify"];

/** Bound to each limiter, so that a detached one works. */
const METHODS = /** @type {const} */ ([
  "begin",
  "wrapFetch",
  "run",
  "meters",
  "scope",
  "scopes",
  "stats",
  "settle",
  "listen",
  "takeEvents",
  "takeWakes",
  "close",
]);

class Limiter {
  /**
   * @param {Config | Record<string, any>} [config]
   * @param {Record<string, any>} [options]
   */
  constructor(config = {}, options = {}) {
    const [base, more] = config instanceof Config ? [config, options] : [new Config(), { ...config, ...options }];
    const { onEvent, clock, classify, ...rest } = more;
    for (const [name, value] of [["onEvent", onEvent], ["classify", classify]]) {
      if (value !== undefined && typeof value !== "function") {
        throw new ConfigError(name, `must be a function, not ${inspect(value)}`);
      }
    }
    this.config = extend(base, rest);
    const engine = new Engine(this.config, {
      clock: clock === undefined ? systemClock : checkClock(clock),
      onEvent,
      classify,
    });
    Object.defineProperty(this, ENGINE, { value: engine });
    for (const name of METHODS) Object.defineProperty(this, name, { value: this[name].bind(this), configurable: true, writable: true });
    const { onExhausted } = given(this.config);
    const fetch = makeFetch(engine, () => globalThis.fetch, { onExhausted });
    Object.defineProperty(this, "fetch", { value: fetch, configurable: true, writable: true });
  }

  begin(/** @type {any} */ request) {
    const engine = this[ENGINE];
    return new Call(engine, engine.begin(request));
  }

  wrapFetch(/** @type {any} */ fetch, settings = {}) {
    if (typeof fetch !== "function") throw new ConfigError("fetch", `must be a function, not ${inspect(fetch)}`);
    const { onExhausted } = given(this.config);
    return makeFetch(this[ENGINE], () => fetch, { onExhausted, ...settings });
  }

  run(/** @type {any} */ fn, options = {}) {
    return run(this[ENGINE], fn, options);
  }

  meters(/** @type {string | URL | undefined} */ urlOrLabel) {
    return meters(this[ENGINE], urlOrLabel === undefined ? undefined : String(urlOrLabel));
  }

  get rateLimit() {
    return rateLimit(this[ENGINE]);
  }

  scope(/** @type {string | URL} */ urlOrLabel) {
    return new Scope(this[ENGINE], String(urlOrLabel));
  }

  scopes() {
    return this[ENGINE].ask("limiterScopes");
  }

  stats() {
    return this[ENGINE].ask("limiterStats");
  }

  settle(/** @type {any} */ response, /** @type {Record<string, number>} */ cost) {
    settle(this[ENGINE], response, cost);
  }

  listen(listening = true) {
    this[ENGINE].keeping = listening;
    this[ENGINE].listen();
  }

  takeEvents() {
    return this[ENGINE].takeEvents();
  }

  takeWakes() {
    return this[ENGINE].takeWakes();
  }

  get closed() {
    return this[ENGINE].closed;
  }

  close() {
    this[ENGINE].close();
  }

  [dispose]() {
    this.close();
  }

  [inspect.custom]() {
    const { total, scopes } = this.stats();
    return `Limiter { scopes: ${scopes.length}, sent: ${total.sent}, refused: ${total.refused}, waiting: ${total.waiting} }`;
  }
}

/**
 * Calls `fn` with the waits and retries of a limiter of its own.
 * @param {Function} fn
 * @param {Record<string, any>} [options]
 */
function callWithRetry(fn, options = {}) {
  const { config, ...rest } = options;
  const entries = Object.entries(rest);
  const forRun = Object.fromEntries(entries.filter(([name]) => RUN_OPTIONS.has(name)));
  const forLimiter = Object.fromEntries(entries.filter(([name]) => !RUN_OPTIONS.has(name)));
  return new Limiter(config, forLimiter).run(fn, forRun);
}

module.exports = { Limiter, callWithRetry, OWN_OPTIONS };
