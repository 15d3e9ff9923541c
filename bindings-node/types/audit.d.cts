import type { IncomingMessage, ServerResponse } from "node:http";

/** A response, as {@link RefusalAudit.record} takes it. */
export interface Recorded {
  /** `GET` unless given. */
  method?: string | undefined;
  /** The path, or all of the URL. */
  url: string;
  status: number;
  /** The header fields, as pairs. */
  headers: Iterable<[string, string]>;
  body?: Uint8Array | string | null | undefined;
}

/** One thing that is wrong with a response. */
export interface Finding {
  /** The rule's name, such as `no-header`. */
  rule: string;
  severity: "error" | "warning";
  /** What is wrong. */
  says: string;
  /** What to send instead. */
  instead: string;
}

/** What was found, as `rampmeter audit --json` says it. */
export interface AuditReport {
  responses: number;
  refusals: number;
  /** How many refusals do not answer. */
  unanswered: number;
  warnings: number;
  judged: {
    number: number;
    file: string | null;
    method: string | null;
    url: string | null;
    status: number;
    phrase: string | null;
    class: "windowed" | "capacity" | "permanent" | "unknown" | null;
    answer: string | null;
    /** Seconds that `Retry-After` asks. */
    header_seconds: number | null;
    /** Seconds that a member of the body asks. */
    body_seconds: number | null;
    findings: Finding[];
  }[];
  notes: string[];
}

/**
 * Records the refusals of an application and judges them as `rampmeter audit`
 * does.
 *
 * ```js
 * const audit = new RefusalAudit();
 * app.use(audit.middleware);
 * after(() => audit.check());
 * ```
 */
export class RefusalAudit {
  /** With `strict` warnings count too: caches, browsers, counters. */
  constructor(options?: { strict?: boolean });

  /** For Express and others with middleware over `node:http`; goes before the routes. */
  readonly middleware: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

  /** The handler of `http.createServer`, with its responses recorded. */
  readonly listener: <Handled>(
    handler: (request: IncomingMessage, response: ServerResponse) => Handled,
  ) => (request: IncomingMessage, response: ServerResponse) => Handled;

  /** Judges one response and keeps it if it is a refusal, or has other findings. */
  readonly record: (recorded: Recorded) => void;

  /** What was found. */
  readonly report: () => AuditReport;

  /** Throws {@link RefusalsDoNotAnswer} unless every refusal says whether to come back, and when. */
  readonly check: () => void;
}

/** A refusal does not say whether to come back, and when. The message is the audit's page. */
export class RefusalsDoNotAnswer extends Error {
  readonly code: "RAMPMETER_REFUSALS_DO_NOT_ANSWER";
}
