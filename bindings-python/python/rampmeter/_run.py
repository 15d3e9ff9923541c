"""``run``, ``arun`` and ``call_with_retry``: a call around any function."""

from __future__ import annotations

from rampmeter._errors import RateLimitError
from rampmeter._nesting import Attempt, is_nested
from rampmeter._wait import await_turn, wait_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import timedelta
    from typing import Any, NoReturn, TypeAlias, TypeVar

    from typing_extensions import Unpack

    from rampmeter._core import Call, Config, Decision, Event
    from rampmeter._limiter import Limiter
    from rampmeter.types import Clock, FailureKind, HeadersLike, Options

    T = TypeVar("T")
    Heard: TypeAlias = tuple[int, HeadersLike] | tuple[int, HeadersLike, bytes | str | None]
    Reader: TypeAlias = Callable[[Any], Heard | None]


class Request:
    """What the function sends, as far as it is declared."""

    __slots__ = ("arguments", "url")

    def __init__(
        self,
        method: str,
        url: object,
        headers: HeadersLike | None,
        scope: str | None,
        route: str | None,
        cost: Mapping[str, float] | None,
        priority: int,
        deadline: float | timedelta | None,
        retry: bool | None,
        replayable: bool,
    ) -> None:
        self.url = url
        self.arguments: dict[str, Any] = {
            "headers": headers,
            # Without a URL all that is known of the calls is that this limiter
            # is to hold them together.
            "scope": "default" if scope is None and url is None else scope,
            "route": route,
            "cost": cost,
            "priority": priority,
            "deadline": deadline,
            "retry": retry,
            "replayable": replayable,
            "method": method,
        }

    def begin(self, limiter: Limiter) -> Call:
        return limiter.begin(url=self.url, nested=is_nested(limiter), **self.arguments)


class Outcome:
    """What the function returned or raised."""

    __slots__ = ("error", "result")

    def __init__(self, result: Any, error: Exception | None) -> None:
        self.result = result
        self.error = error

    @property
    def said(self) -> Any:
        return self.result if self.error is None else self.error

    def unwrap(self) -> Any:
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            # The traceback refers to this frame: no cycle through it.
            self.error = None


def run(limiter: Limiter, fn: Callable[[], T], request: Request, read: Reader) -> T:
    call = request.begin(limiter)
    outcome = Outcome(None, None)
    try:
        decision = call.poll()
        while True:
            if decision.kind == "send":
                with Attempt(limiter, call):
                    try:
                        outcome = Outcome(fn(), None)
                    except Exception as error:
                        outcome = Outcome(None, error)
                decision = _report(call, outcome, request, read)
                if decision.kind == "sleep":
                    _close(outcome.said)
            elif decision.kind == "sleep":
                decision = wait_turn(call, limiter.clock)
            elif decision.kind == "deliver":
                call.finish()
                result: T = outcome.unwrap()
                return result
            else:
                _raise(decision, outcome)
    except BaseException:
        call.cancel()
        raise


async def arun(limiter: Limiter, fn: Callable[[], Awaitable[T]], request: Request, read: Reader) -> T:
    call = request.begin(limiter)
    outcome = Outcome(None, None)
    try:
        decision = call.poll()
        while True:
            if decision.kind == "send":
                with Attempt(limiter, call):
                    try:
                        outcome = Outcome(await fn(), None)
                    except Exception as error:
                        outcome = Outcome(None, error)
                decision = _report(call, outcome, request, read)
                if decision.kind == "sleep":
                    await _aclose(outcome.said)
            elif decision.kind == "sleep":
                decision = await await_turn(call, limiter.clock)
            elif decision.kind == "deliver":
                call.finish()
                result: T = outcome.unwrap()
                return result
            else:
                _raise(decision, outcome)
    except BaseException:
        call.cancel()
        raise


def call_with_retry(
    fn: Callable[[], T],
    config: Config | Mapping[str, Any] | None = None,
    *,
    method: str = "POST",
    url: object = None,
    deadline: float | timedelta | None = None,
    retry: bool | None = None,
    replayable: bool = True,
    read: Reader | None = None,
    on_event: Callable[[Event], object] | None = None,
    clock: Clock | None = None,
    **options: Unpack[Options],
) -> T:
    """Calls ``fn`` with the waits and retries of a limiter of its own.

    For a single call; where several calls meet the same server they should
    share a ``Limiter`` and its ``run``, whose arguments these are.

        response = rampmeter.call_with_retry(lambda: session.get(url), method="GET", max_attempts=3)
    """
    from rampmeter._limiter import Limiter

    with Limiter(config, on_event=on_event, clock=clock, **options) as limiter:
        request = Request(method, url, None, None, None, None, 0, deadline, retry, replayable)
        return run(limiter, fn, request, read or default_read)


async def acall_with_retry(
    fn: Callable[[], Awaitable[T]],
    config: Config | Mapping[str, Any] | None = None,
    *,
    method: str = "POST",
    url: object = None,
    deadline: float | timedelta | None = None,
    retry: bool | None = None,
    replayable: bool = True,
    read: Reader | None = None,
    on_event: Callable[[Event], object] | None = None,
    clock: Clock | None = None,
    **options: Unpack[Options],
) -> T:
    """The same for a coroutine function."""
    from rampmeter._limiter import Limiter

    with Limiter(config, on_event=on_event, clock=clock, **options) as limiter:
        request = Request(method, url, None, None, None, None, 0, deadline, retry, replayable)
        return await arun(limiter, fn, request, read or default_read)


def default_read(said: Any) -> Heard | None:
    """Status and headers of a response, or of the one that an exception
    carries; ``None`` for anything else."""
    response = _response(said)
    for name in ("status_code", "status"):
        status = getattr(response, name, None)
        if isinstance(status, int) and 100 <= status <= 599:
            headers = getattr(response, "headers", None)
            return status, () if headers is None else headers
    return None


def _response(said: Any) -> Any:
    # Some clients' refused responses are false: only None means none.
    response = getattr(said, "response", None) if isinstance(said, BaseException) else said
    return said if response is None else response


def _report(call: Call, outcome: Outcome, request: Request, read: Reader) -> Decision:
    said = outcome.said
    if isinstance(said, RateLimitError) and said.response is None:
        # A limiter inside has decided already, and there is nothing to read.
        raise said
    heard = read(said)
    if heard is None:
        if outcome.error is None:
            return call.on_response(200)
        kind = failure_kind(outcome.error)
        if kind is None:
            # No matter of the network's, so none of ours.
            raise outcome.error
        return call.on_failure(kind)
    status, headers = heard[0], heard[1]
    body = heard[2] if len(heard) > 2 else None
    response = _response(said)
    if body is None:
        wanted = call.wants_body(status, headers)
        if wanted > 0:
            body = _loaded_body(response, wanted)
    answered_by = getattr(response, "url", None) if request.url is not None else None
    return call.on_response(status, headers, body, url=None if answered_by is None else str(answered_by))


def _loaded_body(response: Any, wanted: int) -> bytes | None:
    try:
        content = response.content
    except Exception:
        # Not read yet, and not ours to read.
        return None
    return content[:wanted] if isinstance(content, bytes) else None


def _close(said: Any) -> None:
    """Gives a refused response's connection back before the wait."""
    close = getattr(_response(said), "close", None)
    if close is not None:
        try:
            close()
        except Exception:
            pass


async def _aclose(said: Any) -> None:
    response = _response(said)
    close = getattr(response, "aclose", None) or getattr(response, "close", None)
    if close is not None:
        try:
            closing = close()
            if hasattr(closing, "__await__"):
                await closing
        except Exception:
            pass


def _raise(decision: Decision, outcome: Outcome) -> NoReturn:
    error = decision.error
    assert error is not None
    if isinstance(error, RateLimitError) and outcome.said is not None:
        error.response = _response(outcome.said)
    raise error from outcome.error


def failure_kind(error: BaseException) -> FailureKind | None:
    """How a request failed, by the names that HTTP clients give their
    exceptions; ``None`` if it is no failure of the network's."""
    names = [cls.__name__ for cls in type(error).__mro__]
    for kind, known in _FAILURES:
        if any(name in known for name in names):
            return kind
    return None


_FAILURES: tuple[tuple[FailureKind, frozenset[str]], ...] = (
    (
        "connect",
        frozenset(
            {
                "ClientConnectorError",
                "ConnectError",
                "ConnectTimeout",
                "ConnectTimeoutError",
                "ConnectionRefusedError",
                "ConnectionTimeoutError",
                "NewConnectionError",
                "PoolTimeout",
                "ProxyError",
                "gaierror",
            }
        ),
    ),
    (
        "timeout",
        frozenset({"APITimeoutError", "ReadTimeoutError", "Timeout", "TimeoutError", "TimeoutException"}),
    ),
    (
        "read",
        frozenset(
            {
                "APIConnectionError",
                "ChunkedEncodingError",
                "ClientConnectionError",
                "ClientPayloadError",
                "ConnectionError",
                "HTTPException",
                "IncompleteRead",
                "NetworkError",
                "ProtocolError",
                "RemoteProtocolError",
                "SSLError",
                "TransportError",
            }
        ),
    ),
)
