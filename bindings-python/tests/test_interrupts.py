"""An interrupt or a cancellation, at every single point where one can come."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import FrameType
from typing import Any

import httpx
import pytest
import rampmeter
from rampmeter import Limiter, ManualClock
from rampmeter._nesting import is_nested
from rampmeter.httpx import AsyncRateLimitTransport, RateLimitTransport

URL = "https://api.example.com/x"
BODY = b'{"error": {"message": "slow down"}}'


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    opened = closed = 0

    def __init__(self) -> None:
        Body.opened += 1

    def __iter__(self) -> Iterator[bytes]:
        yield BODY

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await asyncio.sleep(0)
        yield BODY

    def close(self) -> None:
        Body.closed += 1

    async def aclose(self) -> None:
        Body.closed += 1


class Server(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Refuses twice, in both ways of saying for how long, then accepts."""

    def __init__(self) -> None:
        self.answers = [(429, {"Retry-After": "5"}), (429, {"Content-Type": "application/json"}), (200, {})]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers = self.answers.pop(0)
        return httpx.Response(status, headers=headers, stream=Body())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)
        return self.handle_request(request)


def run(limiter: Limiter) -> int:
    answers = [(429, {"Retry-After": "5"}), (429, {}), (200, {})]
    return limiter.run(lambda: answers.pop(0), method="GET", url=URL, read=lambda answer: answer)[0]


def request(limiter: Limiter) -> int:
    # No client: one does not close a response whose reading was interrupted
    # before it had it in hand.
    response = RateLimitTransport(limiter, Server()).handle_request(httpx.Request("GET", URL))
    response.read()
    return response.status_code


async def arun(limiter: Limiter) -> int:
    answers = [(429, {"Retry-After": "5"}), (429, {}), (200, {})]

    async def send() -> tuple[int, dict[str, str]]:
        await asyncio.sleep(0)
        return answers.pop(0)

    return (await limiter.arun(send, method="GET", url=URL, read=lambda answer: answer))[0]


async def arequest(limiter: Limiter) -> int:
    async with httpx.AsyncClient(transport=AsyncRateLimitTransport(limiter, Server())) as http:
        return (await http.get(URL)).status_code


def interrupted_at(line: int, act: Callable[[], Any]) -> bool:
    """Interrupts ``act`` at its n-th line in our package; false if it ended
    before."""
    package = rampmeter.__file__.removesuffix("__init__.py")
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        # Import machinery runs under its own locks, and only once.
        if not frame.f_code.co_filename.startswith(package) or frame.f_code.co_filename.endswith("_clock.py"):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize("act", [run, request])
def test_an_interrupt_at_any_line_gives_everything_back(act: Callable[[Limiter], int]) -> None:
    assert act(Limiter(clock=ManualClock())) == 200
    for line in range(1, 2000):
        limiter = Limiter(clock=ManualClock(), seed=1)
        interrupted = interrupted_at(line, lambda limiter=limiter: act(limiter))
        total = limiter.stats().total
        assert (total.in_flight, total.waiting) == (0, 0), f"at line {line}"
        # What comes next in this context is no part of the interrupted call.
        assert not is_nested(limiter), f"at line {line}"
        if not interrupted:
            break
    assert line > 50


@pytest.mark.parametrize("act", [arun, arequest])
def test_a_cancellation_at_any_await_gives_everything_back(act: Callable[[Limiter], Any]) -> None:
    async def cancelled_after(steps: int) -> bool:
        limiter = Limiter(clock=ManualClock(), seed=1)
        Body.opened = Body.closed = 0
        task = asyncio.create_task(act(limiter))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        [outcome] = await asyncio.gather(task, return_exceptions=True)
        total = limiter.stats().total
        assert (total.in_flight, total.waiting) == (0, 0), f"after {steps} steps"
        assert Body.opened <= Body.closed, f"after {steps} steps"
        return isinstance(outcome, asyncio.CancelledError)

    async def go() -> int:
        assert await act(Limiter(clock=ManualClock())) == 200
        steps = 0
        while await cancelled_after(steps):
            steps += 1
        return steps

    assert asyncio.run(go()) > 5
