// An Express server behind a rate limiter that is not ours.
//
//   node express.mjs '{"limit": 50, "windowMs": 2000, "headers": "draft-8"}' requests.log
//
// Prints the port on which it listens, then writes one line per request to
// the log: arrival (epoch seconds), status, method, path, bytes of the body.
//
//   headers       draft-6, draft-7, draft-8, legacy: what express-rate-limit sends by that name, Retry-After included;
//                 retry-after: only that, on refusals; none: bare refusals
//   limit, windowMs   a fixed window that begins with its first request (express-rate-limit)
//   rate, burst       a token bucket (limiter) instead of the window
//   meters            {path prefix: {limit, windowMs}}: one window each, named by the prefix
//   delayMs           time that an accepted request takes
//   maxAge            seconds for which accepted answers may be cached

import { appendFileSync } from "node:fs";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { TokenBucket } from "limiter";

const options = JSON.parse(process.argv[2]);
const log = process.argv[3];

const app = express();
app.disable("x-powered-by");
app.set("etag", false);

app.use((request, response, next) => {
  const arrival = Date.now() / 1000;
  let bytes = 0;
  request.on("data", (chunk) => (bytes += chunk.length));
  response.on("finish", () => {
    const line = `${arrival} ${response.statusCode} ${request.method} ${request.originalUrl} ${bytes}\n`;
    appendFileSync(log, line);
  });
  request.on("end", () => next());
});

// Who is limited: the bearer of a credential, or everybody without one.
const keyGenerator = (request) => request.get("authorization") ?? "anonymous";

const seconds = (ms) => Math.max(1, Math.ceil(ms / 1000));

function window({ limit, windowMs, identifier }) {
  const silent = ["retry-after", "none"].includes(options.headers);
  return rateLimit({
    limit,
    windowMs,
    keyGenerator,
    identifier,
    legacyHeaders: options.headers === "legacy",
    standardHeaders: options.headers.startsWith("draft-") ? options.headers : false,
    ...(silent && {
      handler: (request, response) => {
        if (options.headers === "retry-after") {
          response.set("Retry-After", seconds(request.rateLimit.resetTime.getTime() - Date.now()));
        }
        response.status(429).send("Too many requests");
      },
    }),
  });
}

function bucket({ rate, burst }) {
  const tokens = new TokenBucket({ bucketSize: burst, tokensPerInterval: rate, interval: "second" });
  tokens.content = burst;
  return (_request, response, next) => {
    if (tokens.tryRemoveTokens(1)) {
      next();
    } else {
      response.set("Retry-After", seconds(1000 / rate));
      response.status(429).send("Too many requests");
    }
  };
}

for (const [identifier, meter] of Object.entries(options.meters ?? {})) {
  app.use(`/${identifier}`, window({ identifier, ...meter }));
}
if (options.rate !== undefined) {
  app.use(bucket(options));
} else if (options.limit !== undefined) {
  app.use(window(options));
}

app.use((request, response) => {
  const answer = () => {
    if (options.maxAge !== undefined) {
      response.set("Cache-Control", `public, max-age=${options.maxAge}`);
    }
    response.json({ path: request.path });
  };
  setTimeout(answer, options.delayMs ?? 0);
});

const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
// Longer than any wait in the tests, so that no client meets a connection
// that closes under it.
server.keepAliveTimeout = 120_000;
