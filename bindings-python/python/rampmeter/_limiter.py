"""The limiter: the native half plus what waits, and what reads like Python."""

from __future__ import annotations

import os
from weakref import WeakSet

from rampmeter import _core, _run
from rampmeter._errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import timedelta
    from typing import Any, TypeVar

    from typing_extensions import Self, Unpack

    from rampmeter._core import Config, Event, Meter
    from rampmeter._run import Reader
    from rampmeter.types import Clock, HeadersLike, Options

    T = TypeVar("T")


class Limiter(_core.Limiter):
    """All that one client knows: its options and its scopes.

    Threads and event loops may share one. ``config`` is a ``Config`` or a
    mapping; further ``options`` go on top (``Limiter(max_attempts=3)``).
    ``on_event`` is called with each ``Event``, after the limiter's lock is
    released; what it raises is logged. ``clock`` replaces the system's clocks:
    a ``ManualClock``, or any object with ``monotonic_ns()`` and ``time_ns()``.

    Pickling or copying one makes a new limiter of the same options that knows
    nothing yet: state, clock and listener stay behind.

        >>> limiter = Limiter(max_retry_after=30)
        >>> with limiter.begin("GET", "https://api.example.com/v1/items") as call:
        ...     call.poll().kind
        'send'
    """

    __slots__ = ()

    def __init__(
        self,
        config: Config | Mapping[str, Any] | None = None,
        *,
        on_event: Callable[[Event], object] | None = None,
        clock: Clock | None = None,
        **options: Unpack[Options],
    ) -> None:
        _live.add(self)

    def run(
        self,
        fn: Callable[[], T],
        *,
        method: str = "POST",
        url: object = None,
        headers: HeadersLike | None = None,
        scope: str | None = None,
        route: str | None = None,
        cost: Mapping[str, float] | None = None,
        priority: int = 0,
        deadline: float | timedelta | None = None,
        retry: bool | None = None,
        replayable: bool = True,
        read: Reader = _run.default_read,
    ) -> T:
        """Calls ``fn`` when it may go, as often as the limits allow and need.

        Returns what ``fn`` returned, or raises what it raised, once that is no
        rate-limit matter; raises ``RateLimitExceeded`` or
        ``PermanentlyRefused`` where waiting or retrying ends.

        ``method``, ``url`` and ``headers`` say what ``fn`` sends: by default
        something that is not idempotent. Without ``url`` and ``scope`` all such
        calls share one scope. ``read`` takes what ``fn`` returned or raised and
        returns ``(status, headers)``, ``(status, headers, body)`` or ``None``;
        by default it looks for ``.status_code`` or ``.status`` and
        ``.headers``, on an exception also behind ``.response``. A value that
        says nothing counts as a success.

            response = limiter.run(lambda: session.get(url), method="GET", url=url)
        """
        request = _run.Request(method, url, headers, scope, route, cost, priority, deadline, retry, replayable)
        return _run.run(self, fn, request, read)

    async def arun(
        self,
        fn: Callable[[], Awaitable[T]],
        *,
        method: str = "POST",
        url: object = None,
        headers: HeadersLike | None = None,
        scope: str | None = None,
        route: str | None = None,
        cost: Mapping[str, float] | None = None,
        priority: int = 0,
        deadline: float | timedelta | None = None,
        retry: bool | None = None,
        replayable: bool = True,
        read: Reader = _run.default_read,
    ) -> T:
        """The same for a coroutine function, in asyncio or trio.

        response = await limiter.arun(lambda: client.get(url), method="GET", url=url)
        """
        request = _run.Request(method, url, headers, scope, route, cost, priority, deadline, retry, replayable)
        return await _run.arun(self, fn, request, read)

    @property
    def rate_limit(self) -> RateLimit:
        """The meters by name, while only one scope is known:
        ``limiter.rate_limit.rest.remaining``."""
        return RateLimit(self, None)

    def scope(self, url_or_label: object) -> Scope:
        """What is known of the scope of a URL, or of that label."""
        return Scope(self, str(url_or_label))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.config,)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"scopes={len(self.scopes())}"
        return f"<Limiter {state} {self.config!r}>"


class Scope:
    """One scope of a limiter."""

    __slots__ = ("_limiter", "name")

    def __init__(self, limiter: Limiter, name: str) -> None:
        self._limiter = limiter
        self.name = name

    @property
    def rate_limit(self) -> RateLimit:
        """Its meters by name."""
        return RateLimit(self._limiter, self.name)

    def meters(self) -> list[Meter]:
        """Its meters."""
        return self._limiter.meters(self.name)

    def __repr__(self) -> str:
        return f"<Scope {self.name!r}>"


class RateLimit:
    """Meters by name, as attributes or items; ``default`` is an unnamed one.

    Case does not count, nor the difference between ``-`` and ``_``. A name that
    the server never mentioned gives a meter of which nothing is known.
    """

    __slots__ = ("_limiter", "_scope")

    def __init__(self, limiter: Limiter, scope: str | None) -> None:
        self._limiter = limiter
        self._scope = scope

    def __getattr__(self, name: str) -> Meter:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Meter:
        wanted = _key(name)
        for meter in self._meters():
            if _key(meter.name) == wanted:
                return meter
        return self._limiter._empty_meter(self._scope or "")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(_key(meter.name) for meter in self._meters()))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"<RateLimit {' '.join(self) or 'nothing known'}>"

    def _meters(self) -> list[Meter]:
        if self._scope is None:
            known = self._limiter.scopes()
            if len(known) > 1:
                raise UsageError(
                    f"{len(known)} scopes are known, so a meter's name alone is ambiguous: "
                    "use limiter.scope(url_or_label).rate_limit"
                )
        return self._limiter.meters(self._scope)


def _key(name: str | None) -> str:
    return "default" if name is None else name.lower().replace("-", "_")


_live: WeakSet[Limiter] = WeakSet()


def _after_fork_in_child() -> None:
    # Calls in flight and waiting are the parent's; holds and meters stay. With
    # the parent's random numbers all children would wake together.
    for limiter in list(_live):
        limiter._after_fork(int.from_bytes(os.urandom(8), "little"))
    _core._reseed_jitter(int.from_bytes(os.urandom(8), "little"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
