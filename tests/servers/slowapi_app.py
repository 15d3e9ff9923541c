"""A Starlette application behind slowapi, served by uvicorn.

    python slowapi_app.py '{"limit": 50, "window": 2}' requests.log

Prints the port on which it listens, then writes one line per request to the
log, in the format of express.mjs.
"""

import json
import socket
import sys
import time

import uvicorn
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from slowapi.middleware import SlowAPIMiddleware
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

options = json.loads(sys.argv[1])


class RequestLog:
    """ASGI middleware around everything else: it sees refusals too."""

    def __init__(self, app, log):
        self.app = app
        self.log = log

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        arrival = time.time()

        async def seen(message):
            await send(message)
            if message["type"] == "http.response.start":
                self.log.write(f"{arrival} {message['status']} {scope['method']} {scope['path']} 0\n")

        await self.app(scope, receive, seen)


async def answer(request):
    return JSONResponse({"path": request.url.path})


app = Starlette(routes=[Route("/{path:path}", answer)])
app.state.limiter = Limiter(
    key_func=lambda request: request.headers.get("authorization", "anonymous"),
    # Of the application as a whole: the default limits count each path apart.
    application_limits=[f"{options['limit']} per {options['window']} seconds"],
    headers_enabled=True,
)
app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
app.add_middleware(SlowAPIMiddleware)

listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
with open(sys.argv[2], "a", buffering=1) as log:
    config = uvicorn.Config(RequestLog(app, log), log_level="warning", timeout_keep_alive=120)
    uvicorn.Server(config).run(sockets=[listener])
