"""A clock for tests: hours of waiting in milliseconds."""

from __future__ import annotations

import heapq
import math
import threading
from datetime import timedelta
from itertools import count

from rampmeter._nesting import attempts_on
from rampmeter._wait import Woken, running_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from rampmeter._wait import AsyncWoken

_TICK = 0.005
"""Real seconds without any stir, after which threads count as all waiting: as
long as the interpreter lets one thread run before another."""
_PATIENCE = 1.0
"""The same while a request is under way that nobody reports to wait."""
_HOPS = 3
"""Rounds of an event loop without any stir, to the same end."""


class ManualClock:
    """A clock that stands still until it is moved.

    By default it also moves itself: when everybody who uses it waits, it jumps
    to the next instant that somebody waits for. So ``limiter.run``, ``arun``
    and the transports wait for hours within milliseconds, in one thread, in
    many, or in an event loop. A fake server models its latency with ``sleep``
    and ``asleep``. With ``auto_advance=False`` only ``advance`` moves it.

        clock = rampmeter.ManualClock()
        limiter = rampmeter.Limiter(clock=clock)

    ``start`` is the monotonic reading and ``wall`` the wall clock at the start,
    in seconds; with ``wall=None`` there is no wall clock, and dates are read
    against the response's own ``Date`` alone.
    """

    def __init__(self, start: float = 0.0, wall: float | None = None, *, auto_advance: bool = True) -> None:
        # Reentrant: the garbage collector may run user code on top of us.
        self._lock = threading.RLock()
        self._now = _nanos(start)
        self._auto = auto_advance
        self._sleepers: list[_Sleeper] = []
        self._under_way = 0
        self._stir = 0
        self._wall_offset: int | None = None
        self.set_wall(wall)

    def monotonic_ns(self) -> int:
        """Nanoseconds on the monotonic clock."""
        return self._now

    def monotonic(self) -> float:
        """Seconds on the monotonic clock."""
        return self._now / 1e9

    def time_ns(self) -> int | None:
        """Nanoseconds since the Unix epoch; ``None`` without a wall clock."""
        return None if self._wall_offset is None else self._now + self._wall_offset

    def set_wall(self, wall: float | None) -> None:
        """Steps the wall clock to Unix seconds ``wall``, or takes it away."""
        self._wall_offset = None if wall is None else round(wall * 1e9) - self._now

    def advance(self, seconds: float | timedelta) -> None:
        """Moves the clock on, and wakes those whose time has come."""
        span = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
        self._move_to(self._now + _nanos(span))

    def move_to(self, monotonic: float) -> None:
        """The same, to that reading of the monotonic clock; never back."""
        self._move_to(round(monotonic * 1e9))

    def sleep(self, seconds: float) -> None:
        """Blocks this thread until the clock has moved on by ``seconds``."""
        end = self._now + _nanos(seconds)
        while self._now < end:
            self.park((end - self._now) / 1e9, Woken())

    async def asleep(self, seconds: float) -> None:
        """Suspends this task until the clock has moved on by ``seconds``."""
        end = self._now + _nanos(seconds)
        while self._now < end:
            await self.apark((end - self._now) / 1e9, running_loop().woken())

    def park(self, seconds: float, woken: Woken) -> None:
        """Waits in this thread until woken, at most ``seconds`` of this clock.

        How a driver sleeps on this clock. It may return early: poll again.
        """
        with _Sleeper(self, seconds, woken.set, woken.nudge) as sleeper:
            while True:
                if not self._leads(sleeper):
                    if woken.wait():
                        return
                    continue
                stir, patience = self._stir, _PATIENCE
                while stir == self._stir and patience > 0:
                    if woken.wait(_TICK if threading.active_count() > 1 else 0):
                        return
                    patience = patience - _TICK if self._under_way > 0 else 0
                self._jump(stir)

    async def apark(self, seconds: float, woken: AsyncWoken) -> None:
        """Waits in this task until woken, at most ``seconds`` of this clock.

        How a driver sleeps on this clock. It may return early: poll again.
        """
        loop = running_loop()
        with _Sleeper(self, seconds, loop.wake(woken), lambda: loop.soon(woken.nudge)) as sleeper:
            while True:
                if not self._leads(sleeper):
                    if await woken.wait():
                        return
                    continue
                stir, patience = self._stir, _PATIENCE
                while stir == self._stir and patience > 0:
                    for _ in range(_HOPS):
                        await loop.checkpoint()
                        if woken.is_set():
                            return
                    if self._under_way <= 0:
                        patience = 0
                    else:
                        patience -= _TICK
                        await loop.park(_TICK, woken)
                self._jump(stir)

    def _leads(self, sleeper: _Sleeper) -> bool:
        """True for the one who moves the clock on: whose time comes first."""
        with self._lock:
            return self._auto and bool(self._sleepers) and self._sleepers[0] is sleeper

    def _jump(self, stir: int) -> None:
        """Moves to the first sleeper's time if nothing stirred since."""
        with self._lock:
            if stir == self._stir and self._sleepers:
                self._move_to(self._sleepers[0].end)

    def _move_to(self, instant: int) -> None:
        with self._lock:
            self._stir += 1
            self._now = max(self._now, instant)
            while self._sleepers and self._sleepers[0].end <= self._now:
                heapq.heappop(self._sleepers).wake()
            self._tell_leader()

    def _add(self, sleeper: _Sleeper, attempts: int) -> None:
        with self._lock:
            self._note_attempts(-attempts)
            heapq.heappush(self._sleepers, sleeper)

    def _remove(self, sleeper: _Sleeper, attempts: int) -> None:
        with self._lock:
            self._note_attempts(attempts)
            if sleeper in self._sleepers:
                led = self._sleepers[0] is sleeper
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)
                if led:
                    self._tell_leader()

    def _tell_leader(self) -> None:
        """Whose time is first now has to know that it leads."""
        if self._sleepers:
            self._sleepers[0].nudge()

    def _note_attempts(self, change: int) -> None:
        with self._lock:
            self._stir += 1
            self._under_way += change


class _Sleeper:
    """Someone who waits for an instant of a clock, while it does."""

    __slots__ = ("_attempts", "_clock", "_order", "end", "nudge", "wake")

    _orders = count()

    def __init__(self, clock: ManualClock, seconds: float, wake: Callable[[], None], nudge: Callable[[], None]) -> None:
        self._clock = clock
        self._order = next(self._orders)
        # Whoever waits inside an attempt keeps no request under way.
        self._attempts = attempts_on(clock)
        self.end = clock._now + max(1, math.ceil(seconds * 1e9))
        self.wake = wake
        self.nudge = nudge

    def __lt__(self, other: _Sleeper) -> bool:
        return (self.end, self._order) < (other.end, other._order)

    def __enter__(self) -> Self:
        self._clock._add(self, self._attempts)
        return self

    def __exit__(self, *exception: object) -> None:
        self._clock._remove(self, self._attempts)


def _nanos(seconds: float) -> int:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"seconds must be a finite number from 0, not {seconds}")
    return math.ceil(seconds * 1e9)
