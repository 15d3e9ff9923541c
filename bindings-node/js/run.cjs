"use strict";

/** A call around any function that returns, or throws, a response. */

const { drive, insideCall, isNested, responseOf, callIsOver } = require("./drive.cjs");
const { peek, hold } = require("./body.cjs");
const { bodyBytes } = require("./text.cjs");
const { onAbort } = require("./abort.cjs");
const { ConfigError } = require("./errors.cjs");

/** @typedef {InstanceType<typeof import("./engine.cjs").Engine>} Engine */
/** @typedef {import("./drive.cjs").Outcome} Outcome */

/** What `run` takes beside the function. */
const RUN_OPTIONS = new Set([
  "method",
  "url",
  "headers",
  "scope",
  "route",
  "cost",
  "priority",
  "deadlineMs",
  "retry",
  "replayable",
  "read",
  "signal",
]);

/** Without a URL all that is known of the calls is that this limiter holds them together. */
const ONE_SCOPE = "default";

/**
 * @param {Engine} engine
 * @param {Function} fn
 * @param {Record<string, any>} options
 */
async function run(engine, fn, options) {
  if (typeof fn !== "function") throw new ConfigError("fn", `must be a function, not ${typeof fn}`);
  for (const name of Object.keys(options)) {
    if (!RUN_OPTIONS.has(name)) {
      throw new ConfigError(name, `is unknown; known are ${[...RUN_OPTIONS].join(", ")}`);
    }
  }
  const { signal, read = defaultRead, ...request } = options;
  // The method is declared; what is not declared is not safe to repeat.
  request.method ??= "POST";
  if (request.url === undefined || request.url === null) request.scope ??= ONE_SCOPE;
  request.nested = isNested(engine);

  let over = false;
  const transport = {
    ...outcomes,
    send(/** @type {number} */ attempt, /** @type {number} */ call) {
      const settle = (/** @type {any} */ cost) => {
        if (over) throw callIsOver();
        engine.settle(call, cost);
      };
      return orAborted(signal, () => insideCall(engine, () => fn({ attempt, signal, settle })));
    },
    read: (/** @type {Outcome} */ outcome) => reading(read(outcome.threw ? outcome.error : outcome.value), outcome),
  };
  try {
    return await drive(engine, request, signal, transport);
  } finally {
    over = true;
  }
}

/**
 * What `act` comes to, or the signal's reason as soon as it is aborted.
 * @param {AbortSignal | null | undefined} signal
 * @param {() => any} act
 */
function orAborted(signal, act) {
  if (signal === undefined || signal === null) return act();
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => {
      forget();
      reject(signal.reason);
    });
    new Promise((begin) => begin(act())).then(resolve, reject).finally(forget);
  });
}

/** How the outcomes of functions are read, kept and handed over. */
const outcomes = {
  onExhausted: /** @type {const} */ ("raise"),

  /** @param {Outcome} outcome @param {number} limit */
  peek: ({ value, error, threw }, limit) => peek(threw ? responseOf(error) : value, limit),

  /** @param {Outcome} outcome */
  async hold(outcome) {
    if (!outcome.threw) return { value: await hold(outcome.value), threw: false };
    // The error is handed over as it is: its response is read, and kept whole.
    const { error } = outcome;
    const held = await hold(responseOf(error));
    if (held !== responseOf(error) && error.response !== undefined) trySet(error, held);
    return outcome;
  },

  /** @param {any} error @returns {never} */
  refuse(error) {
    throw error;
  },

  /** @param {Engine} engine @param {number} call @param {unknown} value */
  deliver(engine, call, value) {
    engine.complete(call);
    return value;
  },
};

/** @param {any} error @param {unknown} response */
function trySet(error, response) {
  try {
    error.response = response;
  } catch {
    // A frozen error keeps its response, whose body is read.
  }
}

/**
 * Status and headers of a response, or of the one that an error carries.
 * @param {any} said
 */
function defaultRead(said) {
  const response = responseOf(said);
  if (typeof response !== "object" || response === null) return null;
  const status = [response.status, response.statusCode].find(Number.isInteger);
  if (status === undefined) return null;
  const { headers, url, redirected } = response;
  const body = typeof response.body === "string" ? response.body : undefined;
  return { status, headers, body, url: redirected === true ? url : undefined };
}

/**
 * What the core is told. A value that says nothing counts as a success.
 * @param {any} read
 * @param {Outcome} outcome
 */
function reading(read, outcome) {
  if (read === undefined || read === null) return outcome.threw ? undefined : { status: 200, headers: undefined, body: null };
  const { status, headers, body, url, cached } = read;
  if (!Number.isInteger(status)) throw new ConfigError("read", `must answer a whole status, not ${String(status)}`);
  return { status, headers, body: body === undefined ? undefined : bodyBytes(body), url: url || undefined, cached };
}

module.exports = { run, RUN_OPTIONS };
