"""The manual clock itself."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from rampmeter import Limiter, ManualClock


def test_it_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(5, wall=1_700_000_000)
    assert clock.monotonic() == 5
    clock.advance(1.5)
    clock.advance(timedelta(seconds=1))
    assert (clock.monotonic(), clock.monotonic_ns()) == (7.5, 7_500_000_000)
    assert clock.time_ns() == 1_700_000_002_500_000_000


def test_without_a_wall_clock_there_is_none() -> None:
    assert ManualClock().time_ns() is None


def test_the_wall_clock_steps_without_the_other() -> None:
    clock = ManualClock(wall=1000)
    clock.set_wall(500)
    assert (clock.time_ns(), clock.monotonic()) == (500_000_000_000, 0)


def test_it_never_goes_back() -> None:
    clock = ManualClock(10)
    clock.move_to(5)
    assert clock.monotonic() == 10
    with pytest.raises(ValueError, match="seconds"):
        clock.advance(-1)


def test_a_lone_sleeper_sleeps_for_hours_in_no_time() -> None:
    clock = ManualClock()
    begin = time.monotonic()
    clock.sleep(36_000)
    assert clock.monotonic() == 36_000
    assert time.monotonic() - begin < 1


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = ManualClock()
    order: list[tuple[int, float]] = []

    async def nap(seconds: int) -> None:
        await clock.asleep(seconds)
        order.append((seconds, clock.monotonic()))

    async def go() -> None:
        await asyncio.gather(*[nap(seconds) for seconds in (30, 10, 20)])

    asyncio.run(go())
    assert order == [(10, 10), (20, 20), (30, 30)]


def test_threads_wake_in_the_order_of_their_times() -> None:
    clock = ManualClock(auto_advance=False)
    asleep = threading.Semaphore(0)

    def nap(seconds: int) -> float:
        asleep.release()
        clock.sleep(seconds)
        return clock.monotonic()

    with ThreadPoolExecutor(3) as pool:
        naps = {seconds: pool.submit(nap, seconds) for seconds in (30, 10, 20)}
        while len(clock._sleepers) < 3:
            asleep.acquire(timeout=1)
        for now in (10, 20, 30):
            clock.advance(10)
            assert naps[now].result(5) == now


def test_threads_move_the_clock_on_when_all_of_them_wait() -> None:
    clock = ManualClock()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(clock.sleep, (3000, 1000, 2000)))
    assert 3000 <= clock.monotonic() <= 6000


def test_moved_by_hand_it_wakes_whose_time_has_come() -> None:
    clock = ManualClock(auto_advance=False)

    async def go() -> None:
        nap = asyncio.create_task(clock.asleep(10))
        for seconds in (0, 9):
            clock.advance(seconds)
            await asyncio.sleep(0.005)
            assert not nap.done()
        clock.advance(1)
        await asyncio.wait_for(nap, 5)

    asyncio.run(go())


def test_it_waits_for_a_request_that_is_under_way() -> None:
    clock = ManualClock()
    limiter = Limiter(clock=clock)
    at: list[float] = []

    async def slow() -> tuple[int, dict[str, str]]:
        # Real time, as a real server takes it.
        await asyncio.sleep(0.05)
        at.append(clock.monotonic())
        return 200, {}

    async def go() -> None:
        call = limiter.arun(slow, url="https://api.example.com/x", read=lambda answer: answer)
        await asyncio.gather(call, clock.asleep(1000))

    asyncio.run(go())
    assert at == [0]
    assert clock.monotonic() == 1000


def test_a_fake_server_takes_time_on_the_same_clock() -> None:
    clock = ManualClock()
    limiter = Limiter(clock=clock)

    async def slow() -> tuple[int, dict[str, str]]:
        await clock.asleep(2)
        return 200, {}

    asyncio.run(limiter.arun(slow, url="https://api.example.com/x", read=lambda answer: answer))
    assert clock.monotonic() == 2
