// An application that refuses in nine places, of which one says whether to come
// back, and when, in a form that agrees with itself.

import express from "express";

/** The application; `audit` stands before its routes. */
export function application(...before) {
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.get("/items", (request, response) => response.json([]));
  app.get("/whole", (request, response) => {
    response.set("Retry-After", "30").status(429).json({ retry: true, retryAfter: 30 });
  });
  app.get("/bare", (request, response) => response.sendStatus(429));
  app.get("/header-only", (request, response) => {
    response.writeHead(429, { "Content-Type": "text/plain", "Retry-After": "30" });
    response.write("slow ");
    response.end("down");
  });
  app.get("/body-only", (request, response) => response.status(429).json({ retry: true, retryAfter: 30 }));
  app.get("/two-answers", (request, response) => {
    response.set("Retry-After", "30").status(429).json({ error: { retry: true, retryAfter: 60 } });
  });
  app.get("/decimals", (request, response) => {
    response.set("Retry-After", "29.5").status(429).json({ retry: true, retryAfter: 29.5 });
  });
  app.get("/full", (request, response) => {
    response.set("Retry-After", "5").status(429).json({ retry: true, class: "capacity", limit: 8 });
  });
  app.get("/banned", (request, response) => {
    response.set("Retry-After", "86400").status(429).json({ retry: false, hint: "this key is banned" });
  });
  app.get("/sentence", (request, response, next) => next(Object.assign(new Error("spent"), { seconds: 17 })));
  app.use((error, request, response, _next) => {
    response.set("Retry-After", String(error.seconds)).status(429).json({ detail: `Expected available in ${error.seconds} seconds.` });
  });
  return app;
}
