"use strict";

/** What a limiter tells: events to callbacks and channels, lines to the log. */

const { channel } = require("node:diagnostics_channel");
const { debuglog } = require("node:util");

const { native } = require("./native.cjs");
const { names, translate } = require("./names.cjs");

const debug = debuglog("rampmeter");

/** @type {Map<string, import("node:diagnostics_channel").Channel>} */
const channels = new Map(names.events.map((/** @type {string} */ kind) => [kind, channel(`rampmeter:${kind}`)]));
const allChannels = [...channels.values()];

/** Whether anybody listens on one of the channels. */
const watched = () => allChannels.some((one) => one.hasSubscribers);

/** @typedef {(event: Record<string, any>) => void} OnEvent */

/**
 * Hands events to the callback and the channels. What the callback throws
 * harms nothing.
 * @param {Record<string, any>[]} events
 * @param {OnEvent | undefined} onEvent
 */
function tell(events, onEvent) {
  for (const event of events) {
    const one = channels.get(event.kind);
    if (one?.hasSubscribers) one.publish(event);
    if (onEvent === undefined) continue;
    try {
      const result = /** @type {any} */ (onEvent(event));
      if (typeof result?.then === "function") result.then(undefined, callbackFailed);
    } catch (error) {
      callbackFailed(error);
    }
  }
}

function callbackFailed(/** @type {unknown} */ error) {
  debug("the onEvent callback failed: %s", error);
}

/** Says the core's lines: holds to everyone, single waits to those who debug. */
function sayNotices() {
  for (const { warning, message } of JSON.parse(native.takeNotices())) {
    if (warning) process.emitWarning(translate(message), { type: "RateLimitWarning", code: "RAMPMETER_WARNING" });
    else debug("%s", translate(message));
  }
}

module.exports = { watched, tell, sayNotices, debug };
