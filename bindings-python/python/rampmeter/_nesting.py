"""Calls made inside a call: there is one retry layer, the outermost."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from typing_extensions import Self

    from rampmeter._core import Limiter


class Attempt:
    """One send of a call of ``limiter``, while it lasts.

    It is seen by whatever runs in the same context. A task that was started
    within it and outlives it sees it closed, and is nested no longer.
    """

    __slots__ = ("_token", "clock", "limiter", "open", "outer")

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.clock: Any = limiter.clock
        self.open = True
        self.outer = _innermost.get()

    def __enter__(self) -> Self:
        self._token: Token[Attempt | None] = _innermost.set(self)
        if self.clock is not None:
            self._tell_clock(1)
        return self

    def __exit__(self, *exception: object) -> None:
        self.open = False
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
        if attempt.open and attempt.limiter is limiter:
            return True
        attempt = attempt.outer
    return False


def attempts_on(clock: object) -> int:
    """How many attempts on that clock this context is inside of."""
    found = 0
    attempt = _innermost.get()
    while attempt is not None:
        found += attempt.open and attempt.clock is clock
        attempt = attempt.outer
    return found
