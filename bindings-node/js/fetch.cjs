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
 * @param {Settings} defaults
 * @param {any} input
 * @param {any} init
 * @returns {Promise<any>}
 */
function rateLimited(engine, base, defaults, input, init) {
  const request = typeof input === "object" && input !== null && typeof input.url === "string" ? input : undefined;
  const url = request === undefined ? String(input) : request.url;
  if (LOCAL.test(url)) return base(input, init);
  try {
    const settings = init?.rateLimit === undefined ? defaults : { ...defaults, ...checked(init.rateLimit) };
    const sent = { input, init, request, url, body: init?.body ?? request?.body };
    if (settings.bufferBody === true && isOneShot(sent.body)) {
      return buffered(sent).then((whole) => limited(engine, base, settings, whole));
    }
    return limited(engine, base, settings, sent);
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * A request as it is sent.
 * @typedef {{ input: any, init: any, request: any, url: string, body: any }} Sent
 */

/** The same with its body read into memory. @param {Sent} sent @returns {Promise<Sent>} */
async function buffered(sent) {
  const { init, request, body } = sent;
  signalOf(sent)?.throwIfAborted();
  const source = init?.body === undefined ? request : new Response(body);
  const bytes = new Uint8Array(await source.arrayBuffer());
  return { ...sent, body: bytes, init: { ...init, body: bytes, duplex: undefined } };
}

/** @param {Sent} sent */
const signalOf = ({ init, request }) => (init?.signal === undefined ? request?.signal : init.signal);

/**
 * @param {Engine} engine
 * @param {Function} base
 * @param {Settings} settings
 * @param {Sent} sent
 */
function limited(engine, base, settings, sent) {
  const { init, request, url } = sent;
  const value = (/** @type {any} */ setting) => (typeof setting === "function" ? setting(url, init) : setting);
  const options = {
    method: init?.method ?? request?.method ?? "GET",
    url,
    headers: init?.headers ?? request?.headers,
    scope: value(settings.scope),
    route: value(settings.route),
    cost: value(settings.cost),
    priority: value(settings.priority),
    deadlineMs: settings.deadlineMs,
    retry: settings.retry,
    replayable: !isOneShot(sent.body),
    nested: isNested(engine),
  };
  const settles = options.cost !== undefined && options.cost !== null;
  return drive(engine, options, signalOf(sent), new FetchTransport(engine, base, settings, sent, settles));
}

/** How a `fetch` is sent, and its responses read, kept and handed over. */
class FetchTransport {
  /**
   * @param {Engine} engine
   * @param {Function} base
   * @param {Settings} settings
   * @param {Sent} sent
   * @param {boolean} settles whether the cost may be settled by the response
   */
  constructor(engine, base, settings, sent, settles) {
    this.engine = engine;
    this.base = base;
    this.settings = settings;
    this.sent = sent;
    this.settles = settles;
    this.onExhausted = settings.onExhausted ?? "return";
  }

  send() {
    const { base } = this;
    const { input, init } = this.sent;
    // Only a `fetch` that is not Node's own can make calls of ours inside.
    return base === builtin ? base(input, init) : insideCall(this.engine, () => base(input, init));
  }

  /** @param {import("./drive.cjs").Outcome} outcome */
  read({ value: response, threw }) {
    if (threw) return undefined;
    const { status, headers, redirected, url } = response;
    const { isCached } = this.settings;
    return {
      status,
      headers,
      url: redirected === true && url ? url : undefined,
      cached: isCached !== undefined && isCached(response) === true,
    };
  }

  /** @param {import("./drive.cjs").Outcome} outcome @param {number} limit */
  peek({ value: response }, limit) {
    return peek(response, limit);
  }

  /** @param {import("./drive.cjs").Outcome} outcome */
  async hold(outcome) {
    return outcome.threw ? outcome : { value: await hold(outcome.value), threw: false };
  }

  /** @param {any} error */
  refuse(error) {
    if (this.settings.localRefusal && error instanceof RateLimitExceeded) return localRefusal(error);
    throw asTypeError(error);
  }

  /** @param {Engine} engine @param {number} call @param {any} response */
  deliver(engine, call, response) {
    const streams = this.settings.slotUntil === "body" && typeof response.body?.getReader === "function";
    if (!streams && !this.settles) {
      engine.complete(call);
      return response;
    }
    let handed = response;
    if (streams) handed = untilBodyEnds(response, () => engine.finish(call));
    else engine.finish(call);
    engine.forgetWith(call, handed);
    if (this.settles) settleable.set(handed, { engine, call });
    return handed;
  }
}

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

/** @typedef {Record<string, any>} Settings */

/** @param {Record<string, any>} settings @returns {Settings} */
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
