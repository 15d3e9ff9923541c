"""One limiter shared by threads, event loops and forked children."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from rampmeter import Limiter, LimiterClosed, ManualClock, RateLimitExceeded

URL = "https://api.example.com/x"

Answer = tuple[int, dict[str, str]]


def answer(outcome: Answer) -> Answer:
    return outcome


def eventually(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.001)


def waiting(limiter: Limiter) -> int:
    return limiter.stats().total.waiting


class Held:
    """A limiter whose only slot is taken: all further calls wait for it, and
    nothing but its end lets them go."""

    def __init__(self, **options: Any) -> None:
        self.limiter = Limiter(first_flight=1, **options)
        self.call = self.limiter.begin("GET", URL)
        assert self.call.poll().kind == "send"

    def release(self) -> None:
        self.call.on_response(200, {"X-RateLimit-Limit": "500", "X-RateLimit-Remaining": "499"})
        self.call.finish()


def test_a_waiting_thread_is_woken_when_its_turn_comes() -> None:
    held = Held()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(held.limiter.run, lambda: (200, {}), method="GET", url=URL, read=answer)
        eventually(lambda: waiting(held.limiter) == 1)
        begin = time.monotonic()
        held.release()
        assert future.result(5) == (200, {})
        # The sleep that it was told is far longer.
        assert time.monotonic() - begin < 0.5


def test_threads_and_two_event_loops_share_one_limiter() -> None:
    held = Held()
    limiter, done = held.limiter, []

    def in_thread(number: int) -> None:
        limiter.run(lambda: (200, {}), method="GET", url=URL, read=answer)
        done.append(number)

    def in_loop(first: int) -> None:
        async def call(number: int) -> None:
            async def send() -> Answer:
                return 200, {}

            await limiter.arun(send, method="GET", url=URL, read=answer)
            done.append(number)

        async def all_calls() -> None:
            await asyncio.gather(*[call(first + number) for number in range(10)])

        asyncio.run(all_calls())

    threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(10)]
    threads += [threading.Thread(target=in_loop, args=(first,)) for first in (10, 20)]
    for thread in threads:
        thread.start()
    eventually(lambda: waiting(limiter) == 30)
    begin = time.monotonic()
    held.release()
    for thread in threads:
        thread.join(10)
    assert sorted(done) == list(range(30))
    assert time.monotonic() - begin < 2


def test_closing_wakes_threads_and_tasks_alike() -> None:
    held = Held()
    limiter = held.limiter

    async def suspended() -> None:
        async def send() -> Answer:
            return 200, {}

        await limiter.arun(send, url=URL, read=answer)

    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(limiter.run, lambda: (200, {}), url=URL, read=answer),
            pool.submit(asyncio.run, suspended()),
        ]
        eventually(lambda: waiting(limiter) == 2)
        limiter.close()
        for future in futures:
            with pytest.raises(LimiterClosed):
                future.result(5)


def test_cancelling_half_of_the_waiting_tasks_frees_their_places() -> None:
    async def go() -> None:
        held = Held()

        async def call() -> Answer:
            async def send() -> Answer:
                return 200, {}

            return await held.limiter.arun(send, method="GET", url=URL, read=answer)

        tasks = [asyncio.create_task(call()) for _ in range(20)]
        while waiting(held.limiter) < 20:
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks[::2], return_exceptions=True)
        assert waiting(held.limiter) == 10
        held.release()
        async with asyncio.timeout(5) if sys.version_info >= (3, 11) else held.limiter:
            assert await asyncio.gather(*tasks[1::2]) == [(200, {})] * 10
        assert (waiting(held.limiter), held.limiter.stats().total.in_flight) == (0, 0)

    asyncio.run(go())


def test_a_cancelled_request_gives_its_slot_back() -> None:
    async def go() -> None:
        limiter = Limiter(first_flight=1)

        async def never() -> Answer:
            await asyncio.Event().wait()
            return 200, {}

        async def soon() -> Answer:
            return 200, {}

        stuck = asyncio.create_task(limiter.arun(never, url=URL, read=answer))
        await asyncio.sleep(0.01)
        assert limiter.stats().total.in_flight == 1
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        assert limiter.stats().total.in_flight == 0
        assert await limiter.arun(soon, url=URL, read=answer) == (200, {})

    asyncio.run(go())


def test_a_loop_that_is_gone_harms_nobody() -> None:
    held = Held()

    async def send() -> Answer:
        return 200, {}

    async def wait_for_ever() -> None:
        await held.limiter.arun(send, url=URL, read=answer)

    loop = asyncio.new_event_loop()
    coroutine = wait_for_ever()
    task = loop.create_task(coroutine)
    loop.run_until_complete(asyncio.sleep(0.01))
    assert waiting(held.limiter) == 1
    # The loop dies under a task that still waits.
    loop.close()
    held.release()
    task._log_destroy_pending = False
    coroutine.close()
    assert held.limiter.run(lambda: (200, {}), url=URL, read=answer) == (200, {})


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer that interrupts")
def test_an_interrupt_ends_a_wait_and_gives_the_place_back() -> None:
    held = Held()
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            held.limiter.run(lambda: (200, {}), url=URL, read=answer)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert waiting(held.limiter) == 0


def test_a_waiting_call_that_is_collected_wakes_the_next() -> None:
    limiter = Limiter(first_flight=1)
    woken = threading.Event()
    stuck = limiter.begin("GET", URL)
    assert stuck.poll().kind == "send"
    waiter = limiter.begin("GET", URL)
    assert waiter.poll(woken.set).kind == "sleep"
    # Only the collector can find it.
    cycle: list[Any] = [stuck]
    cycle.append(cycle)
    del stuck, cycle
    gc.collect()
    assert woken.is_set()
    assert waiter.poll().kind == "send"


def test_a_cycle_through_a_waker_is_collected() -> None:
    held = Held()

    class Task:
        def wake(self) -> None: ...

    task = Task()
    task.call = held.limiter.begin("GET", URL)
    task.call.poll(task.wake)
    gone = weakref.ref(task)
    del task
    gc.collect()
    assert gone() is None
    assert waiting(held.limiter) == 0


def test_a_cycle_through_a_listener_is_collected() -> None:
    class Client:
        def __init__(self) -> None:
            self.limiter = Limiter(on_event=self.listen)

        def listen(self, event: object) -> None: ...

    gone = weakref.ref(Client())
    gc.collect()
    assert gone() is None


def test_many_threads_hammer_one_limiter() -> None:
    limiter = Limiter(first_flight=4)

    def hammer(number: int) -> int:
        for _ in range(50):
            limiter.run(lambda: (200, {}), method="GET", url=f"https://api{number % 3}.example.com/x", read=answer)
            limiter.stats()
            limiter.meters()
        return 50

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hammer, range(8))) == 400
    total = limiter.stats().total
    assert (total.sent, total.accepted, total.waiting, total.in_flight) == (400, 400, 0, 0)


def in_child(act: Callable[[], None]) -> None:
    """Runs ``act`` in a forked child, and fails if it fails."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException as error:
            os.write(2, f"in the child: {error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
class TestFork:
    def test_a_child_leaves_the_parents_calls_and_keeps_its_holds(self) -> None:
        limiter = Limiter(first_flight=1)
        refused = limiter.begin("GET", URL)
        refused.poll()
        refused.on_response(429, {"Retry-After": "60"})
        other = limiter.begin("GET", "https://other.example.com/x")
        other.poll()

        def child() -> None:
            total = limiter.stats().total
            assert (total.waiting, total.in_flight) == (0, 0)
            held = limiter.begin("GET", URL).poll()
            assert held.kind == "sleep"
            assert held.seconds > 55
            # The parent's request in flight takes no slot here.
            assert limiter.begin("GET", "https://other.example.com/x").poll().kind == "send"

        in_child(child)
        assert limiter.stats().total.in_flight == 1

    def test_a_child_of_a_busy_parent_works(self) -> None:
        limiter = Limiter()
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                limiter.run(lambda: (200, {}), url=URL, read=answer)

        threads = [threading.Thread(target=busy) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                in_child(lambda: limiter.run(lambda: (200, {}), url=URL, read=answer) and None)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_children_do_not_draw_alike(self) -> None:
        from rampmeter import full_jitter

        full_jitter(0)
        with (
            multiprocessing.get_context("fork").Pool(1) as first,
            multiprocessing.get_context("fork").Pool(1) as second,
        ):
            assert first.apply(full_jitter, (5,)) != second.apply(full_jitter, (5,))


def test_waiting_threads_on_a_manual_clock_go_in_its_time(fixed_window: Any, clock: ManualClock) -> None:
    server = fixed_window(limit=10, window=60)
    limiter = Limiter(clock=clock)
    with ThreadPoolExecutor(30) as pool:
        futures = [pool.submit(limiter.run, server, method="GET", url=URL, read=answer) for _ in range(30)]
        assert [future.result(20)[0] for future in futures] == [200] * 30
    assert server.refused == 0
    assert 120 <= clock.monotonic() < 240


def test_a_wait_beyond_the_cap_ends_all_waiting_calls_and_lets_the_next_one_go() -> None:
    held = Held()
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(held.limiter.run, lambda: (200, {}), url=URL, read=answer) for _ in range(3)]
        eventually(lambda: waiting(held.limiter) == 3)
        assert held.call.on_response(429, {"Retry-After": "3600"}).kind == "raise"
        for future in futures:
            with pytest.raises(RateLimitExceeded) as caught:
                future.result(5)
            assert caught.value.retry_after == pytest.approx(3600, abs=1)
    assert held.limiter.run(lambda: (200, {}), url=URL, read=answer) == (200, {})
