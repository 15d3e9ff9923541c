"use strict";

/**
 * Lays texts before the addon: one string of bytes, the pieces' lengths on the
 * desk. Of the header fields only those that the core may read are passed; it
 * says which, once for each name.
 */

const { desk } = require("./native.cjs");

const NOT_ASCII = /[^\0-\x7f]/;
const NOT_BYTES = /[^\0-\xff]/;

/** As many names are remembered as servers use honestly. */
const REMEMBERED_NAMES = 1024;

let text = "";
let place = 0;

/** Begins a text whose pieces' lengths lie from `at` on. */
function start(/** @type {number} */ at) {
  text = "";
  place = at;
}

/** Adds a piece that the addon reads as UTF-8. */
function addText(/** @type {string} */ piece) {
  add(NOT_ASCII.test(piece) ? Buffer.from(piece, "utf8").toString("latin1") : piece);
}

/**
 * Adds a piece that stands for bytes, as HTTP clients give header values: each
 * character one byte. One that cannot be is written as UTF-8.
 */
function addBytes(/** @type {string} */ piece) {
  add(NOT_BYTES.test(piece) ? Buffer.from(piece, "utf8").toString("latin1") : piece);
}

function add(/** @type {string} */ piece) {
  desk[place] = piece.length;
  place += 1;
  text += piece;
}

const finished = () => text;

/**
 * Adds header fields, however the client holds them: `Headers`, a mapping, an
 * iterable of pairs, or a flat list of names and values by turns.
 * @param {any} headers
 * @param {(name: string) => boolean} matters
 * @returns {number} how many pieces were added
 */
function addHeaders(headers, matters) {
  const first = place;
  const field = (/** @type {any} */ name, /** @type {any} */ value) => {
    if (Array.isArray(value)) {
      for (const line of value) field(name, line);
      return;
    }
    const nameText = asText(name);
    const valueText = asText(value);
    if (nameText === undefined || valueText === undefined || place + 2 > desk.length || !matters(nameText)) return;
    addBytes(nameText);
    addBytes(valueText);
  };
  visit(headers, field);
  return place - first;
}

/** @param {any} headers @param {(name: any, value: any) => void} field */
function visit(headers, field) {
  if (headers === null || typeof headers !== "object") return;
  if (Array.isArray(headers)) {
    if (Array.isArray(headers[0])) {
      for (const pair of headers) field(pair?.[0], pair?.[1]);
    } else {
      for (let index = 0; index + 1 < headers.length; index += 2) field(headers[index], headers[index + 1]);
    }
  } else if (typeof headers.get === "function" && typeof headers.forEach === "function") {
    headers.forEach((/** @type {any} */ value, /** @type {any} */ name) => field(name, value));
  } else if (typeof headers[Symbol.iterator] === "function") {
    for (const pair of headers) field(pair?.[0], pair?.[1]);
  } else {
    for (const name of Object.keys(headers)) field(name, headers[name]);
  }
}

/** @param {any} value @returns {string | undefined} */
function asText(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1");
  return undefined;
}

/**
 * Remembers which header names the core may read.
 * @param {(name: string) => boolean} ask
 */
function nameFilter(ask) {
  /** @type {Map<string, boolean>} */
  const known = new Map();
  return (/** @type {string} */ name) => {
    let matters = known.get(name);
    if (matters === undefined) {
      if (known.size >= REMEMBERED_NAMES) known.clear();
      matters = ask(name);
      known.set(name, matters);
    }
    return matters;
  };
}

const everyName = () => true;

/** A body as bytes: text is written as UTF-8. @param {unknown} body @returns {Uint8Array | null} */
function bodyBytes(body) {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return body instanceof ArrayBuffer ? new Uint8Array(body) : null;
}

module.exports = { start, addText, addBytes, addHeaders, finished, nameFilter, everyName, bodyBytes };
