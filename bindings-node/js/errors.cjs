"use strict";

/** The error family: the core's kinds as real classes. */

const { jsName, translate } = require("./names.cjs");

/**
 * Marks our errors with the names of their classes, so that `instanceof`
 * holds for an error that is a `TypeError` too, and for one of another copy of
 * this package.
 */
const KINDS = Symbol.for("rampmeter.error");

const codeOf = (/** @type {string} */ name) => `RAMPMETER_${name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()}`;

/** @param {Function} Class @param {string} name */
function isKind(Class, name) {
  return (/** @type {any} */ value) =>
    Function.prototype[Symbol.hasInstance].call(Class, value) || value?.[KINDS]?.includes?.(name) === true;
}

/** Gives a class its name, and `instanceof` the marks to go by. */
function family(/** @type {any} */ Class, /** @type {string[]} */ ...ancestors) {
  const { name } = Class;
  Object.defineProperties(Class.prototype, {
    name: { value: name, configurable: true, writable: true },
    [KINDS]: { value: Object.freeze([name, ...ancestors]) },
  });
  const holds = isKind(Class, name);
  Object.defineProperty(Class, Symbol.hasInstance, {
    // A subclass of the user's own goes by its prototype alone.
    value(/** @type {unknown} */ value) {
      return this === Class ? holds(value) : Function.prototype[Symbol.hasInstance].call(this, value);
    },
  });
  return Class;
}

/** Every field is on every error: `null` where nothing is known. */
const NOTHING_KNOWN = {
  retryAfterMs: null,
  limitName: null,
  limitValueMs: null,
  availableInMs: null,
  scope: null,
  meter: null,
  status: null,
  limit: null,
  hint: null,
  attempts: null,
};

class RateLimitError extends Error {
  /**
   * @param {string} message
   * @param {Partial<Record<keyof typeof NOTHING_KNOWN, unknown>>} [fields]
   * @param {ErrorOptions} [options]
   */
  constructor(message, fields, options) {
    super(message, options);
    this.code = codeOf(this.name);
    Object.assign(this, NOTHING_KNOWN, fields);
    // Not shown with the error: it may be large, and own a connection.
    Object.defineProperty(this, "response", { value: null, writable: true, configurable: true });
  }
}
family(RateLimitError);

class RateLimitExceeded extends RateLimitError {}
class PermanentlyRefused extends RateLimitError {}
class LimiterClosed extends RateLimitError {}
class UsageError extends RateLimitError {}
for (const Class of [RateLimitExceeded, PermanentlyRefused, LimiterClosed, UsageError]) {
  family(Class, RateLimitError.name);
}

class ConfigError extends TypeError {
  /** @param {string} option @param {string} problem */
  constructor(option, problem) {
    super(`option ${option} ${problem}`);
    this.code = codeOf(this.name);
    this.option = option;
    this.problem = problem;
  }
}
family(ConfigError);

const classes = { RateLimitExceeded, PermanentlyRefused, LimiterClosed, UsageError, ConfigError };

/**
 * The error that the core describes.
 * @param {Record<string, any>} fields
 * @param {unknown} [cause] the client's own error behind it
 * @returns {any}
 */
function fromCore({ name, message, option, problem, ...fields }, cause) {
  if (name === ConfigError.name) return new ConfigError(jsName(option), translate(problem));
  if (typeof fields.limitName === "string") fields.limitName = jsName(fields.limitName);
  const Class = /** @type {any} */ (classes)[name] ?? RateLimitError;
  return new Class(translate(message), fields, cause === undefined ? undefined : { cause });
}

/** @type {Map<object, object>} */
const twins = new Map();

/**
 * Makes the error a `TypeError` as well, the kind with which `fetch` rejects;
 * `instanceof` holds for both.
 * @template {Error} E
 * @param {E} error
 * @returns {E & TypeError}
 */
function asTypeError(error) {
  const prototype = Object.getPrototypeOf(error);
  let twin = twins.get(prototype);
  if (twin === undefined) {
    const { constructor, name, [KINDS]: kinds } = prototype;
    twin = Object.create(TypeError.prototype, {
      constructor: { value: constructor },
      name: { value: name },
      [KINDS]: { value: kinds },
    });
    twins.set(prototype, /** @type {object} */ (twin));
  }
  return Object.setPrototypeOf(error, /** @type {object} */ (twin));
}

module.exports = { RateLimitError, ...classes, fromCore, asTypeError };
