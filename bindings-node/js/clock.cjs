"use strict";

/** Clocks: what time it is, and how to be called later. */

const { ConfigError } = require("./errors.cjs");

/** A longer delay makes `setTimeout` fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * The real clocks. Read through the globals at each use, so that fake timers
 * fake all of it or none.
 */
const systemClock = {
  /** Milliseconds on the monotonic clock. */
  now: () => performance.now(),
  /** Milliseconds since the Unix epoch. */
  wall: () => Date.now(),
  /**
   * Calls `callback` after `ms` at the latest; sooner if they are more than a
   * timer holds. Answers a function that forgets it.
   * @param {() => void} callback
   * @param {number} ms
   */
  schedule(callback, ms) {
    // Rounded up: a timer of 0.4 ms would fire before its time, again and again.
    const timer = setTimeout(callback, Math.min(Math.ceil(ms), LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};

/** Turns of the event loop without any stir, after which everybody counts as waiting. */
const HOPS = 3;

/** The same, in real milliseconds, while a request is under way. */
const PATIENCE_MS = 1000;

// Taken at once, so that fake timers do not stop the clock that replaces them.
const { setImmediate: soon, setTimeout: later, performance: real } = globalThis;

/**
 * A clock that stands still until it is moved. By default it moves itself:
 * when everybody who uses it waits, it jumps to the next instant that somebody
 * waits for.
 */
class ManualClock {
  /** @param {{ startMs?: number, wallMs?: number | null, autoAdvance?: boolean }} [options] */
  constructor({ startMs = 0, wallMs = null, autoAdvance = true } = {}) {
    /** @type {{ at: number, callback: () => void }[]} in the order in which they come due */
    const timers = [];
    let nowMs = finite("startMs", startMs);
    /** How far the wall clock is ahead of the monotonic one. */
    let wallAhead = /** @type {number | null} */ (null);
    let stir = 0;
    let underWay = 0;
    let watching = false;

    this.now = () => nowMs;

    this.wall = () => (wallAhead === null ? null : nowMs + wallAhead);

    this.setWall = (/** @type {number | null} */ wallMs) => {
      wallAhead = wallMs === null ? null : finite("wallMs", wallMs) - nowMs;
    };

    this.advance = (/** @type {number} */ ms) => {
      const target = nowMs + finite("ms", ms);
      stir += 1;
      while (timers.length > 0 && timers[0].at <= target) {
        const { at, callback } = /** @type {typeof timers[0]} */ (timers.shift());
        nowMs = Math.max(nowMs, at);
        callback();
      }
      nowMs = Math.max(nowMs, target);
    };

    this.schedule = (/** @type {() => void} */ callback, /** @type {number} */ ms) => {
      const timer = { at: nowMs + ms, callback };
      const after = timers.findLastIndex(({ at }) => at <= timer.at);
      timers.splice(after + 1, 0, timer);
      stir += 1;
      if (autoAdvance && !watching) void watch();
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
        stir += 1;
      };
    };

    this.sleep = (/** @type {number} */ ms) => {
      // Whoever sleeps inside a request keeps none under way.
      this.noteRequests(-1);
      return /** @type {Promise<void>} */ (new Promise((resolve) => this.schedule(resolve, finite("ms", ms)))).finally(
        () => this.noteRequests(1),
      );
    };

    this.noteRequests = (/** @type {number} */ change) => {
      underWay += change;
      stir += 1;
    };

    /** Jumps from timer to timer, each time that nothing stirs any more. */
    const watch = async () => {
      watching = true;
      while (timers.length > 0) if (await quiet()) this.advance(Math.max(0, timers[0].at - nowMs));
      watching = false;
    };

    const quiet = async () => {
      const before = stir;
      for (let hop = 0; hop < HOPS; hop += 1) await new Promise((resolve) => soon(resolve));
      for (const began = real.now(); underWay > 0 && stir === before && real.now() - began < PATIENCE_MS; ) {
        await new Promise((resolve) => later(resolve, 1));
      }
      return stir === before && timers.length > 0;
    };

    this.setWall(wallMs);
  }
}

/** @param {string} name @param {unknown} value */
function finite(name, value) {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new ConfigError(name, `must be a number of milliseconds from 0, not ${String(value)}`);
}

/** @typedef {import("../types/index.cjs").Clock} Clock */

/** @param {any} clock @returns {Clock} */
function checkClock(clock) {
  if (typeof clock?.now === "function" && typeof clock.schedule === "function") return clock;
  throw new ConfigError("clock", "must have the methods now and schedule, as ManualClock has");
}

module.exports = { systemClock, ManualClock, checkClock };
