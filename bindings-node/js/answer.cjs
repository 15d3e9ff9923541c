"use strict";

/** Refusals as a server writes them. */

const { native } = require("./native.cjs");
const { ConfigError } = require("./errors.cjs");
const { camel } = require("./names.cjs");

/** The core's options are in snake case. */
const snake = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * @param {string} kind
 * @param {string} options
 * @param {string} [form]
 * @param {unknown} [id]
 */
function said(kind, options, form, id) {
  const answer = JSON.parse(native.answer(kind, options, form, id === undefined ? undefined : jsonOf("id", id)));
  if (answer.error === undefined) return answer;
  const { option, problem } = answer.error;
  throw new ConfigError(camel(option), problem.replace(/[a-z]+(_[a-z]+)+/g, camel));
}

/** @param {string} name @param {unknown} value */
function jsonOf(name, value) {
  // What is no JSON throws (a BigInt) or gives nothing (a function).
  const json = typeof value === "bigint" ? undefined : JSON.stringify(value);
  if (json === undefined) throw new ConfigError(name, `cannot be a ${typeof value}`);
  return json;
}

class Answer {
  /** @param {string} kind @param {string} options */
  constructor(kind, options) {
    const { class: declared, status, seconds, limit, hint, policies, headers, body } = said(kind, options);
    this.class = declared;
    this.status = status;
    this.seconds = seconds;
    this.limit = limit;
    this.hint = hint;
    this.policies = Object.freeze(policies);
    this.headers = Object.freeze(headers);
    const members = JSON.stringify(body);
    // Bound, and fresh each time: what is laid into a response may be changed.
    this.json = () => JSON.parse(members);
    this.problem = () => said(kind, options, "problem").body;
    this.jsonRpc = (/** @type {unknown} */ id = null) => said(kind, options, "json-rpc", id).body;
    this.render = (/** @type {{ form?: string, id?: unknown }} */ { form, id } = {}) => said(kind, options, form, id).rendered;
    Object.freeze(this);
  }
}

/**
 * @param {string} kind
 * @param {Record<string, unknown>} given
 * @param {Record<string, unknown>} [resolved] in place of what is given
 */
function make(kind, given, resolved = {}) {
  if (typeof given !== "object" || given === null) throw new ConfigError("options", "must be an object");
  const options = Object.entries({ ...given, ...resolved }).filter(([, value]) => value !== undefined);
  const members = options.map(([name, value]) => `${JSON.stringify(snake(name))}:${jsonOf(name, value)}`);
  return new Answer(kind, `{${members.join()}}`);
}

/** Unix seconds of a `Date` or of milliseconds since the epoch. @param {string} name @param {unknown} value */
function secondsOf(name, value) {
  if (value === undefined || value === null) return undefined;
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === "number" && Number.isFinite(ms)) return ms / 1000;
  throw new ConfigError(name, `must be a Date or milliseconds since the epoch, not ${String(value)}`);
}

const Refusal = Object.freeze({
  windowed: (/** @type {any} */ options = {}) =>
    make("windowed", options, {
      until: secondsOf("until", options?.until),
      now: secondsOf("now", options?.now ?? Date.now()),
    }),
  capacity: (/** @type {any} */ options = {}) => make("capacity", options),
  permanent: (/** @type {any} */ options = {}) => make("permanent", options),
});

/**
 * @param {import("node:http").ServerResponse} response
 * @param {Answer} answer
 * @param {{ form?: string, id?: unknown }} [options]
 */
function sendRefusal(response, answer, options) {
  const { status, headers, body } = answer.render(options);
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, /** @type {string} */ (value));
  response.end(body);
}

/**
 * @param {Answer} answer
 * @param {{ form?: string, id?: unknown }} [options]
 */
function refusalResponse(answer, options) {
  const { status, headers, body } = answer.render(options);
  return new Response(body, { status, headers });
}

module.exports = { Answer, Refusal, sendRefusal, refusalResponse };
