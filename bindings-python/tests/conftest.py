"""Servers for the tests: one in virtual time, one on a real socket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rampmeter import ManualClock


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@dataclass
class FixedWindow:
    """``limit`` requests per ``window`` seconds of a manual clock. What it
    answers is a status with headers."""

    clock: ManualClock
    limit: int
    window: float
    speaks: bool = True
    opened: float | None = None
    used: int = 0
    accepted: int = 0
    refused: int = 0

    def __call__(self) -> tuple[int, dict[str, str]]:
        now = self.clock.monotonic()
        if self.opened is None or now >= self.opened + self.window:
            self.opened, self.used = now, 0
        left = self.opened + self.window - now
        if self.used >= self.limit:
            self.refused += 1
            return 429, {"Retry-After": f"{left:.3f}"}
        self.used += 1
        self.accepted += 1
        if not self.speaks:
            return 200, {}
        return 200, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - self.used),
            "X-RateLimit-Reset": f"{left:.3f}",
        }


@pytest.fixture
def fixed_window(clock: ManualClock) -> Callable[..., FixedWindow]:
    def make(limit: int, window: float, speaks: bool = True) -> FixedWindow:
        return FixedWindow(clock, limit, window, speaks)

    return make


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"


@dataclass
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """A real HTTP server that gives the answers of a list, then 200s, and
    remembers what it received."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.received: list[Received] = []
        self.connections = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def answer(self) -> None:
                server.received.append(Received(self.command, self.path, dict(self.headers.items()), self.read_body()))
                answer = server.answers.pop(0) if server.answers else Answer()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = answer

            def read_body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def log_message(self, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()
