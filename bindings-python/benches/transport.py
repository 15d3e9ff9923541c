"""What one request costs through the transport, beside the bare one and beside
a transport that only retries (httpx-retries).

    python bindings-python/benches/transport.py

The wrapped transport answers from memory, so that nothing else is measured.
Windows of the contenders alternate, so that a busy machine disturbs all alike;
each figure is the fastest window's, in time of this thread alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx_retries
from rampmeter import Limiter
from rampmeter.httpx import AsyncRateLimitTransport, RateLimitTransport

WINDOWS = 200
REQUESTS = 100

HEADERS = [(f"X-Header-{number}".encode(), b"some value") for number in range(12)]
LIMITS = [(b"X-RateLimit-Limit", b"1000000"), (b"X-RateLimit-Remaining", b"900000"), (b"X-RateLimit-Reset", b"60")]
REQUEST = httpx.Request("GET", "https://api.example.com/v1/items/17", headers={"Authorization": "Bearer secret"})


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __iter__(self) -> Any:
        yield b"ok"

    async def __aiter__(self) -> Any:
        yield b"ok"


class Memory(httpx.BaseTransport, httpx.AsyncBaseTransport):
    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.headers = headers

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=self.headers, stream=Stream())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=self.headers, stream=Stream())


def blocking(transport: httpx.BaseTransport) -> Callable[[], None]:
    def window() -> None:
        for _ in range(REQUESTS):
            transport.handle_request(REQUEST).read()

    return window


def suspending(transport: httpx.AsyncBaseTransport) -> Callable[[], Awaitable[None]]:
    async def window() -> None:
        for _ in range(REQUESTS):
            await (await transport.handle_async_request(REQUEST)).aread()

    return window


def fastest(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    best = dict.fromkeys(contenders, float("inf"))
    loop = asyncio.new_event_loop()
    for _ in range(WINDOWS):
        for name, window in contenders.items():
            begin = time.thread_time()
            running = window()
            if running is not None:
                loop.run_until_complete(running)
            best[name] = min(best[name], (time.thread_time() - begin) / REQUESTS)
    loop.close()
    return best


def main() -> None:
    print(f"{'microseconds per request':42}{'bare':>8}{'rampmeter':>12}{'httpx-retries':>16}")
    for what, headers in (("without rate-limit headers", HEADERS), ("with rate-limit headers", HEADERS + LIMITS)):
        inner = Memory(headers)
        retries: Any = httpx_retries.RetryTransport(transport=inner)
        sync = fastest(
            {
                "bare": blocking(inner),
                "rampmeter": blocking(RateLimitTransport(Limiter(), inner)),
                "retries": blocking(retries),
            }
        )
        aio = fastest(
            {
                "bare": suspending(inner),
                "rampmeter": suspending(AsyncRateLimitTransport(Limiter(), inner)),
                "retries": suspending(retries),
            }
        )
        for kind, best in (("blocking", sync), ("async", aio)):
            bare, ours, theirs = (best[name] * 1e6 for name in ("bare", "rampmeter", "retries"))
            print(f"{f'{kind}, {what}':42}{bare:8.1f}{f'+{ours - bare:.1f}':>12}{f'+{theirs - bare:.1f}':>16}")


if __name__ == "__main__":
    main()
