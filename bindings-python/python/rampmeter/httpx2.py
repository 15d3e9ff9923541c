"""Transports for httpx2: every call waits its turn, refusals hold all.

    import httpx2
    from rampmeter import Limiter
    from rampmeter.httpx2 import RateLimitTransport, protect

    client = httpx2.Client(transport=RateLimitTransport(Limiter()))
    client = protect(httpx2.Client(proxy="http://localhost:3128"))

One call's options go through ``extensions``:

    client.get(url, extensions={"rampmeter": {"priority": 1, "deadline": 10}})

and ``response.extensions["rampmeter"]`` says how often it was sent
(``attempts``) and how many seconds it waited (``waited``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

import rampmeter
from rampmeter import _transport
from rampmeter._transport import LOCAL_REFUSAL

if TYPE_CHECKING:
    from rampmeter._transport import Named, OnExhausted

__all__ = [
    "LOCAL_REFUSAL",
    "AsyncRateLimitTransport",
    "LimiterClosed",
    "PermanentlyRefused",
    "RateLimitExceeded",
    "RateLimitTransport",
    "protect",
]

_Client = TypeVar("_Client", httpx2.Client, httpx2.AsyncClient)


class RateLimitExceeded(rampmeter.RateLimitExceeded, httpx2.TransportError):
    """``rampmeter.RateLimitExceeded``, for those who catch httpx2's errors."""


class PermanentlyRefused(rampmeter.PermanentlyRefused, httpx2.TransportError):
    """``rampmeter.PermanentlyRefused``, for those who catch httpx2's errors."""


class LimiterClosed(rampmeter.LimiterClosed, httpx2.TransportError):
    """``rampmeter.LimiterClosed``, for those who catch httpx2's errors."""


class _SyncStream(_transport.SyncStreamBody, httpx2.SyncByteStream):
    pass


class _AsyncStream(_transport.AsyncStreamBody, httpx2.AsyncByteStream):
    pass


_ERRORS: dict[type, type] = {
    rampmeter.RateLimitExceeded: RateLimitExceeded,
    rampmeter.PermanentlyRefused: PermanentlyRefused,
    rampmeter.LimiterClosed: LimiterClosed,
}


class RateLimitTransport(_transport.SyncBody, httpx2.BaseTransport):
    """Wraps a transport, by default ``httpx2.HTTPTransport()``.

    An exhausted or permanent refusal is returned as the response that it is,
    unless ``on_exhausted="raise"`` is set here or for the limiter. What has no response (a wait that
    does not fit, a closed limiter) is raised as an error that is ours and also
    an ``httpx2.TransportError``; with ``local_refusal=True`` a wait that does not
    fit is a 429 that is made here and marked by the header ``LOCAL_REFUSAL``. ``scope`` and
    ``route`` name who is limited and what the server meters alike, as text or
    as functions of the request.
    """

    _http = httpx2
    _errors = _ERRORS
    _default_transport = httpx2.HTTPTransport
    _stream = _SyncStream

    if TYPE_CHECKING:

        def handle_request(self, request: httpx2.Request) -> httpx2.Response: ...


class AsyncRateLimitTransport(_transport.AsyncBody, httpx2.AsyncBaseTransport):
    """The same for ``httpx2.AsyncClient``, by default around
    ``httpx2.AsyncHTTPTransport()``; runs in asyncio and in trio."""

    _http = httpx2
    _errors = _ERRORS
    _default_transport = httpx2.AsyncHTTPTransport
    _stream = _AsyncStream

    if TYPE_CHECKING:

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response: ...


def protect(
    client: _Client,
    limiter: rampmeter.Limiter | None = None,
    *,
    on_exhausted: OnExhausted | None = None,
    local_refusal: bool = False,
    scope: Named = None,
    route: Named = None,
) -> _Client:
    """Wraps the transports of an existing client, so that its proxies and
    mounts stay, and returns the client.

    All of them share ``limiter``, by default a new one. A client that is
    protected already is returned as it is; ``UsageError`` if that is by another
    limiter than the given one. The keywords are those of ``RateLimitTransport``.
    """
    shared = rampmeter.Limiter() if limiter is None else limiter
    kind = AsyncRateLimitTransport if isinstance(client, httpx2.AsyncClient) else RateLimitTransport

    def wrap(transport: Any) -> Any:
        return kind(shared, transport, on_exhausted=on_exhausted, local_refusal=local_refusal, scope=scope, route=route)

    protected: _Client = _transport.protect(client, wrap, limiter)
    return protected
