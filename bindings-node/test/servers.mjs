// Servers on the loopback interface, and made-up ones on a manual clock.

import { once } from "node:events";
import { createServer } from "node:http";

/**
 * Starts a server and stops it with the test. `handle` gets the request, the
 * response and the number of the request, from 1.
 */
export async function serve(t, handle) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push({ method: request.method, url: request.url, headers: request.headers, body, at: performance.now() });
    handle(request, response, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests, server };
}

/** Answers with these statuses in turn; the last one for all that follow. */
export const inTurn =
  (...answers) =>
  (_request, response, number) => {
    const [status, headers = {}, body = ""] = answers[Math.min(number, answers.length) - 1];
    response.writeHead(status, headers).end(body);
  };

/**
 * A `fetch` against a made-up server with a quota of `limit` per `windowMs`,
 * in windows that are aligned to the clock; it tells what is left.
 */
export function windowed(clock, { limit, windowMs, latencyMs = 20 }) {
  const server = { sent: 0, refused: 0, used: new Map() };
  server.fetch = async () => {
    server.sent += 1;
    await clock.sleep(latencyMs / 2);
    const window = Math.floor(clock.now() / windowMs);
    const used = (server.used.get(window) ?? 0) + 1;
    server.used.set(window, used);
    const reset = Math.ceil(((window + 1) * windowMs - clock.now()) / 1000);
    const headers = {
      "ratelimit-limit": String(limit),
      "ratelimit-remaining": String(Math.max(0, limit - used)),
      "ratelimit-reset": String(reset),
    };
    await clock.sleep(latencyMs / 2);
    if (used <= limit) return new Response("ok", { headers });
    server.refused += 1;
    return new Response("slow down", { status: 429, headers: { ...headers, "retry-after": String(reset) } });
  };
  return server;
}

/** A `fetch` that answers with these in turn, on any clock; the last one for all that follow. */
export function answering(...answers) {
  const calls = [];
  const fetch = async (input, init) => {
    calls.push({ input, init });
    const [status, headers = {}, body = "body"] = answers[Math.min(calls.length, answers.length) - 1];
    return new Response(status === 204 ? null : body, { status, headers });
  };
  return { fetch, calls };
}

export const API = "https://api.example.com";
