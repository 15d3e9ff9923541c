"use strict";

/** A `fetch` that waits for its turn. */

const { drive, insideCall, isNested } = require("./drive.cjs");
const { isOneShot, peek, hold, likeness } = require("./body.cjs");
const { asTypeError, ConfigError, RateLimitExceeded, UsageError } = require("./errors.cjs");
const { names } = require("./names.cjs");

/** @typedef {InstanceType<typeof import("./engine.cjs").Engine>} Engine */

/** The `fetch` of this Node, which makes no calls of ours. */
const builtin = globalThis.fetch;

/** By this a wrapper shows what it wraps. */
const WRAPPED = Symbol("rampmeter.fetch");

/** Schemes that reach no server. */
const LOCAL = /^(?:data|blob|about):/i;

/**
 * @param {Engine} engine
 * @param {() => Function} base the `fetch` to send with, asked at each call
 * @param {Record<string, any>} settings
 */
function makeFetch(engine, base, settings) {
  const defaults = checked(settings);
  const wrapper = function fetch(/** @type {any} */ input, /** @type {any} */ init) {
    return rateLimited(engine, unwrapped(engine, base()), defaults, input, init);
  };
  Object.defineProperty(wrapper, WRAPPED, { value: { engine, base } });
  return wrapper;
}

/** What a wrapper of the same limiter wraps: one call is held once. @param {Engine} engine @param {any} fetch @returns {any} */
function unwrapped(engine, fetch) {
  const wrapped = fetch[WRAPPED];
  return wrapped?.engine === engine ? unwrapped(engine, wrapped.base()) : fetch;
}

/**
 * @param {Engine} engine
 * @param {Function} base
 * @param {Record<string, any>} defaults
 * @param {any} input
 * @param {any} init
 */
async function rateLimited(engine, base, defaults, input, init) {
  const request = typeof input === "object" && input !== null && typeof input.url === "string" ? input : undefined;
  const url = request === undefined ? String(input) : request.url;
  if (LOCAL.test(url)) return base(input, init);

  const settings = init?.rateLimit === undefined ? defaults : { ...defaults, ...checked(init.rateLimit) };
  const signal = init?.signal === undefined ? request?.signal : init.signal;
  let body = init?.body ?? request?.body;
  if (settings.bufferBody === true && isOneShot(body)) {
    signal?.throwIfAborted();
    body = new Uint8Array(await (init?.body === undefined ? request : new Response(body)).arrayBuffer());
    init = { ...init, body, duplex: undefined };
  }
  const value = (/** @type {string} */ name) =>
    typeof settings[name] === "function" ? settings[name](url, init) : settings[name];
  const options = {
    method: init?.method ?? request?.method ?? "GET",
    url,
    headers: init?.headers ?? request?.headers,
    scope: value("scope"),
    route: value("route"),
    cost: value("cost"),
    priority: value("priority"),
    deadlineMs: settings.deadlineMs,
    retry: settings.retry,
    replayable: !isOneShot(body),
    nested: isNested(engine),
  };
  const send = () => base(input, init);
  const transport = {
    ...responses,
    // Only a `fetch` that is not Node's own can make calls of ours inside.
    send: base === builtin ? send : () => insideCall(engine, send),
    settleable: options.cost !== undefined,
    ...settings,
  };
  return drive(engine, options, signal, transport);
}

/** How `fetch`'s responses are read, kept and handed over. */
const responses = {
  onExhausted: /** @type {"return" | "raise"} */ ("return"),
  localRefusal: false,
  slotUntil: "headers",
  settleable: false,
  isCached: /** @type {((response: any) => boolean) | undefined} */ (undefined),

  /** @param {import("./drive.cjs").Outcome} outcome */
  read({ value: response, threw }) {
    if (threw) return undefined;
    const { status, headers, redirected, url } = response;
    return {
      status,
      headers,
      url: redirected === true && url ? url : undefined,
      cached: this.isCached?.(response) === true,
    };
  },

  /** @param {import("./drive.cjs").Outcome} outcome @param {number} limit */
  peek: ({ value: response }, limit) => peek(response, limit),

  /** @param {import("./drive.cjs").Outcome} outcome */
  async hold(outcome) {
    return outcome.threw ? outcome : { value: await hold(outcome.value), threw: false };
  },

  /** @param {any} error */
  refuse(error) {
    if (this.localRefusal && error instanceof RateLimitExceeded) return localRefusal(error);
    throw asTypeError(error);
  },

  /** @param {Engine} engine @param {number} call @param {any} response */
  deliver(engine, call, response) {
    const streams = this.slotUntil === "body" && typeof response.body?.getReader === "function";
    if (!streams && !this.settleable) {
      engine.complete(call);
      return response;
    }
    let handed = response;
    if (streams) handed = untilBodyEnds(response, () => engine.finish(call));
    else engine.finish(call);
    engine.forgetWith(call, handed);
    if (this.settleable) settleable.set(handed, { engine, call });
    return handed;
  },
};

/**
 * The calls whose cost may still be settled, by their responses.
 * @type {WeakMap<object, { engine: Engine, call: number }>}
 */
const settleable = new WeakMap();

/**
 * @param {Engine} engine
 * @param {any} response
 * @param {Record<string, number>} cost
 */
function settle(engine, response, cost) {
  const entry = settleable.get(response);
  if (entry === undefined || entry.engine !== engine) {
    throw new UsageError("only a response of this limiter's fetch, called with a cost, can be settled");
  }
  engine.settle(entry.call, cost);
}

/**
 * The response with a body that tells its end, whether read or cancelled.
 * @param {Response} response
 * @param {() => void} end
 */
function untilBodyEnds(response, end) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const body = new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return likeness(response, body);
}

/** A refusal made here, for callers who know none but the server's. @param {any} error */
function localRefusal(error) {
  const { status, marker, retryAfter } = names.localRefusal;
  const headers = new Headers({ [marker]: error.limitName });
  const waitMs = error.availableInMs ?? error.retryAfterMs;
  if (waitMs !== null) headers.set(retryAfter, String(Math.ceil(waitMs / 1000)));
  return new Response(error.message, { status, headers });
}

/** What may be set for one `fetch`, or for all of a wrapper's. */
const SETTINGS = new Set([
  "scope",
  "route",
  "cost",
  "priority",
  "deadlineMs",
  "retry",
  "onExhausted",
  "localRefusal",
  "bufferBody",
  "slotUntil",
  "isCached",
]);

/** @type {Record<string, unknown[]>} */
const CHOICES = { onExhausted: ["return", "raise"], slotUntil: ["headers", "body"] };

/** @param {Record<string, any>} settings */
function checked(settings) {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!SETTINGS.has(name)) {
      throw new ConfigError(`rateLimit.${name}`, `is unknown; known are ${[...SETTINGS].join(", ")}`);
    }
    if (CHOICES[name]?.includes(value) === false) {
      throw new ConfigError(`rateLimit.${name}`, `must be ${CHOICES[name].join(" or ")}, not ${String(value)}`);
    }
  }
  return Object.fromEntries(given);
}

module.exports = { makeFetch, settle };
