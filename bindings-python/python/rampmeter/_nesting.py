"""Calls made inside a call: there is one retry layer, the outermost."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token

    from typing_extensions import Self

    from rampmeter._core import Limiter


class Attempt:
    """One send of a call of ``limiter``, while it lasts.

    It is seen by whatever runs in the same context. A task that was started
    within it and outlives it sees it closed, and is nested no longer.
    """

    __slots__ = ("_token", "limiter", "open", "outer")

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.open = True
        self.outer = _innermost.get()
        self._token: Token[Attempt | None] | None = None

    def __enter__(self) -> Self:
        self._token = _innermost.set(self)
        _tell_clock(self.limiter, 1)
        return self

    def __exit__(self, *exception: object) -> None:
        self.open = False
        _tell_clock(self.limiter, -1)
        try:
            if self._token is not None:
                _innermost.reset(self._token)
        except ValueError:
            # A coroutine that is closed by the garbage collector ends in
            # another context, where nothing is to be undone.
            pass


_innermost: ContextVar[Attempt | None] = ContextVar("rampmeter_attempt", default=None)


def is_nested(limiter: Limiter) -> bool:
    """True inside an attempt of a call of the same limiter."""
    return any(attempt.limiter is limiter for attempt in open_attempts())


def open_attempts() -> list[Attempt]:
    """The attempts that this context is inside of, innermost first."""
    found = []
    attempt = _innermost.get()
    while attempt is not None:
        if attempt.open:
            found.append(attempt)
        attempt = attempt.outer
    return found


def _tell_clock(limiter: Limiter, change: int) -> None:
    # A manual clock moves by itself only while no request is under way.
    note = getattr(limiter.clock, "_note_attempts", None)
    if note is not None:
        note(change)
