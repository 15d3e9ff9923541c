"""Calls made inside a call: there is one retry layer, the outermost."""

from __future__ import annotations

from contextvars import ContextVar
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from typing_extensions import Self

    from rampmeter._core import Call, Limiter


class Attempt:
    """One send of a call, while it lasts.

    It is seen by whatever runs in the same context. A task that was started
    within it and outlives it sees it closed, and is nested no longer. An
    interrupt may leave it open; then its call is over, or gone.
    """

    __slots__ = ("_call", "_open", "_token", "clock", "limiter", "outer")

    def __init__(self, limiter: Limiter, call: Call) -> None:
        self.limiter = limiter
        self.clock: Any = limiter.clock
        self.outer = _innermost.get()
        self._call = ref(call)
        self._open = True

    def is_open(self) -> bool:
        """True while the request is under way."""
        call = self._call()
        return self._open and call is not None and not call.over

    def __enter__(self) -> Self:
        self._token: Token[Attempt | None] = _innermost.set(self)
        if self.clock is not None:
            self._tell_clock(1)
        return self

    def __exit__(self, *exception: object) -> None:
        self._open = False
        if self.clock is not None:
            self._tell_clock(-1)
        try:
            _innermost.reset(self._token)
        except ValueError:
            # A coroutine that is closed by the garbage collector ends in
            # another context, where nothing is to be undone.
            pass

    def _tell_clock(self, change: int) -> None:
        # A manual clock moves by itself only while no request is under way.
        note = getattr(self.clock, "_note_attempts", None)
        if note is not None:
            note(change)


_innermost: ContextVar[Attempt | None] = ContextVar("rampmeter_attempt", default=None)


def is_nested(limiter: Limiter) -> bool:
    """True inside an attempt of a call of the same limiter."""
    attempt = _innermost.get()
    while attempt is not None:
        if attempt.limiter is limiter and attempt.is_open():
            return True
        attempt = attempt.outer
    return False


def attempts_on(clock: object) -> int:
    """How many attempts on that clock this context is inside of."""
    found = 0
    attempt = _innermost.get()
    while attempt is not None:
        found += attempt.clock is clock and attempt.is_open()
        attempt = attempt.outer
    return found
