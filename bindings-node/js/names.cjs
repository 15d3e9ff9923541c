"use strict";

/**
 * The core's names in JavaScript's spelling: camelCase, and `Ms` behind a
 * duration, which the core counts in seconds.
 */

const { names } = require("./native.cjs");

/**
 * @typedef {object} Option
 * @property {string} name as the core calls it
 * @property {string} jsName
 * @property {boolean} duration
 * @property {string} takes
 * @property {string} doc
 * @property {unknown} default in JavaScript's unit
 * @property {Map<string, Option>} members by the last part of their JavaScript name
 */

const camel = (/** @type {string} */ name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/**
 * Arguments of calls that the core names in errors, beside the options.
 * @type {[string, string][]}
 */
const ARGUMENTS = [["deadline", "deadlineMs"]];

/** @type {Map<string, Option>} */
const byName = new Map();
/** @type {Map<string, Option>} */
const options = new Map();
for (const spec of names.options) {
  const duration = spec.unit === "seconds";
  const option = {
    ...spec,
    jsName: camel(spec.name) + (duration ? "Ms" : ""),
    duration,
    default: duration && spec.default !== null ? spec.default * 1000 : spec.default,
    members: new Map(),
  };
  byName.set(spec.name, option);
  const [parent, member] = option.jsName.split(".");
  if (member === undefined) options.set(parent, option);
  else options.get(parent)?.members.set(member, option);
}

/** @type {Map<string, string>} */
const spelling = new Map(ARGUMENTS);
for (const { name, jsName } of byName.values()) spelling.set(name, jsName);
const spelledOtherwise = new RegExp(
  `\\b(${[...spelling]
    .filter(([name, jsName]) => name !== jsName)
    .map(([name]) => name.replace(".", "\\."))
    .sort((one, other) => other.length - one.length)
    .join("|")})\\b(?!Ms)`,
  "g",
);

/** The JavaScript name of an option or argument. */
const jsName = (/** @type {string} */ name) => spelling.get(name) ?? name;

/** A sentence of the core's with the names as JavaScript spells them. */
const translate = (/** @type {string} */ text) => text.replace(spelledOtherwise, (name) => jsName(name));

module.exports = { names, options, byName, jsName, translate, camel };
