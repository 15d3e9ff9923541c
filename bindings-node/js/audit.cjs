"use strict";

/** Holds what an application refuses in its own tests to what refusals owe. */

const zlib = require("node:zlib");
const { native } = require("./native.cjs");

/** @typedef {import("node:http").IncomingMessage & { originalUrl?: string }} Request */
/** @typedef {import("node:http").ServerResponse} Answer */

class RefusalsDoNotAnswer extends Error {
  /** @param {string} page */
  constructor(page) {
    super(page);
    this.name = "RefusalsDoNotAnswer";
    this.code = "RAMPMETER_REFUSALS_DO_NOT_ANSWER";
  }
}

class RefusalAudit {
  constructor({ strict = false } = {}) {
    /** Each once, in order. @type {Set<string>} */
    const records = new Set();

    this.record = (/** @type {import("../types/audit.cjs").Recorded} */ { method = "GET", url, status, headers, body }) => {
      const fields = [...headers];
      // A server adds it to what an application answers.
      if (!fields.some(([name]) => name.toLowerCase() === "date")) fields.push(["Date", new Date().toUTCString()]);
      const coding = fields.find(([name]) => name.toLowerCase() === "content-encoding")?.[1];
      const text = decoded(Buffer.from(body ?? ""), String(coding ?? "").toLowerCase()).toString();
      const line = JSON.stringify({ method, url, status, headers: fields, body: text === "" ? null : text });
      if (JSON.parse(judge(["--json"], [line]).text).judged.length > 0) records.add(line);
    };

    this.middleware = (/** @type {Request} */ request, /** @type {Answer} */ response, /** @type {() => void} */ next) => {
      watch(request, response, this.record);
      next();
    };

    this.listener = (/** @type {(request: Request, response: Answer) => unknown} */ handler) => (/** @type {Request} */ request, /** @type {Answer} */ response) => {
      watch(request, response, this.record);
      return handler(request, response);
    };

    this.report = () => {
      if (records.size === 0) return { responses: 0, refusals: 0, unanswered: 0, warnings: 0, judged: [], notes: [] };
      return JSON.parse(judge(["--json"], records).text);
    };

    this.check = () => {
      if (records.size === 0) return;
      const { text, code } = judge(strict ? ["--strict"] : [], records);
      if (code !== 0) throw new RefusalsDoNotAnswer(text.trimEnd());
    };
  }
}

/**
 * @param {string[]} args
 * @param {Iterable<string>} lines
 * @returns {{ text: string, code: number }}
 */
function judge(args, lines) {
  return JSON.parse(/** @type {string} */ (native.audit([...args, "--color", "never"], Buffer.from([...lines].join("\n")))));
}

/**
 * Notes what a response is made of, and records it when it ends.
 *
 * @param {Request} request
 * @param {Answer} response
 * @param {(recorded: import("../types/audit.cjs").Recorded) => void} record
 */
function watch(request, response, record) {
  /** @type {Buffer[]} */
  const chunks = [];
  /** Fields that Node.js writes out without keeping them. @type {[string, string][]} */
  let written = [];
  const { writeHead, write, end } = response;
  const note = (/** @type {unknown} */ chunk, /** @type {unknown} */ encoding) => {
    if (typeof chunk === "string") chunks.push(Buffer.from(chunk, typeof encoding === "string" ? /** @type {BufferEncoding} */ (encoding) : "utf8"));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const through = (/** @type {Function} */ original, /** @type {unknown[]} */ args) => Reflect.apply(original, response, args);

  Object.assign(response, {
    writeHead(/** @type {unknown[]} */ ...args) {
      const fields = args.find((arg) => typeof arg === "object" && arg !== null);
      written = pairs(fields ?? {});
      return through(writeHead, args);
    },
    write(/** @type {unknown[]} */ ...args) {
      note(args[0], args[1]);
      return through(write, args);
    },
    end(/** @type {unknown[]} */ ...args) {
      note(args[0], args[1]);
      const ended = through(end, args);
      const { method } = request;
      const [url] = (request.originalUrl ?? request.url ?? "/").split("?");
      const names = new Set(written.map(([name]) => name.toLowerCase()));
      const kept = pairs(response.getHeaders()).filter(([name]) => !names.has(name.toLowerCase()));
      record({ method, url, status: response.statusCode, headers: [...kept, ...written], body: Buffer.concat(chunks) });
      return ended;
    },
  });
}

/**
 * Header fields in any of the forms that Node.js takes.
 *
 * @param {object} fields
 * @returns {[string, string][]}
 */
function pairs(fields) {
  /** @type {[string, unknown][]} */
  let entries;
  if (!Array.isArray(fields)) entries = Object.entries(fields);
  else if (Array.isArray(fields[0])) entries = fields;
  else entries = fields.flatMap((name, at) => (at % 2 === 0 ? [/** @type {[string, unknown]} */ ([name, fields[at + 1]])] : []));
  const lines = (/** @type {unknown} */ value) => (Array.isArray(value) ? value : [value]);
  return entries.flatMap(([name, value]) => lines(value).map((line) => /** @type {[string, string]} */ ([name, String(line)])));
}

/**
 * @param {Buffer} body
 * @param {string} coding
 */
function decoded(body, coding) {
  try {
    if (coding === "br") return zlib.brotliDecompressSync(body);
    if (coding === "gzip" || coding === "deflate") return zlib.unzipSync(body);
  } catch {
    // It is judged as it is.
  }
  return body;
}

module.exports = { RefusalAudit, RefusalsDoNotAnswer };
