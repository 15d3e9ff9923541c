"use strict";

/**
 * One listener for all who wait on a signal: hundreds of calls may share one,
 * and Node takes more than ten listeners for a leak.
 *
 * @type {WeakMap<AbortSignal, { callbacks: Set<() => void>, listener: () => void }>}
 */
const heard = new WeakMap();

/**
 * Calls back when the signal is aborted: soon, but not before this returns, if
 * it is already.
 * @param {AbortSignal | null | undefined} signal
 * @param {() => void} callback
 * @returns {() => unknown} forgets it; the listener goes with the last callback
 */
function onAbort(signal, callback) {
  if (signal === undefined || signal === null) return nothing;
  if (signal.aborted) {
    let wanted = true;
    queueMicrotask(() => wanted && callback());
    return () => (wanted = false);
  }
  let entry = heard.get(signal);
  if (entry === undefined) {
    const callbacks = new Set();
    entry = { callbacks, listener: () => [...callbacks].forEach((one) => one()) };
    heard.set(signal, entry);
    signal.addEventListener("abort", entry.listener);
  }
  const { callbacks, listener } = entry;
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    heard.delete(signal);
    signal.removeEventListener("abort", listener);
  };
}

function nothing() {}

module.exports = { onAbort };
