// Sends 429 Too Many Requests.
import { StatusCodes } from "http-status-codes";
import createError from "http-errors";

const RETRYABLE = [429, 500];
const CODES = { TOO_MANY_REQUESTS: 429, TEAPOT: 418 };
const PHRASES = { 429: "Too Many Requests" };
const SLOW_DOWN = 429;

app.get("/bare", (req, res) => {
  res.status(429).send("slow down"); // SENDS nothing
});

app.get("/status", (req, res) => res.sendStatus(StatusCodes.TOO_MANY_REQUESTS)); // SENDS nothing

app.get("/whole", (req, res) => {
  res.set("Retry-After", "30");
  res.status(429).json({ retry: true, retryAfter: 30, code: 429 }); // SENDS windowed
});

app.get("/own", (req, res) => {
  res.status(SLOW_DOWN).json({ retry: false }); // SENDS permanent
});

app.get("/property", (req, res) => {
  res.statusCode = 429; // SENDS header
  res.setHeader("Retry-After", seconds);
  res.end();
});

app.get("/two", (req, res) => {
  if (waiting > 8) {
    return res.status(429).json({ retry: true, limit: 8 }); // SENDS capacity
  }
  if (spent) {
    res.set("Retry-After", "60");
    return res.status(429).json({ retryAfter: 60 }); // SENDS windowed
  }
  res.json({ ok: true });
});

app.use((error, req, res, next) => {
  res.status(error.status || 429).json({ retryAfter: error.seconds }); // SENDS body
});

function http(req, res) {
  res.writeHead(429, { "Retry-After": "30" }); // SENDS header
  res.end();
}

function thrown() {
  throw createError(429, "slow down"); // SENDS nothing
}

export function GET() {
  return new Response(JSON.stringify({ retry: true, retryAfter: 30 }), {
    status: 429, // SENDS windowed
    headers: { "Retry-After": "30" },
  });
}

export const handler = async () => ({ statusCode: 429, body: "slow down" }); // SENDS nothing

async function client(url) {
  const response = await fetch(url);
  if (response.status === 429 || RETRYABLE.includes(429)) return `got 429`;
  switch (response.status) {
    case 429:
      return "slow down";
  }
  return response.status == StatusCodes.TOO_MANY_REQUESTS ? PHRASES[429] : seed(429);
}

test("limits", async () => {
  expect(response.status).toBe(429);
  expect(response).toEqual({ status: 429 });
  fetchMock.mockResolvedValue({ status: 429 });
});

test("on the wire", () => {
  assert.equal(call.onResponse(429, {}).kind, "sleep");
  assert.deepEqual(answer(), { status: 429 });
});

app.get("/others", async (context) => {
  context.status = 429; // SENDS nothing
});
app.get("/thrown", (context) => context.throw(429)); // SENDS nothing
app.get("/hono", (context) => context.json({ retry: false }, 429)); // SENDS permanent
app.get("/fastify", (request, reply) => reply.code(429).header("retry-after", 30).send({ retryAfter: 30 })); // SENDS windowed
app.get("/http2", (request, response) => response.writeHead(constants.HTTP_STATUS_TOO_MANY_REQUESTS)); // SENDS nothing
app.get("/boom", () => {
  throw Boom.tooManyRequests("slow down"); // SENDS nothing
});

const options = { retryOn: [429], width: 429, validateStatus: (status) => status < 500 || status === 429 };
const table = new Map([[429, "slow down"]]);
const codes = new Set([StatusCodes.TOO_MANY_REQUESTS]);
logger.warn("refused", 429);
try {
  call();
} catch (error) {
  if (error.status !== 429) throw error;
}
