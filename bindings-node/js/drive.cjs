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
 * What a driver needs to know of a client.
 * @typedef {object} Transport
 * @property {(attempt: number, call: number) => any} send
 * @property {(outcome: Outcome) => Reading | undefined} read `undefined` if there is no response
 * @property {(outcome: Outcome, limit: number) => Promise<Uint8Array | null>} peek
 * @property {(outcome: Outcome) => Promise<Outcome>} hold what is kept of a refused response
 * @property {"return" | "raise"} onExhausted
 * @property {(error: any) => any} refuse throws, or answers in the error's stead
 * @property {(engine: Engine, call: number, value: any) => any} deliver ends the call and hands over the response
 *
 * @typedef {{ status: number, headers: unknown, url?: string, cached?: boolean, body?: Uint8Array | null }} Reading
 */

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
    /** @type {Outcome | undefined} */
    let last;
    for (let attempt = 1; ; attempt += 1) {
      let kind = engine.poll(call);
      while (kind === SLEEP && (kind = engine.park(call)) === SLEEP) await engine.nap(call, signal);
      let error = kind === RAISE ? engine.error(last?.error) : undefined;
      if (kind === SEND) {
        engine.clock.noteRequests?.(1);
        last = await outcomeOf(transport, attempt, call).finally(() => engine.clock.noteRequests?.(-1));
        if (last.threw && signal?.aborted) throw last.error;
        ({ kind, error } = await report(engine, call, transport, last));
      }
      if (kind === SLEEP) {
        last = await transport.hold(last ?? NOTHING);
        signal?.throwIfAborted();
      } else if (kind === DELIVER) {
        over = true;
        return deliver(engine, call, transport, last);
      } else if (kind === RAISE) {
        return refuse(error, transport, last);
      }
    }
  } finally {
    if (!over) engine.abandon(call);
  }
}

/** @type {Outcome} */
const NOTHING = { threw: false };

/** @param {Transport} transport @param {number} attempt @param {number} call @returns {Promise<Outcome>} */
async function outcomeOf(transport, attempt, call) {
  try {
    return { value: await transport.send(attempt, call), threw: false };
  } catch (error) {
    return { error, threw: true };
  }
}

/**
 * Reports what came of a send.
 * @param {Engine} engine
 * @param {number} call
 * @param {Transport} transport
 * @param {Outcome} outcome
 */
async function report(engine, call, transport, outcome) {
  const reading = transport.read(outcome);
  if (reading === undefined) {
    const kind = failureKind(outcome.error);
    if (kind === undefined) throw outcome.error;
    return decided(engine, engine.fail(call, kind), outcome);
  }
  const { status, headers, url, cached } = reading;
  let { body } = reading;
  if (engine.classify !== undefined && body === undefined) {
    // The caller's own rule may want to see the body, so it comes first.
    const limit = engine.wantsBody(call, status, headers);
    body = limit > 0 ? await transport.peek(outcome, limit) : null;
  }
  const kind = engine.respond(call, status, headers, { body, cached, url, mayRead: body === undefined });
  if (kind !== WANTS_BODY) return decided(engine, kind, outcome);
  const bytes = await transport.peek(outcome, engine.amount);
  return decided(engine, engine.respondBody(call, bytes), outcome);
}

/**
 * A decision with its error, which the engine keeps until the next decision
 * only: any other call may ask for one while this one's driver awaits.
 * @param {Engine} engine
 * @param {number} kind
 * @param {Outcome} outcome
 */
const decided = (engine, kind, { error: cause }) => ({ kind, error: kind === RAISE ? engine.error(cause) : undefined });

/** @param {Engine} engine @param {number} call @param {Transport} transport @param {Outcome | undefined} last */
function deliver(engine, call, transport, last = NOTHING) {
  if (!last.threw) return transport.deliver(engine, call, last.value);
  engine.complete(call);
  throw last.error;
}

/** @param {any} error @param {Transport} transport @param {Outcome | undefined} last */
async function refuse(error, transport, last) {
  const refused = error instanceof RateLimitExceeded || error instanceof PermanentlyRefused;
  if (refused && transport.onExhausted === "return" && last !== undefined && transport.read(last) !== undefined) {
    if (last.threw) throw last.error;
    return last.value;
  }
  if (last !== undefined && transport.read(last) !== undefined) {
    const held = await transport.hold(last);
    error.response = held.threw ? responseOf(held.error) : held.value;
  }
  return transport.refuse(error);
}

/** The response that a client's error carries. @param {any} error */
const responseOf = (error) => error?.response ?? error;

/** For what is asked of a call whose time is over. */
const callIsOver = () => new UsageError("the call is over: begin another");

module.exports = { drive, insideCall, isNested, responseOf, callIsOver };
