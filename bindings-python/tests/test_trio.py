"""The same limiter in trio."""

from __future__ import annotations

import trio
import trio.testing
from rampmeter import Limiter, ManualClock

URL = "https://api.example.com/x"

Answer = tuple[int, dict[str, str]]


async def send() -> Answer:
    return 200, {}


def test_a_call_waits_in_trio_and_is_woken() -> None:
    async def main() -> None:
        limiter = Limiter(first_flight=1)
        stuck = limiter.begin("GET", URL)
        stuck.poll()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: limiter.arun(send, url=URL, read=lambda answer: answer))
            await trio.testing.wait_all_tasks_blocked()
            assert limiter.stats().total.waiting == 1
            with trio.fail_after(5):
                stuck.cancel()
        assert limiter.stats().total.accepted == 1

    trio.run(main)


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def main() -> None:
        limiter = Limiter(first_flight=1)
        stuck = limiter.begin("GET", URL)
        stuck.poll()
        with trio.move_on_after(0.01):
            await limiter.arun(send, url=URL, read=lambda answer: answer)
        assert limiter.stats().total.waiting == 0

    trio.run(main)


def test_the_manual_clock_moves_in_trio(clock: ManualClock) -> None:
    answers: list[Answer] = [(429, {"Retry-After": "60"}), (200, {})]

    async def ask() -> Answer:
        return answers.pop(0)

    async def main() -> Answer:
        return await Limiter(clock=clock).arun(ask, url=URL, read=lambda answer: answer)

    assert trio.run(main) == (200, {})
    assert clock.monotonic() >= 60
