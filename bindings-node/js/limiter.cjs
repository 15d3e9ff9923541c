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

/** @param {any} limiter @returns {InstanceType<typeof Engine>} */
const engineOf = (limiter) => limiter[ENGINE];

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

/** What the limiter's options say of its `fetch`. @param {Limiter} limiter */
const fetchDefaults = ({ config }) => ({ onExhausted: given(config).onExhausted });

class Limiter {
  /**
   * @param {object} [config] a `Config`, or options
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
    const own = (/** @type {string} */ name, /** @type {Function} */ value) =>
      Object.defineProperty(this, name, { value, configurable: true, writable: true });
    for (const name of METHODS) own(name, this[name].bind(this));
    own("fetch", makeFetch(engine, () => globalThis.fetch, fetchDefaults(this)));
  }

  begin(/** @type {any} */ request) {
    const engine = engineOf(this);
    return new Call(engine, engine.begin(request));
  }

  wrapFetch(/** @type {any} */ fetch, settings = {}) {
    if (typeof fetch !== "function") throw new ConfigError("fetch", `must be a function, not ${inspect(fetch)}`);
    return makeFetch(engineOf(this), () => fetch, { ...fetchDefaults(this), ...settings });
  }

  run(/** @type {any} */ fn, options = {}) {
    return run(engineOf(this), fn, options);
  }

  meters(/** @type {string | URL | undefined} */ urlOrLabel) {
    return meters(engineOf(this), urlOrLabel === undefined ? undefined : String(urlOrLabel));
  }

  get rateLimit() {
    return rateLimit(engineOf(this));
  }

  scope(/** @type {string | URL} */ urlOrLabel) {
    return new Scope(engineOf(this), String(urlOrLabel));
  }

  scopes() {
    return engineOf(this).ask("limiterScopes");
  }

  stats() {
    return engineOf(this).ask("limiterStats");
  }

  settle(/** @type {any} */ response, /** @type {Record<string, number>} */ cost) {
    settle(engineOf(this), response, cost);
  }

  listen(listening = true) {
    engineOf(this).keeping = listening;
    engineOf(this).listen();
  }

  takeEvents() {
    return engineOf(this).takeEvents();
  }

  takeWakes() {
    return engineOf(this).takeWakes();
  }

  get closed() {
    return engineOf(this).closed;
  }

  close() {
    engineOf(this).close();
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

module.exports = { Limiter, callWithRetry };
