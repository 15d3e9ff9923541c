"use strict";

/**
 * One limiter's engine, by its handle. Reads the clocks, crosses into the
 * addon, wakes who is to be woken. Nothing here decides anything.
 */

const { native, desk, waiters } = require("./native.cjs");
const { names } = require("./names.cjs");
const { fromCore, ConfigError } = require("./errors.cjs");
const { sourceOf } = require("./config.cjs");
const { start, addText, addHeaders, finished, nameFilter, everyName } = require("./text.cjs");
const { onAbort } = require("./abort.cjs");
const { watched, tell, sayNotices } = require("./events.cjs");

/** The kinds of decisions, by their codes. */
const [SEND, SLEEP, DELIVER, RAISE] = names.decisions.keys();
/** Behind them: the body is wanted before there is a decision. */
const WANTS_BODY = names.decisions.length;

const BEGIN_ONE_SHOT = 1;
const BEGIN_NESTED = 2;
const BEGIN_RETRY_GIVEN = 4;
const BEGIN_RETRY = 8;
const BEGIN_SCOPE = 16;
const BEGIN_ROUTE = 32;

const RESPOND_CACHED = 1;
const RESPOND_URL = 2;
const RESPOND_VERDICT = 4;
const RESPOND_MAY_READ = 8;

/** Frees the engine of a limiter that nobody holds any more. */
const abandonedLimiters = new FinalizationRegistry((/** @type {number} */ handle) => {
  desk[0] = handle;
  native.limiterDrop();
});

/**
 * Gives up the calls that nobody holds any more.
 * @type {FinalizationRegistry<{ engine: Engine, call: number }>}
 */
const abandonedCalls = new FinalizationRegistry(({ engine, call }) => engine.abandon(call));

/**
 * @typedef {object} CallOptions
 * @property {string} [method]
 * @property {string | URL} [url]
 * @property {unknown} [headers]
 * @property {string | null} [scope]
 * @property {string | null} [route]
 * @property {Record<string, number> | number | null} [cost]
 * @property {number | null} [priority]
 * @property {number | null} [deadlineMs]
 * @property {boolean | null} [retry]
 * @property {boolean} [replayable]
 * @property {boolean} [nested]
 */

class Engine {
  /**
   * @param {object} config a `Config`
   * @param {object} own
   * @param {import("./clock.cjs").Clock} own.clock
   * @param {import("./events.cjs").OnEvent} [own.onEvent]
   * @param {Function} [own.classify]
   */
  constructor(config, { clock, onEvent, classify }) {
    const { preset, options } = sourceOf(config);
    const problem = native.limiterNew(preset, options);
    if (problem !== null) throw fromCore(JSON.parse(problem));
    this.handle = desk[0];
    /** Which of a response's headers are read. */
    this.headerMatters = nameFilter((name) => {
      desk[0] = this.handle;
      return native.headerMatters(name);
    });
    this.clock = clock;
    this.onEvent = onEvent;
    this.classify = classify;
    /** The wait of the last decision to sleep, or how many bytes of the body are wanted. */
    this.amount = 0;
    /** The reason's code of the last decision. */
    this.reason = 0;
    /** Whether the user asked for events to be kept for `takeEvents`. */
    this.keeping = false;
    this.listening = false;
    this.telling = false;
    this.listen();
    abandonedLimiters.register(this, this.handle);
  }

  /** @param {CallOptions} options @returns {number} the call's handle */
  begin(options) {
    const { method = "GET", url, headers, scope, route, cost, priority, deadlineMs, retry } = options;
    if (this.listening !== this.heard()) this.listen();
    const amounts = amountsOf(cost);
    const now = this.clock.now();
    start(7 + amounts.length);
    addText(upper(method));
    addText(url === undefined ? "" : String(url));
    addText(label("scope", scope));
    addText(label("route", route));
    for (const [unit] of amounts) addText(unit);
    const pieces = headers === undefined ? 0 : addHeaders(headers, everyName);
    desk[0] = this.handle;
    desk[1] = now;
    desk[2] =
      (options.replayable === false ? BEGIN_ONE_SHOT : 0) |
      (options.nested === true ? BEGIN_NESTED : 0) |
      (retry === undefined || retry === null ? 0 : BEGIN_RETRY_GIVEN | (retry ? BEGIN_RETRY : 0)) |
      (scope === undefined || scope === null ? 0 : BEGIN_SCOPE) |
      (route === undefined || route === null ? 0 : BEGIN_ROUTE);
    desk[3] = priorityOf(priority);
    desk[4] = deadlineOf(deadlineMs);
    desk[5] = amounts.length;
    desk[6] = pieces;
    for (let index = 0; index < amounts.length; index += 1) desk[7 + index] = amounts[index][1];
    const problem = native.begin(finished());
    const handle = desk[0];
    this.attend(desk[3]);
    if (problem !== null) throw fromCore(JSON.parse(problem));
    return handle;
  }

  /** @param {number} call @returns {number} the decision's kind */
  poll(call) {
    desk[0] = call;
    desk[1] = this.clock.now();
    native.poll();
    return this.decided();
  }

  /** Polls a call that will wait: it is woken when polling again is worthwhile. @param {number} call */
  park(call) {
    desk[0] = call;
    desk[1] = this.clock.now();
    native.park();
    return this.decided();
  }

  /**
   * Sleeps as long as the last decision says, or until woken.
   * @param {number} call
   * @param {AbortSignal | null | undefined} signal
   * @returns {Promise<void>} rejects with the signal's reason as soon as it is aborted
   */
  nap(call, signal) {
    const ms = this.amount;
    return new Promise((resolve, reject) => {
      const leave = () => {
        forgetTimer();
        forgetAbort();
        waiters.delete(call);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const forgetTimer = this.clock.schedule(wake, ms);
      waiters.set(call, wake);
      const forgetAbort = onAbort(signal, () => {
        leave();
        reject(/** @type {AbortSignal} */ (signal).reason);
      });
    });
  }

  /** How many bytes of the body are worth reading. @param {number} call @param {number} status @param {unknown} headers */
  wantsBody(call, status, headers) {
    start(3);
    const pieces = addHeaders(headers, this.headerMatters);
    desk[0] = call;
    desk[1] = status;
    desk[2] = pieces;
    native.wantsBody(finished());
    this.amount = desk[0];
    return this.amount;
  }

  /**
   * Reports a response. With `mayRead` the answer may be that the body is
   * wanted first, to be reported with `respondBody`.
   * @param {number} call
   * @param {number} status
   * @param {unknown} headers
   * @param {{ body?: Uint8Array | null, cached?: boolean, url?: string }} more
   * @param {boolean} mayRead
   */
  respond(call, status, headers, { body = null, cached, url }, mayRead) {
    const verdict = this.classify === undefined ? undefined : verdictOf(this.classify(status, headers, body));
    start(8);
    addText(url ?? "");
    const pieces = addHeaders(headers, this.headerMatters);
    desk[0] = call;
    desk[1] = this.clock.now();
    desk[2] = this.clock.wall?.() ?? NaN;
    desk[3] = status;
    desk[4] =
      (cached === true ? RESPOND_CACHED : 0) |
      (url === undefined ? 0 : RESPOND_URL) |
      (verdict === undefined ? 0 : RESPOND_VERDICT) |
      (mayRead ? RESPOND_MAY_READ : 0);
    if (verdict !== undefined) {
      desk[5] = verdict.code;
      desk[6] = verdict.waitMs;
    }
    desk[7] = pieces;
    native.respond(finished(), body);
    return this.decided();
  }

  /** @param {number} call @param {Uint8Array | null} body */
  respondBody(call, body) {
    desk[0] = call;
    desk[1] = this.clock.now();
    desk[2] = this.clock.wall?.() ?? NaN;
    native.respondBody(body);
    return this.decided();
  }

  /** @param {number} call @param {string} kind */
  fail(call, kind) {
    const code = names.failures.indexOf(kind);
    if (code < 0) throw new ConfigError("kind", `must be one of ${names.failures.join(", ")}, not ${String(kind)}`);
    desk[0] = call;
    desk[1] = this.clock.now();
    desk[2] = code;
    native.fail();
    return this.decided();
  }

  /** @param {number} call @param {Record<string, number> | number} cost */
  settle(call, cost) {
    const amounts = amountsOf(cost);
    start(3 + amounts.length);
    for (const [unit] of amounts) addText(unit);
    desk[0] = call;
    desk[1] = this.clock.now();
    desk[2] = amounts.length;
    for (let index = 0; index < amounts.length; index += 1) desk[3 + index] = amounts[index][1];
    const problem = native.settle(finished());
    this.attend(desk[3]);
    if (problem !== null) throw fromCore(JSON.parse(problem));
  }

  /** @param {number} call */
  finish(call) {
    this.act(native.finish, call);
  }

  /** @param {number} call */
  cancel(call) {
    this.act(native.cancel, call);
  }

  /** Finishes the call, which nobody will ask about again. @param {number} call */
  complete(call) {
    this.act(native.complete, call);
  }

  /** Gives up the call, which nobody will ask about again. @param {number} call */
  abandon(call) {
    this.act(native.cancel, call);
    this.act(native.forget, call);
  }

  /** Gives up the call once `holder` is collected. @param {number} call @param {object} holder */
  forgetWith(call, holder) {
    abandonedCalls.register(holder, { engine: this, call });
  }

  /** @param {number} call */
  attempts(call) {
    desk[0] = call;
    native.attempts();
    return desk[0];
  }

  /** The error of the call's last decision, to raise. @param {number} call @param {unknown} [cause] */
  error(call, cause) {
    desk[0] = call;
    return fromCore(JSON.parse(native.takeError()), cause);
  }

  close() {
    desk[0] = this.handle;
    desk[1] = this.clock.now();
    desk[2] = NaN;
    native.limiterClose();
    this.attend(desk[3]);
  }

  /** Starts or stops the collection of events, as somebody listens or not. */
  listen() {
    this.listening = this.heard();
    desk[0] = this.handle;
    desk[1] = this.listening ? 1 : 0;
    native.limiterListen();
  }

  get closed() {
    desk[0] = this.handle;
    native.limiterClosed();
    return desk[0] !== 0;
  }

  heard() {
    return this.keeping || this.onEvent !== undefined || watched();
  }

  takeEvents() {
    desk[0] = this.handle;
    const events = native.limiterEvents();
    return events === "" ? [] : JSON.parse(events);
  }

  /** @param {"limiterStats" | "limiterScopes"} what */
  ask(what) {
    desk[0] = this.handle;
    desk[1] = this.clock.now();
    desk[2] = NaN;
    return JSON.parse(native[what]());
  }

  /** @param {string} scope @returns {Record<string, any>[]} */
  meters(scope) {
    desk[0] = this.handle;
    desk[1] = this.clock.now();
    desk[2] = NaN;
    return JSON.parse(native.limiterMeters(scope));
  }

  /** @returns {number[]} */
  takeWakes() {
    desk[0] = this.handle;
    return native.limiterWakes();
  }

  /** @param {() => void} what @param {number} call */
  act(what, call) {
    desk[0] = call;
    desk[1] = this.clock.now();
    desk[3] = 0;
    what();
    this.attend(desk[3]);
  }

  decided() {
    const kind = desk[0];
    this.amount = desk[1];
    this.reason = desk[2];
    // A wanted body is no step of the engine's: the desk says nothing new.
    if (kind !== WANTS_BODY) this.attend(desk[3]);
    return kind;
  }

  /** Fetches what a step of the engine left to be done. @param {number} pending */
  attend(pending) {
    if (pending > 0) {
      for (const call of native.takeWoken()) waiters.get(call)?.();
      sayNotices();
    }
    // Whoever keeps events takes them himself, unless others listen too.
    if (this.listening && !this.telling && !(this.keeping && this.onEvent === undefined && !watched())) {
      this.telling = true;
      queueMicrotask(() => {
        this.telling = false;
        tell(this.takeEvents(), this.onEvent);
      });
    }
  }
}

/** @param {CallOptions["cost"]} cost @returns {[string, number][]} */
function amountsOf(cost) {
  if (cost === undefined || cost === null) return NOTHING;
  const amounts = typeof cost === "number" ? [["requests", cost]] : Object.entries(cost);
  for (const [unit, amount] of amounts) {
    if (typeof amount !== "number") throw new ConfigError(`cost.${unit}`, `must be a number, not ${String(amount)}`);
  }
  return /** @type {[string, number][]} */ (amounts);
}

/** @type {[string, number][]} */
const NOTHING = [];

/** @param {unknown} method */
function upper(method) {
  if (typeof method !== "string") throw new ConfigError("method", `must be a string, not ${String(method)}`);
  return method.toUpperCase();
}

/** @param {string} name @param {unknown} value */
function label(name, value) {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new ConfigError(name, `must be a string, not ${String(value)}`);
  return value;
}

/** @param {unknown} priority */
function priorityOf(priority) {
  if (priority === undefined || priority === null) return 0;
  if (!Number.isInteger(priority)) throw new ConfigError("priority", `must be a whole number, not ${String(priority)}`);
  return /** @type {number} */ (priority);
}

/** @param {unknown} deadlineMs NaN stands for none */
function deadlineOf(deadlineMs) {
  if (deadlineMs === undefined || deadlineMs === null || deadlineMs === Infinity) return NaN;
  if (typeof deadlineMs === "number" && deadlineMs >= 0) return deadlineMs;
  throw new ConfigError("deadlineMs", `must be milliseconds from 0, or Infinity for none, not ${String(deadlineMs)}`);
}

/**
 * What the caller's own rule says of a response.
 * @param {any} verdict
 */
function verdictOf(verdict) {
  if (verdict === undefined || verdict === null) return undefined;
  // Without a class it would say that a refusal is none.
  if (typeof verdict !== "object" || verdict.class === undefined) {
    throw new ConfigError("classify", `must answer undefined or an object with class and waitMs, not ${String(verdict)}`);
  }
  const { class: name, waitMs = null } = verdict;
  const code = name === null ? -1 : names.classes.indexOf(name);
  if (name !== null && code < 0) {
    throw new ConfigError("classify", `must answer a class of ${names.classes.join(", ")}, not ${String(name)}`);
  }
  if (waitMs !== null && !(typeof waitMs === "number" && waitMs >= 0)) {
    throw new ConfigError("classify", `must answer waitMs in milliseconds from 0, not ${String(waitMs)}`);
  }
  return { code, waitMs: waitMs ?? NaN };
}

module.exports = { Engine, SEND, SLEEP, DELIVER, RAISE, WANTS_BODY };
