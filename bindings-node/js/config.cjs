"use strict";

/** Options: JavaScript's names and units in, the core's out, and back. */

const { inspect } = require("node:util");

const { native } = require("./native.cjs");
const { options: known, byName, camel } = require("./names.cjs");
const { ConfigError, fromCore } = require("./errors.cjs");

/** Where a config keeps what it was made from. */
const SOURCE = Symbol("rampmeter.config");

/** @typedef {import("./names.cjs").Option} Option */

/**
 * The options as the core takes them.
 * @param {Record<string, unknown>} given
 * @returns {Record<string, unknown>}
 */
function toCore(given) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new ConfigError("options", `must be an object of options, not ${inspect(given)}`);
  }
  return members(given, known, "");
}

/** @param {object} given @param {Map<string, Option>} specs @param {string} prefix */
function members(given, specs, prefix) {
  /** @type {Record<string, unknown>} */
  const result = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const spec = specs.get(name);
    if (spec === undefined) throw unknown(prefix + name, name, specs);
    const coreName = /** @type {string} */ (spec.name.split(".").pop());
    result[coreName] =
      spec.members.size > 0 && isMapping(value)
        ? members(value, spec.members, `${spec.jsName}.`)
        : one(value, spec);
  }
  return result;
}

/** @param {unknown} value @param {Option} spec */
function one(value, spec) {
  const plain = toJson(value, spec);
  return spec.duration && typeof plain === "number" ? plain / 1000 : plain;
}

/**
 * The value as JSON holds it. What JSON would quietly turn into `null` or
 * leave out is an error; `Infinity` means the same as `null`: no limit.
 * @param {unknown} value
 * @param {Option} spec
 * @returns {unknown}
 */
function toJson(value, spec) {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (value === Infinity) return null;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => toJson(item, spec));
  if (isMapping(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toJson(item, spec)]));
  }
  throw mistake(spec, value);
}

/** @param {unknown} value @returns {value is object} */
function isMapping(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @param {Option} spec @param {unknown} value */
function mistake(spec, value) {
  const unit = spec.duration ? " (milliseconds)" : "";
  return new ConfigError(spec.jsName, `must be ${spec.takes}${unit}, not ${inspect(value)}`);
}

/** @param {string} path @param {string} name @param {Map<string, Option>} specs */
function unknown(path, name, specs) {
  const loose = (/** @type {string} */ text) => text.replace(/(_ms|Ms)$/, "").replaceAll("_", "").toLowerCase();
  const meant = [...specs].find(([knownName]) => loose(knownName) === loose(name));
  if (meant !== undefined) {
    const [meantName, { duration }] = meant;
    return new ConfigError(path, `is unknown; write ${meantName}${duration ? ", in milliseconds" : ""}`);
  }
  return new ConfigError(path, `is unknown; known are ${[...specs.keys()].join(", ")}`);
}

/** An error of the core's about one of these options, with the value as it was given. */
function explain(/** @type {Record<string, any>} */ error, /** @type {any} */ given) {
  const spec = byName.get(error.option);
  if (spec === undefined || !error.problem.startsWith(`must be ${spec.takes}`)) return fromCore(error);
  const value = spec.jsName.split(".").reduce((object, name) => object?.[name], given);
  return value === undefined ? fromCore(error) : mistake(spec, value);
}

/** @param {Record<string, any>} values under the core's names */
function fromCoreValues(values) {
  /** @type {Record<string, unknown>} */
  const result = {};
  for (const [name, spec] of known) result[name] = shown(values[spec.name], spec);
  return result;
}

/** @param {any} value @param {Option} spec @returns {unknown} */
function shown(value, spec) {
  if (spec.duration) return value === null ? null : value * 1000;
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const member = byName.get(`${spec.name}.${name}`);
      return member === undefined
        ? [camel(name), item]
        : [/** @type {string} */ (member.jsName.split(".").pop()), shown(item, member)];
    }),
  );
}

class Config {
  /** @param {Record<string, unknown>} [options] */
  constructor(options = {}) {
    fill(this, "default", options);
  }

  /** @param {Record<string, unknown>} [options] */
  static web(options) {
    return preset("web", options);
  }

  /** @param {Record<string, unknown>} [options] */
  static background(options) {
    return preset("background", options);
  }
}

/** @param {string} name @param {Record<string, unknown>} [options] */
function preset(name, options = {}) {
  const config = Object.create(Config.prototype);
  fill(config, name, options);
  return config;
}

/**
 * @param {Config} config
 * @param {string} preset
 * @param {Record<string, any>} given
 */
function fill(config, preset, given) {
  const source = { preset, given, options: JSON.stringify(toCore(given)) };
  const answer = JSON.parse(native.configCheck(preset, source.options));
  if (answer.error !== undefined) throw explain(answer.error, given);
  Object.assign(config, fromCoreValues(answer.options));
  Object.defineProperty(config, SOURCE, { value: source });
  Object.freeze(config);
}

/**
 * The config with further options laid over it.
 * @param {Config} config
 * @param {Record<string, unknown>} options
 */
function extend(config, options) {
  const { preset: name, given } = /** @type {any} */ (config)[SOURCE];
  return Object.keys(options).length === 0 ? config : preset(name, { ...given, ...options });
}

/** What the addon needs to make a limiter of it. */
const sourceOf = (/** @type {any} */ config) => config[SOURCE];

/** The options that the user gave, as he wrote them. */
const given = (/** @type {any} */ config) => config[SOURCE].given;

module.exports = { Config, extend, sourceOf, given };
