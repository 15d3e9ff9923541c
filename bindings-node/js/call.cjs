"use strict";

/** A call without I/O: the user's own loop sends, sleeps and reports. */

const { names } = require("./names.cjs");
const { SLEEP, RAISE } = require("./engine.cjs");
const { bodyBytes } = require("./text.cjs");
const { callIsOver } = require("./drive.cjs");

/** @typedef {InstanceType<typeof import("./engine.cjs").Engine>} Engine */

const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");

class Call {
  /**
   * The methods belong to the object, so that a detached one, or one that is
   * called through a Proxy, works.
   * @param {Engine} engine
   * @param {number} handle
   */
  constructor(engine, handle) {
    let over = false;
    const asked = () => {
      if (over) throw callIsOver();
      return handle;
    };
    this.id = handle;

    const decision = (/** @type {number} */ kind) => ({
      kind: names.decisions[kind],
      delayMs: kind === SLEEP ? engine.amount : null,
      reason: names.reasons[engine.reason],
      error: kind === RAISE ? engine.error(handle) : null,
    });

    this.poll = () => decision(engine.poll(asked()));

    this.wantsBody = (/** @type {number} */ status, /** @type {unknown} */ headers) =>
      engine.wantsBody(asked(), status, headers);

    this.onResponse = (
      /** @type {number} */ status,
      /** @type {unknown} */ headers,
      /** @type {unknown} */ body = null,
      /** @type {{ cached?: boolean, url?: string | URL }} */ { cached, url } = {},
    ) =>
      decision(
        engine.respond(
          asked(),
          status,
          headers,
          { body: bodyBytes(body), cached, url: url === undefined ? undefined : String(url) },
          false,
        ),
      );

    this.onFailure = (/** @type {string} */ kind = "other") => decision(engine.fail(asked(), kind));

    this.settle = (/** @type {Record<string, number>} */ cost) => engine.settle(asked(), cost);

    this.finish = () => {
      if (!over) engine.finish(handle);
    };

    this.cancel = () => {
      if (!over) engine.cancel(handle);
    };

    const end = () => {
      if (over) return;
      over = true;
      engine.abandon(handle);
    };
    Object.defineProperty(this, dispose, { value: end });

    this.attempts = () => (over ? 0 : engine.attempts(handle));

    engine.forgetWith(handle, this);
  }
}

module.exports = { Call, dispose };
