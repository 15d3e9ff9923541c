/**
 * Holds every call of a client when the server says stop, and releases them so
 * that the limit is not tripped again.
 *
 * Durations are milliseconds, in names that end with `Ms`. `null` means that
 * the server did not say, or, for an option, no limit; zero means zero.
 *
 * @example
 * import { Limiter } from "rampmeter";
 *
 * const limiter = new Limiter();
 * const response = await limiter.fetch("https://api.example.com/v1/items");
 */

// ------------------------------------------------------------------ options

/** Strategies of growing waits, where the server gave none. */
export type BackoffKind = "full" | "equal" | "decorrelated";

/**
 * A dialect of the caller's own: what its headers and body members mean, and
 * which responses are refusals. It is data that all languages share, so times
 * in it are seconds.
 */
export interface Dialect {
  name: string;
  /** By header: a figure such as `"remaining"`, or what it is in detail. */
  headers?: Record<string, string | object>;
  /** By path in a JSON body, such as `"error.cooldown"`. */
  body?: Record<string, string | object>;
  /** Statuses that are refusals, or rules about the body. */
  refusals?: (number | object)[];
}

/**
 * The options of a limiter. A duration may be `null` or `Infinity`: no limit.
 * A wrong or unknown one is a {@link ConfigError} that names it.
 */
export interface Options {
  /** `false`: everything is sent, nothing is retried. Default `true`. */
  enabled?: boolean;
  /** Sends of one call that may end in a refusal, the first included; waiting for one's turn costs nothing. From 1. */
  maxAttempts?: number | null;
  /** Extra sends after a 500, 502, 503 or 504 without `Retry-After` or a network failure; idempotent methods only, failures to connect excepted. */
  maxTransientRetries?: number | null;
  /** Allow those extra sends for every method. */
  retryNonIdempotent?: boolean;
  /** The longest single wait that a server may ask of a call; beyond it the call raises and the next one is sent. */
  maxRetryAfterMs?: number | null;
  /** What happens when a server asks for more: raise, or wait no longer than that. */
  beyondMax?: "raise" | "clamp";
  /** The sum of the waits that one call's own refusals and failures cost; follows `maxRetryAfterMs` unless set. */
  maxTotalSleepMs?: number | null;
  /** The longest wait for one's turn, behind a hold, a meter, the pacer or other calls. */
  maxQueueWaitMs?: number | null;
  /** The longest episode of refusals; at least twice `maxRetryAfterMs`, if both are given. */
  maxRateLimitDurationMs?: number | null;
  /** Obey a server's explicit wait. */
  respectRetryAfter?: boolean;
  /** Hold calls while a meter says that nothing is left. */
  respectRemaining?: boolean;
  /** The order in which a refusal's wait is looked for; what is not in the list is not read. */
  headerPriority?: WaitSource[];
  /** The waits where the server gave none. */
  backoff?: { kind?: BackoffKind; baseMs?: number; capMs?: number };
  /** What is retried beside recognised refusals. */
  retryStatuses?: number[];
  /** Local pacing: tokens per second and the most at once, or a share of the policy that the server states. */
  pace?: { rate: number; burst?: number } | { auto: number } | "auto" | null;
  /** Sends in flight to a scope of which nothing is known yet, from 1. */
  firstFlight?: number;
  /** How many clients like this one share the quota; learned unless set. */
  processes?: number | null;
  /** Which vendors' headers and bodies are read: all, or a list of names and own definitions. */
  dialects?: "all" | readonly (string | Dialect)[];
  /**
   * What happens when retries are used up: an error, or the last refusal as an
   * ordinary response. Unless set, `fetch` returns and `run` raises.
   */
  onExhausted?: "raise" | "return";
  /** Further request headers that tell one account from another. */
  credentialHeaders?: string[];
  /** Fixed: the same inputs give the same decisions. From 0; from the system unless set. */
  seed?: number | null;
}

/** What a limiter takes beside the options of its engine. */
export interface LimiterOptions extends Options {
  /** Called with each event, after the engine's step; what it throws harms nothing. */
  onEvent?: (event: Event) => unknown;
  /** Replaces the system's clocks, for tests. */
  clock?: Clock;
  /**
   * The caller's own rule about responses, asked before ours. `body` is there
   * if it is worth reading: that of a refusal, mostly.
   */
  classify?: (status: number, headers: HeadersLike, body: Uint8Array | null) => Verdict | null | undefined;
}

/** What a caller's own rule says of a response. */
export interface Verdict {
  /** What it refuses; `null`: it is no refusal. */
  class: RefusalClass | null;
  /** The wait that it asks, if any. */
  waitMs?: number | null;
}

/** Options that hold together, checked and frozen; all values can be read. */
export class Config implements Readonly<Required<Options>> {
  /** @throws {ConfigError} that names the option */
  constructor(options?: Options);
  /** For request handlers: short waits, then an error that a handler can turn into its own refusal. */
  static web(options?: Options): Config;
  /** For queues and batch senders: patient. */
  static background(options?: Options): Config;

  readonly enabled: boolean;
  readonly maxAttempts: number | null;
  readonly maxTransientRetries: number | null;
  readonly retryNonIdempotent: boolean;
  readonly maxRetryAfterMs: number | null;
  readonly beyondMax: "raise" | "clamp";
  readonly maxTotalSleepMs: number | null;
  readonly maxQueueWaitMs: number | null;
  readonly maxRateLimitDurationMs: number | null;
  readonly respectRetryAfter: boolean;
  readonly respectRemaining: boolean;
  readonly headerPriority: WaitSource[];
  readonly backoff: { kind: BackoffKind; baseMs: number; capMs: number };
  readonly retryStatuses: number[];
  readonly pace: { rate: number; burst: number } | { auto: number } | null;
  readonly firstFlight: number;
  readonly processes: number | null;
  readonly dialects: "all" | readonly (string | Dialect)[];
  readonly onExhausted: "raise" | "return";
  readonly credentialHeaders: string[];
  readonly seed: number | null;
}

// ------------------------------------------------------------------ limiter

/**
 * All that one client knows: its options and its scopes. Share one between all
 * callers of an API. Its methods are bound: they work detached and behind a
 * `Proxy`.
 */
export class Limiter {
  /** @throws {ConfigError} that names the option */
  constructor(config?: Config | LimiterOptions, options?: LimiterOptions);

  /** Its options. */
  readonly config: Config;
  /** True once it was closed. */
  readonly closed: boolean;

  /**
   * A drop-in `fetch` that waits for its turn and repeats what was refused.
   *
   * An exhausted or permanent refusal is returned as the response that it is.
   * What has no response (a wait that does not fit, a closed limiter) rejects
   * with an error of this package that is a `TypeError` too. The signal is
   * honoured in every wait.
   *
   * A body that is a stream, or that of a `Request`, can be sent once: after a
   * refusal the response is returned instead of a repetition. Its slot in
   * flight is free when the headers are there; see
   * {@link FetchSettings.slotUntil}.
   */
  readonly fetch: RateLimitedFetch;

  /**
   * The same around another `fetch`.
   * @throws {ConfigError} for a wrong setting
   */
  readonly wrapFetch: <F extends FetchLike>(fetch: F, settings?: FetchSettings) => RateLimitedFetch;

  /**
   * Calls `fn` when it may go, as often as the limits allow and need, and
   * resolves to what it returned, or rejects with what it threw, once that is
   * no rate-limit matter.
   *
   * @throws {RateLimitExceeded} where waiting or retrying ends
   * @throws {PermanentlyRefused} if the server refused for good
   * @throws {LimiterClosed} once the limiter is closed
   */
  readonly run: <T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions) => Promise<T>;

  /**
   * Begins a call without I/O: the caller sends, sleeps and reports.
   * @throws {ConfigError} for an argument that cannot be
   */
  readonly begin: (request: CallRequest) => Call;

  /** What servers said about their quotas: of one scope, or of all. */
  readonly meters: (urlOrLabel?: string | URL) => Meter[];

  /**
   * The meters by name while one scope is known:
   * `limiter.rateLimit.rest.remaining`; `default` is an unnamed one. A name
   * that no server mentioned gives a meter of which nothing is known.
   * @throws {UsageError} on use, if several scopes are known
   */
  readonly rateLimit: RateLimits;

  /** One scope: that of a URL, or of that label. */
  readonly scope: (urlOrLabel: string | URL) => Scope;

  /** The scopes that are known, as they may be shown. */
  readonly scopes: () => string[];

  /** Counters so far. */
  readonly stats: () => Stats;

  /**
   * Replaces the cost of a call by the real amounts, once known, by the
   * response of a `fetch` that was given a cost.
   * @throws {UsageError} for any other response
   */
  readonly settle: (response: Response, cost: Cost) => void;

  /** Collects events for {@link takeEvents}, or stops to. */
  readonly listen: (listening?: boolean) => void;

  /**
   * The events since the last time, oldest first. With `onEvent`, or
   * subscribers to a channel, they have been told those already.
   */
  readonly takeEvents: () => Event[];

  /** The {@link Call.id} of calls begun with {@link begin} that should poll again before their sleep ends. */
  readonly takeWakes: () => number[];

  /** Ends it: waiting calls raise {@link LimiterClosed} at once, later ones at their first poll. */
  readonly close: () => void;

  [Symbol.dispose](): void;
}

/** One scope of a limiter: who is limited. */
export interface Scope {
  readonly name: string;
  /** Its meters by name, as {@link Limiter.rateLimit}. */
  readonly rateLimit: RateLimits;
  readonly meters: () => Meter[];
}

/** Meters by name. Case does not count, nor `-` and `_`. */
export interface RateLimits {
  readonly [name: string]: Meter;
}

/** What the server last said about one quota, as of the asking. */
export class Meter {
  private constructor();
  /** The scope, as it may be shown. */
  readonly scope: string | null;
  /** The quota's name; `null` for an unnamed one. */
  readonly name: string | null;
  /** The route that it was learned for, where several unnamed ones differ. */
  readonly route: string | null;
  /** How much the quota allows in one window. */
  readonly limit: number | null;
  /** How much is left, by the server's own word. */
  readonly remaining: number | null;
  readonly windowMs: number | null;
  /** What is counted. */
  readonly unit: string | null;
  /** The policy's name, where it is another than the quota's. */
  readonly policy: string | null;
  /** True only if the server said that nothing is left. */
  readonly exhausted: boolean;
  /** How long until more is available, computed at the asking; 0 once it has passed. */
  readonly msUntilReset: () => number | null;
}

/** Amounts by unit, such as `{ requests: 1, tokens: 1200 }`. */
export type Cost = Record<string, number>;

/** Header fields as HTTP clients hold them. */
export type HeadersLike =
  | { get(name: string): string | null | undefined; forEach(visit: (value: string, name: string) => void): void }
  | Iterable<readonly [string, string]>
  | Record<string, string | number | readonly string[] | undefined>
  | readonly (string | Uint8Array)[]
  | null
  | undefined;

/** What may be said of one call. */
export interface CallOptions {
  /** Who is limited, instead of origin and credential. */
  scope?: string | null;
  /** What the server meters alike, instead of method and path. */
  route?: string | null;
  /** What it costs; `{ requests: 1 }` by default. */
  cost?: Cost | null;
  /** Larger goes first; 0 by default. A whole number. */
  priority?: number | null;
  /** From now; a wait that does not fit is not begun. */
  deadlineMs?: number | null;
  /** Whether it may be sent again after a failure that leaves open whether it was processed. */
  retry?: boolean | null;
}

/** A call without I/O, as it is begun. */
export interface CallRequest extends CallOptions {
  /** `GET` by default. */
  method?: string;
  /** Absolute; may be left out if `scope` is given. */
  url?: string | URL;
  /** The request's headers: the credential label is read from them. None is stored. */
  headers?: HeadersLike;
  /** `false` if the body can be sent only once. */
  replayable?: boolean;
  /** `true` for a call made inside a call of the same limiter. */
  nested?: boolean;
}

/** What {@link Limiter.run} takes beside the function. */
export interface RunOptions extends CallOptions {
  /** `POST` by default: not idempotent. */
  method?: string;
  /** Without it, and without `scope`, all such calls share one scope. */
  url?: string | URL;
  headers?: HeadersLike;
  replayable?: boolean;
  /** Rejects with its reason at once, in a wait and while `fn` runs. */
  signal?: AbortSignal | null;
  /**
   * What `fn` returned or threw, as a response; `null` for what is none. By
   * default `status` or `statusCode`, and `headers`, of it or of its `response`.
   */
  read?: (said: unknown) => Reading | null | undefined;
}

/** A response as `run` reads it. */
export interface Reading {
  status: number;
  headers?: HeadersLike;
  body?: string | Uint8Array | null;
  /** What answered, if a redirect led elsewhere. */
  url?: string;
  /** True if a client-side cache answered. */
  cached?: boolean;
}

/** One send of a call, as the function sees it. */
export interface Attempt {
  /** 1 for the first send. */
  readonly attempt: number;
  readonly signal: AbortSignal | null | undefined;
  /** Replaces the call's cost by the real amounts. */
  readonly settle: (cost: Cost) => void;
}

// -------------------------------------------------------------------- fetch

/** Whatever is called as `fetch` is. */
export type FetchLike = (input: any, init?: any) => Promise<any>;

export type RateLimitedFetch = (input: string | URL | Request, init?: RateLimitInit) => Promise<Response>;

export interface RateLimitInit extends RequestInit {
  /** Settings of this call alone. */
  rateLimit?: FetchSettings;
}

type OrFunction<T> = T | ((url: string, init: RateLimitInit | undefined) => T);

/** Settings of a `fetch`. */
export interface FetchSettings {
  scope?: OrFunction<string | null | undefined>;
  route?: OrFunction<string | null | undefined>;
  cost?: OrFunction<Cost | null | undefined>;
  priority?: OrFunction<number | null | undefined>;
  deadlineMs?: number | null;
  retry?: boolean | null;
  /** `"return"` by default: the last refusal is handed over as the response that it is. */
  onExhausted?: "return" | "raise";
  /** Answer a wait that does not fit with a 429 made here, marked by a header, instead of rejecting. */
  localRefusal?: boolean;
  /** Read the body of a `Request`, or a stream, into memory first, so that it can be sent again. */
  bufferBody?: boolean;
  /**
   * How long a call counts as in flight: until the headers, by default, or,
   * for servers that count streams, until the body is read or cancelled. A body
   * that is left alone then keeps its slot until it is collected.
   */
  slotUntil?: "headers" | "body";
  /** Tells a response of a cache beneath, if it does not carry an `Age`. */
  isCached?: (response: Response) => boolean;
}

// --------------------------------------------------------------------- call

/** How a request failed without a response. */
export type FailureKind = "connect" | "timeout" | "read" | "other";

/** Why a decision was made. */
export type Reason =
  | "ready"
  | "disabled"
  | "held"
  | "backoff"
  | "spent"
  | "pacing"
  | "probing"
  | "in_flight_full"
  | "queued"
  | "transient"
  | "answered"
  | "failed"
  | "not_replayable"
  | "exceeded"
  | "permanent"
  | "closed"
  | "cancelled"
  | "misuse";

/** The answer to "what now?". */
export type Decision =
  /** Perform the request now, then report its outcome. */
  | { readonly kind: "send"; readonly delayMs: null; readonly reason: Reason; readonly error: null }
  /** Sleep this long, or until woken, then poll again; polling earlier is safe. */
  | { readonly kind: "sleep"; readonly delayMs: number; readonly reason: Reason; readonly error: null }
  /** Hand the response, or the client's own failure, to the caller. */
  | { readonly kind: "deliver"; readonly delayMs: null; readonly reason: Reason; readonly error: null }
  /** Throw the error. */
  | { readonly kind: "raise"; readonly delayMs: null; readonly reason: Reason; readonly error: RateLimitError };

/**
 * One logical request, over all its attempts. Give up what is not finished:
 * with `using`, or {@link cancel}.
 *
 * @example
 * const call = limiter.begin({ method: "GET", url });
 * let decision = call.poll();
 * while (decision.kind === "send" || decision.kind === "sleep") {
 *   if (decision.kind === "sleep") {
 *     await sleep(decision.delayMs);
 *     decision = call.poll();
 *   } else {
 *     response = await send();
 *     decision = call.onResponse(response.status, response.headers);
 *   }
 * }
 */
export class Call {
  private constructor();
  /** As {@link Limiter.takeWakes} lists it. */
  readonly id: number;
  /** What now? Asking twice at one instant gives the same answer. */
  readonly poll: () => Decision;
  /** How many bytes of this response's body are worth reading; 0 for nearly every response. */
  readonly wantsBody: (status: number, headers: HeadersLike) => number;
  /** Reports the response to the last send. */
  readonly onResponse: (
    status: number,
    headers: HeadersLike,
    body?: string | Uint8Array | ArrayBuffer | null,
    more?: { cached?: boolean; url?: string | URL },
  ) => Decision;
  /** Reports that the last send ended without a response. */
  readonly onFailure: (kind?: FailureKind) => Decision;
  /** Replaces the cost by the real amounts, once known. */
  readonly settle: (cost: Cost) => void;
  /** The body is read or closed: the slot in flight is free. */
  readonly finish: () => void;
  /** Gives the call up, at any point. Safe to repeat. */
  readonly cancel: () => void;
  /** How often it was sent. */
  readonly attempts: () => number;
  [Symbol.dispose](): void;
}

// ------------------------------------------------------- events, statistics

export type EventKind = "refused" | "held" | "waiting" | "released" | "raised" | "meter" | "ignored" | "replayed";

/**
 * What happened. Also published on the `diagnostics_channel`
 * `rampmeter:<kind>` while that has subscribers.
 */
export interface Event {
  readonly kind: EventKind;
  /** When, in milliseconds on the limiter's monotonic clock. */
  readonly at: number;
  readonly scope: string;
  readonly method: string | null;
  readonly route: string | null;
  readonly meter: string | null;
  /** The wait, hold or time to a reset. */
  readonly durationMs: number | null;
  readonly reason: Reason | null;
  /** How often the call was sent. */
  readonly attempt: number | null;
  /** The status, for `refused`. */
  readonly status: number | null;
  /** How many calls wait in the scope. */
  readonly waiting: number;
  /** For `refused`: the rate-limit headers it was read from. */
  readonly headers: [string, string][];
  /** More in words: for `ignored`, the field and why. */
  readonly detail: string | null;
}

export interface ScopeStats {
  /** The scope, as it may be shown; empty for the total. */
  scope: string;
  sent: number;
  refused: number;
  accepted: number;
  failed: number;
  waits: number;
  /** The sum of all waits. */
  sleptMs: number;
  raised: number;
  ignored: number;
  /** Calls that wait now. */
  waiting: number;
  /** Requests in flight now. */
  inFlight: number;
  /** How long the scope's gate is still held. */
  heldForMs: number | null;
}

export interface Stats {
  total: ScopeStats;
  scopes: ScopeStats[];
  droppedEvents: number;
}

// ------------------------------------------------------------------- clocks

/** Clocks and timers, replaced in tests. */
export interface Clock {
  /** Milliseconds on a monotonic clock, from an arbitrary start. */
  now(): number;
  /** Milliseconds since the Unix epoch; `null` if there is no wall clock. */
  wall?(): number | null;
  /** Calls back after `ms`, or sooner; answers a function that forgets it. */
  schedule(callback: () => void, ms: number): () => void;
  /** Told when a request begins (1) and ends (-1). */
  noteRequests?(change: number): void;
}

/**
 * A clock that stands still until it is moved. By default it moves itself:
 * when everybody who uses it waits, it jumps to the next instant that somebody
 * waits for, so that hours pass in milliseconds.
 */
export class ManualClock implements Clock {
  constructor(options?: { startMs?: number; wallMs?: number | null; autoAdvance?: boolean });
  readonly now: () => number;
  readonly wall: () => number | null;
  readonly schedule: (callback: () => void, ms: number) => () => void;
  readonly noteRequests: (change: number) => void;
  /** Moves both clocks on, and fires what comes due. */
  readonly advance: (ms: number) => void;
  /** Steps the wall clock alone, or takes it away. */
  readonly setWall: (wallMs: number | null) => void;
  /** Resolves when the clock has moved on by `ms`: the latency of a fake server. */
  readonly sleep: (ms: number) => Promise<void>;
}

// ------------------------------------------------------------------- errors

/**
 * Base of what a limiter raises about a call. Every field is on every error:
 * `null` where nothing is known.
 */
export class RateLimitError extends Error {
  constructor(message: string, fields?: object, options?: ErrorOptions);
  /** Stable, such as `RAMPMETER_RATE_LIMIT_EXCEEDED`. */
  readonly code: string;
  /** How long the server asked to wait; `null` if it asked nothing. */
  readonly retryAfterMs: number | null;
  /** The option or argument that left no room, such as `maxRetryAfterMs`. */
  readonly limitName: string | null;
  /** Its value, where it is a duration. */
  readonly limitValueMs: number | null;
  /** When a call could be sent again, from the raise, as far as known. */
  readonly availableInMs: number | null;
  /** Who is limited: origin, and the credential as an ordinal. */
  readonly scope: string | null;
  /** The quota concerned, if the server named one. */
  readonly meter: string | null;
  /** The status of the last refusal. */
  readonly status: number | null;
  /** The limit that the server stated. */
  readonly limit: number | null;
  /** The sentence for people that the server sent. */
  readonly hint: string | null;
  /** How often the call was sent. */
  readonly attempts: number | null;
  /** The last refused response, where a driver of this package holds it. */
  readonly response: unknown;
}

/** A cap, budget, attempt limit or deadline (`limitName`) leaves no room. */
export class RateLimitExceeded extends RateLimitError {}
/** The server refused for good (billing, plan, ban): retrying is pointless. */
export class PermanentlyRefused extends RateLimitError {}
/** The limiter was closed while the call waited, or before it began. */
export class LimiterClosed extends RateLimitError {}
/** A call was driven out of turn; nothing was changed. */
export class UsageError extends RateLimitError {}

/** An option or argument is wrong. */
export class ConfigError extends TypeError {
  constructor(option: string, problem: string);
  readonly code: string;
  /** Its name; nested ones with a dot (`backoff.baseMs`). */
  readonly option: string;
  /** What is wrong, and what it takes. */
  readonly problem: string;
}

// ------------------------------------------------------------- plain pieces

/**
 * Calls `fn` with the waits and retries of a limiter of its own. Calls that
 * meet the same server should share a {@link Limiter} instead.
 */
export function callWithRetry<T>(
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: { config?: Config } & RunOptions & LimiterOptions,
): Promise<T>;

/**
 * The wait that a `Retry-After` value asks, in milliseconds; `null` for
 * whatever is no usable wait. Dates are read against the response's own `date`
 * if given, else against `now`.
 *
 * @example
 * parseRetryAfter("1.5"); // 1500
 */
export function parseRetryAfter(
  value: string | number | null | undefined,
  clocks?: { now?: Date | number; date?: Date | number | string | null },
): number | null;

export type RefusalClass = "windowed" | "capacity" | "permanent" | "unknown";
export type WaitSource = "retry-after-ms" | "retry-after" | "vendor" | "body" | "reset";

/** Everything that one response says about limits. */
export interface Signals {
  meters: {
    name: string | null;
    limit: number | null;
    remaining: number | null;
    /** From the moment of reception. */
    resetMs: number | null;
    windowMs: number | null;
    unit: string | null;
    policy: string | null;
    /** True if the server says that this quota refuses nobody. */
    informative: boolean;
  }[];
  /** The explicit wait that it orders; 0 is possible: due now. */
  wait: { ms: number; source: WaitSource } | null;
  refusal: {
    class: RefusalClass;
    meter: string | null;
    limit: number | null;
    hint: string | null;
    firstWaitMs: number | null;
  } | null;
  /** Time that the response spent in a cache. */
  ageMs: number | null;
  /** The server's clock, in milliseconds since the Unix epoch. */
  date: number | null;
  /** Fields that were set aside, and why. */
  ignored: { field: string; why: string }[];
}

/** Reads what a response says about limits. `now` is the wall clock at reception. */
export function readSignals(
  status: number,
  headers: HeadersLike,
  body?: string | Uint8Array | ArrayBuffer | null,
  clocks?: { now?: Date | number | null },
): Signals;

export interface JitterOptions {
  /** The upper end of the first draw. */
  baseMs?: number;
  /** The longest draw. */
  capMs?: number;
  /** The previous draw, from which `decorrelatedJitter` goes on. */
  previousMs?: number;
  /** A uniform number in [0, 1); `Math.random` by default. */
  random?: () => number;
}

/** Uniform in [0, min(cap, base · 2^step)]; `step` is 0 for the first wait. */
export function fullJitter(step: number, options?: JitterOptions): number;
/** Half of min(cap, base · 2^step), and a uniform draw of the other half. */
export function equalJitter(step: number, options?: JitterOptions): number;
/** Uniform in [base, 3 · previous], at most cap; the first in [0, base]. */
export function decorrelatedJitter(step: number, options?: JitterOptions): number;

/** A local token bucket: `rate` tokens per second, at most `burst` at once. It starts full. */
export class TokenBucket {
  /** @throws {ConfigError} unless `rate` is above 0 and `burst` at least 1 */
  constructor(rate: number, burst: number, options?: { clock?: Clock });
  /** The tokens that are there. */
  readonly available: () => number;
  /** How long until `cost` tokens (1 by default) are there: 0 if they are, `Infinity` if they never will be. */
  readonly waitMs: (cost?: number) => number;
  /** Takes `cost` tokens if they are there. */
  readonly take: (cost?: number) => boolean;
  /** Takes `cost` tokens whether or not they are there; a negative amount gives tokens back. */
  readonly charge: (cost?: number) => void;
  /**
   * Takes `cost` tokens when they are there, in the order of asking.
   * @throws {RateLimitExceeded} at once if they never will be
   */
  readonly acquire: (cost?: number, options?: { signal?: AbortSignal }) => Promise<void>;
}

/** One bucket per quota key, made on first use. */
export class BucketRegistry {
  /** Beyond `capacity` keys (10 000 by default), full buckets are forgotten. */
  constructor(rate: number, burst: number, options?: { capacity?: number; clock?: Clock });
  /** The bucket of that key. */
  readonly bucket: (key: string) => TokenBucket;
  /** How many keys are remembered. */
  readonly size: number;
}

// -------------------------------------------------------------- for servers

/** The form of a refusal's body. */
export type AnswerForm = "json" | "problem" | "json-rpc";

/** A period of the calendar, in UTC, at whose end a quota is restored. */
export type Period = "minute" | "hour" | "day" | "week" | "month";

/** What a refusal of any class may state. */
export interface AnswerOptions {
  /** A sentence for people: what the limit is and what to do about it. At most 300 characters; a general one unless given. */
  hint?: string;
  /** The limit that was met: of a window, or how many requests may run at a time. A whole number from 0. */
  limit?: number;
  /**
   * The policy, or policies, that the request would exceed: 1 to 128 printable
   * ASCII characters each. Clients hold only what it meters; with a limit the
   * `RateLimit` fields are sent.
   */
  policy?: string | readonly string[];
  /** Sends `Access-Control-Expose-Headers`, for scripts of other origins in browsers. */
  exposed?: boolean;
}

/** When a quota is there again. Waits are rounded up to whole seconds, at least 1. */
export type WindowEnd =
  /** In so many seconds. */
  | { seconds: number; until?: undefined; untilNext?: undefined }
  /** At an instant: a `Date`, or milliseconds since the Unix epoch. */
  | { until: Date | number; seconds?: undefined; untilNext?: undefined }
  /** At the end of a period, in UTC, or at a multiple of so many seconds. */
  | { untilNext: Period | number; seconds?: undefined; until?: undefined };

export type WindowedOptions = AnswerOptions &
  WindowEnd & {
    /** The wall clock that `until` and `untilNext` are reckoned from; the system's unless given. */
    now?: Date | number;
    /** What is left of the quota, where a dearer request met the limit; 0 unless given. */
    remaining?: number;
    /** The length of the quota's window in seconds. */
    windowSeconds?: number;
    /** What the limit counts; requests unless given. */
    unit?: string;
    /** The usage was out of the ordinary, rather than a quota used up. */
    abnormal?: boolean;
  };

export interface CapacityOptions extends AnswerOptions {
  /** A wait that is marked as a suggestion: nobody knows when there is room. */
  suggestedSeconds?: number;
  /** 503 where the server is full whoever asks; 429 unless given. */
  status?: 429 | 503;
}

export interface PermanentOptions extends AnswerOptions {
  /** 403, which clients that read nothing else do not repeat; 429 unless given. */
  status?: 429 | 403;
  /** The usage was out of the ordinary, rather than a quota used up. */
  abnormal?: boolean;
}

/** A refusal, for servers. What contradicts its class is a {@link ConfigError} that names it. */
export const Refusal: {
  /**
   * A quota is used up until a moment. Status 429.
   *
   * @example
   * const answer = Refusal.windowed({ untilNext: "day", limit: 50, policy: "exports" });
   * answer.headers["Retry-After"]; // the seconds until midnight, UTC
   */
  readonly windowed: (options: WindowedOptions) => Answer;
  /** There is no room now, and nobody knows until when. */
  readonly capacity: (options?: CapacityOptions) => Answer;
  /** Coming back is pointless; the hint should say why. */
  readonly permanent: (options?: PermanentOptions) => Answer;
};

/** How a response is rendered. */
export interface RenderOptions {
  /** `json` unless given. */
  form?: AnswerForm;
  /** The request's, for `json-rpc`. */
  id?: string | number | null;
}

/** A refusal as a server writes it: header fields and every form of body say the same. Immutable. */
export class Answer {
  private constructor();
  readonly class: "windowed" | "capacity" | "permanent";
  readonly status: number;
  /** The wait in whole seconds that it states; for capacity, the suggested one. */
  readonly seconds: number | null;
  readonly limit: number | null;
  /** A general sentence unless one was given. */
  readonly hint: string;
  readonly policies: readonly string[];
  /** The header fields that go with every form of body, `Content-Type` excepted. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as an object that can be laid into one of the server's own: whole, or as its member `error` or `detail`. */
  readonly json: () => Record<string, unknown>;
  /** The body as problem details (RFC 9457). */
  readonly problem: () => Record<string, unknown>;
  /** The body as the response to the JSON-RPC 2.0 request with that id. */
  readonly jsonRpc: (id?: string | number | null) => Record<string, unknown>;
  /** The whole response; its headers include `Content-Type`. */
  readonly render: (options?: RenderOptions) => { status: number; headers: Record<string, string>; body: string };
}

/** What {@link sendRefusal} needs of a response: that of Express, of `node:http`, of Koa (`ctx.res`). */
export interface ServerResponseLike {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Sends the answer and ends the response. */
export function sendRefusal(response: ServerResponseLike, answer: Answer, options?: RenderOptions): void;

/** The answer as a `Response`, for servers that are built on `fetch`. */
export function refusalResponse(answer: Answer, options?: RenderOptions): Response;

/** The version of this package and of the engine in it. */
export const version: string;
