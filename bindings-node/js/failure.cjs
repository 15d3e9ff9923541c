"use strict";

/** How a request failed, as Node and its HTTP clients say it. */

const { RateLimitError, ConfigError } = require("./errors.cjs");

/** No connection came about: nothing was processed. */
const CONNECT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** The client's own time limit passed. */
const TIMEOUT = new Set([
  "ETIMEDOUT",
  "ESOCKETTIMEDOUT",
  "ECONNABORTED",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);
/** The connection broke. */
const READ = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "ERR_STREAM_PREMATURE_CLOSE"]);

/** Kinds of errors that tell of a mistake in a program, not of a network. */
const MISTAKES = new Set(["TypeError", "RangeError", "ReferenceError", "SyntaxError", "URIError", "EvalError"]);

/**
 * The kind of failure that the core is told of; `undefined` for what is no
 * failure of a request, so that sending again is pointless.
 * @param {any} error
 * @returns {"connect" | "timeout" | "read" | "other" | undefined}
 */
function failureKind(error) {
  if (error instanceof RateLimitError || error instanceof ConfigError || error?.name === "AbortError") return undefined;
  const origin = coded(error, 0);
  if (origin !== undefined) {
    const { code, syscall } = origin;
    if (CONNECT.has(code) || syscall === "connect") return "connect";
    if (TIMEOUT.has(code)) return "timeout";
    if (READ.has(code)) return "read";
    return code.startsWith("ERR_INVALID_") ? undefined : "other";
  }
  if (error?.name === "TimeoutError") return "timeout";
  // `fetch` tells of a network failure by a TypeError with a cause.
  const mistake = MISTAKES.has(error?.name) && error.cause === undefined && error.message !== "fetch failed";
  return mistake ? undefined : "other";
}

/**
 * The error in the chain of causes that carries a code.
 * @param {any} error
 * @param {number} depth
 * @returns {any}
 */
function coded(error, depth) {
  if (typeof error !== "object" || error === null || depth > 8) return undefined;
  if (typeof error.code === "string") return error;
  return coded(error.cause, depth + 1) ?? coded(error.errors?.[0], depth + 1);
}

module.exports = { failureKind };
