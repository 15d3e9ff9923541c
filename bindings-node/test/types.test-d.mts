// Checked by `tsc --strict`, never run: each line must compile, and each
// `@ts-expect-error` must be one.

import type { ServerResponse } from "node:http";
import {
  Answer,
  BucketRegistry,
  callWithRetry,
  Config,
  ConfigError,
  fullJitter,
  Limiter,
  ManualClock,
  parseRetryAfter,
  RateLimitError,
  RateLimitExceeded,
  readSignals,
  Refusal,
  refusalResponse,
  sendRefusal,
  TokenBucket,
  type Decision,
  type Event,
  type LimiterOptions,
  type Meter,
} from "rampmeter";
import { RefusalAudit, type AuditReport } from "rampmeter/audit";

const options: LimiterOptions = { maxAttempts: 3, maxRetryAfterMs: Infinity, onEvent: (event: Event) => event.kind };
const limiter = new Limiter(Config.web({ maxQueueWaitMs: null }), options);

const drop: typeof fetch = limiter.fetch;
const wrapped: typeof fetch = limiter.wrapFetch(fetch, { scope: (url) => url, cost: { tokens: 5 } });
const response: Response = await limiter.fetch(new URL("https://api.example.com"), {
  method: "POST",
  signal: AbortSignal.timeout(5),
  rateLimit: { deadlineMs: 5000, route: "items", slotUntil: "body" },
});
limiter.settle(response, { tokens: 12 });

const seven: number = await limiter.run(({ attempt, signal }) => (signal?.aborted ? 0 : attempt), { method: "GET" });
const text: string = await callWithRetry(async () => "text", { maxAttempts: 2, url: "https://api.example.com" });

using call = limiter.begin({ method: "GET", url: "https://api.example.com", headers: { a: "b" } });
const decision: Decision = call.poll();
if (decision.kind === "sleep") decision.delayMs.toFixed();
if (decision.kind === "raise") decision.error.retryAfterMs?.toFixed();
call.onResponse(200, new Headers(), null, { cached: true });
call.onFailure("connect");

const meter: Meter | undefined = limiter.rateLimit.rest;
meter?.msUntilReset()?.toFixed();
limiter.scope("label").rateLimit.default?.exhausted;

try {
  await limiter.run(() => 1);
} catch (error) {
  if (error instanceof RateLimitExceeded) error.limitName?.toUpperCase();
  if (error instanceof RateLimitError) error.code.toUpperCase();
  if (error instanceof ConfigError) error.option.toUpperCase();
}

const wait: number | null = parseRetryAfter("5", { now: new Date() });
const { meters } = readSignals(429, [["retry-after", "5"]]);
const [first] = meters;
first?.remaining?.toFixed();
const delay: number = fullJitter(2, { baseMs: 5 });
await new TokenBucket(1, 2).acquire(1, { signal: AbortSignal.timeout(5) });
new BucketRegistry(1, 2, { clock: new ManualClock() }).bucket("key").take();

// @ts-expect-error a duration has its unit in its name
new Limiter({ maxRetryAfter: 5 });
// @ts-expect-error an option of the core's spelling
new Limiter({ max_attempts: 5 });
// @ts-expect-error a wait is no decision's unless it is to sleep
call.poll().delayMs.toFixed();
// @ts-expect-error what the server did not say is null
limiter.rateLimit.rest.remaining.toFixed();
// @ts-expect-error unknown settings
limiter.fetch("https://api.example.com", { rateLimit: { deadline: 5 } });
// @ts-expect-error an unknown kind of failure
call.onFailure("weather");

export { delay, drop, seven, text, wait, wrapped };

const answer: Answer = Refusal.windowed({ untilNext: "day", limit: 5, policy: ["a", "b"], hint: "5 a day" });
Refusal.windowed({ until: new Date(), now: 0 });
Refusal.windowed({ seconds: 5, windowSeconds: 60, remaining: 1, unit: "tokens" });
const refused: Response = refusalResponse(Refusal.capacity({ limit: 2, suggestedSeconds: 5, status: 503 }), { form: "problem" });
declare const outgoing: ServerResponse;
sendRefusal(outgoing, Refusal.permanent({ hint: "no", status: 403 }), { form: "json-rpc", id: 7 });
const { status, headers, body }: { status: number; headers: Record<string, string>; body: string } = answer.render();
void [refused, status, headers, body, answer.json(), answer.problem(), answer.jsonRpc("id"), answer.seconds];
// @ts-expect-error a windowed refusal says when
Refusal.windowed({ limit: 5 });
// @ts-expect-error and says it once
Refusal.windowed({ seconds: 5, untilNext: "day" });
// @ts-expect-error nobody knows when a slot frees
Refusal.capacity({ seconds: 5 });
// @ts-expect-error a permanent refusal has no wait
Refusal.permanent({ suggestedSeconds: 5 });
// @ts-expect-error nor the status of a full server
Refusal.permanent({ status: 503 });
// @ts-expect-error answers are made by Refusal
new Answer();

const audit = new RefusalAudit({ strict: true });
const report: AuditReport = audit.report();
const rules: string[] = report.judged.flatMap(({ findings }) => findings.map(({ rule }) => rule));
const guarded: (request: import("node:http").IncomingMessage, response: ServerResponse) => void = audit.listener((_request, response) => response.end());
audit.record({ url: "/x", status: 429, headers: [["Retry-After", "30"]], body: new Uint8Array() });
audit.check();
// @ts-expect-error: misspelt
new RefusalAudit({ strikt: true });
// @ts-expect-error: no status
audit.record({ url: "/x", headers: [] });
