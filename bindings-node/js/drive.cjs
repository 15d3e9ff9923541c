"use strict";

/**
 * One call on its way: waits for its turn, sends, reports, waits again. The
 * engine decides; this carries it out. Nothing is held while it waits: no
 * connection, and no slot.
 */

const { AsyncLocalStorage } = require("node:async_hooks");

const { SEND, SLEEP, DELIVER, RAISE, WANTS_BODY } = require("./engine.cjs");
const { failureKind } = require("./failure.cjs");
const { RateLimitExceeded, PermanentlyRefused, UsageError } = require("./errors.cjs");

/** @typedef {InstanceType<typeof import("./engine.cjs").Engine>} Engine */

/**
 * The limiters inside whose calls this code runs, innermost first.
 * @typedef {{ engine: Engine, outer: Inside | undefined }} Inside
 * @type {AsyncLocalStorage<Inside>}
 */
const inside = new AsyncLocalStorage();

/** Whether this code runs inside a call of that limiter. */
function isNested(/** @type {Engine} */ engine) {
  for (let one = inside.getStore(); one !== undefined; one = one.outer) if (one.engine === engine) return true;
  return false;
}

/**
 * Runs `act` as what is done inside a call of that limiter.
 * @template T
 * @param {Engine} engine
 * @param {() => T} act
 */
const insideCall = (engine, act) => inside.run({ engine, outer: inside.getStore() }, act);

/**
 * What came of one send: what was returned, or what was thrown.
 * @typedef {{ value?: any, error?: any, threw: boolean }} Outcome
 *
 * @typedef {{ status: number, headers: unknown, url?: string, cached?: boolean, body?: Uint8Array | null }} Reading
 *
 * What a driver needs to know of a client.
 * @typedef {object} Transport
 * @property {(attempt: number, call: number) => any} send
 * @property {(outcome: Outcome) => Reading | undefined} read `undefined` if there is no response
 * @property {(outcome: Outcome, limit: number) => Promise<Uint8Array | null>} peek the first bytes of a body
 * @property {(outcome: Outcome) => Promise<Outcome>} hold what is kept of a refused response
 * @property {string} onExhausted `return` hands a refused response over instead of raising
 * @property {(error: any) => any} refuse throws, or answers in the error's stead
 * @property {(engine: Engine, call: number, value: any) => any} deliver ends the call and hands over the response
 */

/** @type {Outcome} */
const NOTHING = { threw: false };

/**
 * @param {Engine} engine
 * @param {import("./engine.cjs").CallOptions} options
 * @param {AbortSignal | null | undefined} signal
 * @param {Transport} transport
 */
async function drive(engine, options, signal, transport) {
  signal?.throwIfAborted();
  const call = engine.begin(options);
  let over = false;
  try {
    let outcome = NOTHING;
    for (let attempt = 1; ; attempt += 1) {
      let kind = engine.poll(call);
      while (kind === SLEEP && (kind = engine.park(call)) === SLEEP) await engine.nap(call, signal);
      if (kind === SEND) {
        // Aborted after it was woken, before it got here.
        signal?.throwIfAborted();
        engine.clock.noteRequests?.(1);
        try {
          outcome = { value: await transport.send(attempt, call), threw: false };
        } catch (error) {
          if (signal?.aborted) throw error;
          outcome = { error, threw: true };
        } finally {
          engine.clock.noteRequests?.(-1);
        }
        kind = report(engine, call, transport, outcome);
        if (kind === WANTS_BODY) kind = await reportBody(engine, call, transport, outcome);
      }
      if (kind === DELIVER) {
        over = true;
        if (!outcome.threw) return transport.deliver(engine, call, outcome.value);
        engine.complete(call);
        throw outcome.error;
      }
      if (kind === RAISE) return await refuse(engine.error(call, outcome.error), transport, outcome);
      outcome = await transport.hold(outcome);
      signal?.throwIfAborted();
    }
  } finally {
    if (!over) engine.abandon(call);
  }
}

/**
 * Reports what came of a send. The answer may be that the body is wanted.
 * @param {Engine} engine
 * @param {number} call
 * @param {Transport} transport
 * @param {Outcome} outcome
 */
function report(engine, call, transport, outcome) {
  const reading = transport.read(outcome);
  if (reading === undefined) {
    const kind = failureKind(outcome.error);
    if (kind === undefined) throw outcome.error;
    return engine.fail(call, kind);
  }
  const { status, headers, body } = reading;
  // The caller's own rule may want to see the body, so it comes first.
  if (engine.classify !== undefined && body === undefined && engine.wantsBody(call, status, headers) > 0) {
    return WANTS_BODY;
  }
  return engine.respond(call, status, headers, reading, body === undefined);
}

/**
 * Reports a response whose body is wanted.
 * @param {Engine} engine
 * @param {number} call
 * @param {Transport} transport
 * @param {Outcome} outcome
 */
async function reportBody(engine, call, transport, outcome) {
  const body = await transport.peek(outcome, engine.amount);
  if (engine.classify === undefined) return engine.respondBody(call, body);
  const reading = /** @type {Reading} */ (transport.read(outcome));
  return engine.respond(call, reading.status, reading.headers, { ...reading, body }, false);
}

/** @param {any} error @param {Transport} transport @param {Outcome} outcome */
async function refuse(error, transport, outcome) {
  const response = !outcome.threw && outcome.value === undefined ? undefined : transport.read(outcome);
  if (response === undefined) return transport.refuse(error);
  const refused = error instanceof RateLimitExceeded || error instanceof PermanentlyRefused;
  if (refused && transport.onExhausted === "return") {
    if (outcome.threw) throw outcome.error;
    return outcome.value;
  }
  const held = await transport.hold(outcome);
  error.response = held.threw ? responseOf(held.error) : held.value;
  return transport.refuse(error);
}

/** The response that a client's error carries. @param {any} error */
const responseOf = (error) => error?.response ?? error;

/** For what is asked of a call whose time is over. */
const callIsOver = () => new UsageError("the call is over: begin another");

module.exports = { drive, insideCall, isNested, responseOf, callIsOver };
