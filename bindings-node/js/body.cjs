"use strict";

/** Bodies: which can be sent again, and what is kept of a refused response. */

/** As much of a refused response is kept while its call waits. */
const KEPT_BYTES = 64 * 1024;

/** A refusal whose body does not arrive is closed: its connection is worth more. */
const PATIENCE_MS = 2000;

/**
 * Whether a request's body is used up by sending it: streams and async
 * iterables. What `fetch` turns into bytes itself can be sent again.
 * @param {any} body
 */
function isOneShot(body) {
  return (
    typeof body === "object" &&
    body !== null &&
    (typeof body.getReader === "function" ||
      typeof body.pipe === "function" ||
      typeof body[Symbol.asyncIterator] === "function")
  );
}

/** @param {any} response */
const hasWebBody = (response) =>
  typeof response?.body?.getReader === "function" && typeof response.clone === "function" && !response.bodyUsed;

/**
 * The first bytes of a response's body, which stays whole for the caller.
 * @param {any} response
 * @param {number} limit
 * @returns {Promise<Uint8Array | null>}
 */
async function peek(response, limit) {
  if (!hasWebBody(response) || response.body.locked) return null;
  const { bytes } = await readUpTo(response.clone().body, limit);
  return bytes;
}

/**
 * What may be handed to the caller later instead of this refused response; its
 * connection is free when this resolves.
 * @param {any} response
 * @returns {Promise<any>}
 */
async function hold(response) {
  if (hasWebBody(response) && !response.body.locked) {
    const copy = response.clone();
    const { bytes, whole } = await readUpTo(response.body, KEPT_BYTES);
    if (whole) return copy;
    copy.body.cancel().catch(ignore);
    return likeness(response, bytes);
  }
  // Streams of Node, as node-fetch has them.
  if (typeof response?.body?.destroy === "function") response.body.destroy();
  return response;
}

/**
 * A response like this one with another body.
 * @param {any} response
 * @param {BodyInit} body
 */
function likeness({ status, statusText, headers, url, redirected, type }, body) {
  return Object.defineProperties(new Response(body, { status, statusText, headers }), {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  });
}

/**
 * Reads a stream up to `limit` bytes and leaves it read or closed.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} limit
 */
async function readUpTo(stream, limit) {
  const reader = stream.getReader();
  let closed = false;
  const close = () => {
    closed = true;
    reader.cancel().catch(ignore);
  };
  const timer = setTimeout(close, PATIENCE_MS);
  const chunks = [];
  let length = 0;
  let whole = false;
  try {
    while (length < limit) {
      const { done, value } = await reader.read();
      if (done) {
        whole = !closed;
        break;
      }
      chunks.push(value);
      length += value.byteLength;
    }
  } catch {
    // A refusal whose body breaks off is a refusal all the same.
  } finally {
    clearTimeout(timer);
  }
  if (!whole) close();
  return { bytes: Buffer.concat(chunks).subarray(0, limit), whole };
}

function ignore() {}

module.exports = { isOneShot, peek, hold, likeness };
