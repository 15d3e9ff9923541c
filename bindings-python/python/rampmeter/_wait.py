"""Waiting for one's turn: in a thread, in asyncio, in trio.

Each waiting call has a waker of its own, so threads and several event loops
share one limiter. A sleep is only an upper bound: after every wake, be it
early, late or for nothing, the call is polled again.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rampmeter._core import Call, Decision

SLICE = 3600.0
"""Longest single sleep in seconds: below every platform's timer limit."""


class Woken:
    """A wake-up for one thread.

    Not a ``threading.Event``: a waker may run in the garbage collector, on top
    of the very thread that is waiting, and only ``SimpleQueue.put`` is
    reentrant.
    """

    __slots__ = ("_empty", "_queue")

    def __init__(self) -> None:
        from queue import Empty, SimpleQueue

        self._empty = Empty
        self._queue: SimpleQueue[bool] = SimpleQueue()

    def set(self) -> None:
        """Wakes the thread, or its next wait."""
        self._queue.put(True)

    def nudge(self) -> None:
        """Ends a wait, as if its time had passed."""
        self._queue.put(False)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits to be woken; false if ``timeout`` seconds passed first."""
        try:
            return self._queue.get(timeout=timeout)
        except self._empty:
            return False


class AsyncWoken:
    """The same for one task; every method but ``wait`` belongs in its loop."""

    __slots__ = ("_event", "_new_event", "_set")

    def __init__(self, new_event: Callable[[], Any]) -> None:
        self._new_event = new_event
        self._event = new_event()
        self._set = False

    def set(self) -> None:
        """Wakes the task, for good."""
        self._set = True
        self._event.set()

    def is_set(self) -> bool:
        """True once woken."""
        return self._set

    def nudge(self) -> None:
        """Ends a wait, as if its time had passed."""
        self._event.set()

    async def wait(self) -> bool:
        """Waits to be woken; false if nudged first."""
        if not self._set:
            await self._event.wait()
            self._event = self._new_event()
        return self._set


def wait_turn(call: Call, clock: Any) -> Decision:
    """Blocks this thread until the call's decision is no sleep."""
    woken = Woken()
    park = getattr(clock, "park", None)
    while True:
        decision = call.poll(woken.set)
        seconds = decision.seconds
        if seconds is None:
            return decision
        if park is not None:
            park(seconds, woken)
        else:
            woken.wait(min(seconds, SLICE))


async def await_turn(call: Call, clock: Any) -> Decision:
    """Suspends this task until the call's decision is no sleep."""
    loop = running_loop()
    park = getattr(clock, "apark", None) or loop.park
    while True:
        woken = loop.woken()
        decision = call.poll(loop.wake(woken))
        seconds = decision.seconds
        if seconds is None:
            return decision
        await park(min(seconds, SLICE), woken)


def running_loop() -> Asyncio | Trio:
    """The event loop of this thread."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return Trio(trio)
        except RuntimeError:
            pass
    return Asyncio()


class Asyncio:
    """The running asyncio loop."""

    __slots__ = ("_asyncio", "_loop")

    def __init__(self) -> None:
        import asyncio

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()

    def soon(self, act: Callable[[], object]) -> None:
        """Runs ``act`` in the loop; callable from any thread."""
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            # The loop is closed, and with it everything that waited in it.
            pass

    def woken(self) -> AsyncWoken:
        """A wake-up for the current task."""
        return AsyncWoken(self._asyncio.Event)

    def wake(self, woken: AsyncWoken) -> Callable[[], None]:
        """What wakes the task from any thread."""
        return lambda: self.soon(woken.set)

    async def park(self, seconds: float, woken: AsyncWoken) -> None:
        """Waits to be woken, at most that long."""
        timer = self._loop.call_later(seconds, woken.nudge)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    async def checkpoint(self) -> None:
        """Lets everything else that is ready run once."""
        await self._asyncio.sleep(0)


class Trio:
    """The running trio loop; ``RuntimeError`` if there is none."""

    __slots__ = ("_token", "_trio")

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()

    def soon(self, act: Callable[[], object]) -> None:
        """Runs ``act`` in the loop; callable from any thread."""
        try:
            self._token.run_sync_soon(act)
        except self._trio.RunFinishedError:
            # The loop has ended, and with it everything that waited in it.
            pass

    def woken(self) -> AsyncWoken:
        """A wake-up for the current task."""
        return AsyncWoken(self._trio.Event)

    def wake(self, woken: AsyncWoken) -> Callable[[], None]:
        """What wakes the task from any thread."""
        return lambda: self.soon(woken.set)

    async def park(self, seconds: float, woken: AsyncWoken) -> None:
        """Waits to be woken, at most that long."""
        with self._trio.move_on_after(seconds):
            await woken.wait()

    async def checkpoint(self) -> None:
        """Lets everything else that is ready run once."""
        await self._trio.lowlevel.checkpoint()
