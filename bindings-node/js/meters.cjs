"use strict";

/** What servers said about their quotas, as users see it. */

const { UsageError } = require("./errors.cjs");

/** @typedef {InstanceType<typeof import("./engine.cjs").Engine>} Engine */

class Meter {
  /** @param {Record<string, any>} fields @param {import("./clock.cjs").Clock} clock */
  constructor(fields, clock) {
    this.scope = fields.scope ?? null;
    this.name = fields.name ?? null;
    this.route = fields.route ?? null;
    this.limit = fields.limit ?? null;
    this.remaining = fields.remaining ?? null;
    this.windowMs = fields.windowMs ?? null;
    this.unit = fields.unit ?? null;
    this.policy = fields.policy ?? null;
    const resetAt = fields.resetAt ?? null;
    this.msUntilReset = () => (resetAt === null ? null : Math.max(0, resetAt - clock.now()));
  }

  /** True only if the server said that nothing is left. */
  get exhausted() {
    return this.remaining !== null && this.remaining <= 0;
  }
}

/** @param {Engine} engine @param {string} scope */
function metersOf(engine, scope) {
  return engine.meters(scope).map((/** @type {Record<string, any>} */ fields) => new Meter({ ...fields, scope }, engine.clock));
}

/** @param {Engine} engine @param {string | undefined} scope all of them if not given */
function meters(engine, scope) {
  const scopes = scope === undefined ? engine.ask("limiterScopes") : [scope];
  return scopes.flatMap((/** @type {string} */ one) => metersOf(engine, one));
}

/** Names are compared without regard to case, `-` and `_`; `default` is an unnamed meter. */
const key = (/** @type {string | null} */ name) => (name ?? "default").toLowerCase().replace(/[-_ ]/g, "");

/**
 * The meters by name, as properties: read when they are asked for. An unknown
 * name gives a meter of which nothing is known.
 * @param {Engine} engine
 * @param {string} [scope] the only one, if not given
 */
function rateLimit(engine, scope) {
  const known = () => {
    if (scope === undefined) {
      const scopes = engine.ask("limiterScopes");
      if (scopes.length > 1) {
        throw new UsageError(
          `${scopes.length} scopes are known, so a meter's name alone is ambiguous: use limiter.scope(urlOrLabel).rateLimit`,
        );
      }
      return meters(engine, undefined);
    }
    return meters(engine, scope);
  };
  const find = (/** @type {string} */ name) => known().find((/** @type {Meter} */ meter) => key(meter.name) === key(name));
  return new Proxy(Object.create(null), {
    get(_, name) {
      // A thenable would be taken for a promise.
      if (typeof name === "symbol" || name === "then" || name === "toJSON") return undefined;
      return find(name) ?? new Meter({ scope, name }, engine.clock);
    },
    has: (_, name) => typeof name === "string" && find(name) !== undefined,
    ownKeys: () => [...new Set(known().map((/** @type {Meter} */ meter) => meter.name ?? "default"))],
    getOwnPropertyDescriptor(_, name) {
      const value = typeof name === "string" ? find(name) : undefined;
      return value === undefined ? undefined : { value, enumerable: true, configurable: true };
    },
  });
}

/** One scope of a limiter. */
class Scope {
  /** @param {Engine} engine @param {string} name */
  constructor(engine, name) {
    this.name = name;
    this.meters = () => meters(engine, name);
    Object.defineProperty(this, "rateLimit", { value: rateLimit(engine, name) });
  }
}

module.exports = { Meter, Scope, meters, rateLimit };
