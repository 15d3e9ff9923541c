"""The body of the httpx and httpx2 transports, whose contract is the same.

A transport sees each hop of a redirect, and each request of an authentication
flow, as a call of its own.
"""

from __future__ import annotations

import math
import warnings

from rampmeter import _core
from rampmeter._errors import ConfigError, LimiterClosed, PermanentlyRefused, RateLimitExceeded, UsageError
from rampmeter._limiter import Limiter
from rampmeter._nesting import Attempt, is_nested
from rampmeter._run import failure_kind
from rampmeter._wait import await_turn, wait_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from typing import Any, Literal, TypeAlias

    from rampmeter._core import Call, Decision
    from rampmeter.types import FailureKind

    OnExhausted: TypeAlias = Literal["raise", "return"]
    Named: TypeAlias = str | Callable[[Any], str | None] | None

DRAINED = 65536
"""How many bytes of a refused response are kept while its call waits."""

EXTENSION = "rampmeter"
"""Key in ``request.extensions`` for options of one call, and in
``response.extensions`` for what became of it."""

LOCAL_REFUSAL = _core.LOCAL_REFUSAL_HEADER
"""Header of a response that no server sent; its value is the limit's name."""

_PER_REQUEST = frozenset({"scope", "route", "cost", "priority", "deadline", "retry"})


class Body:
    """What the blocking and the async transport share."""

    _http: Any
    """The client library."""
    _errors: Mapping[type, type]
    """Our error classes to those that are also the library's own."""
    _default_transport: Callable[[], Any]
    _stream: Callable[[Any, Call | None], Any]

    def __init__(
        self,
        limiter: Limiter | None = None,
        transport: Any = None,
        *,
        on_exhausted: OnExhausted | None = None,
        local_refusal: bool = False,
        scope: Named = None,
        route: Named = None,
    ) -> None:
        self.limiter = Limiter() if limiter is None else limiter
        self.transport = self._default_transport() if transport is None else transport
        self._returns = self._policy(on_exhausted) == "return"
        self._local_refusal = local_refusal
        self._scope = scope
        self._route = route
        warn_of_retries(self.transport, stacklevel=3)

    def _policy(self, on_exhausted: OnExhausted | None) -> OnExhausted:
        """The adapter's word, else the limiter's if it was given one."""
        config = self.limiter.config
        if on_exhausted is not None:
            config = config.replace(on_exhausted=on_exhausted)
        policy: OnExhausted = config.on_exhausted if config.is_given("on_exhausted") else "return"
        return policy

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.transport!r}>"

    def _begin(self, request: Any) -> Call:
        limiter, scope, route = self.limiter, self._scope, self._route
        options: dict[str, Any] = {
            "headers": request.headers.raw,
            "replayable": is_replayable(request.stream, self._http),
            "nested": is_nested(limiter),
        }
        if scope is not None:
            options["scope"] = scope(request) if callable(scope) else scope
        if route is not None:
            options["route"] = route(request) if callable(route) else route
        given = request.extensions.get(EXTENSION)
        if given:
            for name in given:
                if name not in _PER_REQUEST:
                    known = ", ".join(sorted(_PER_REQUEST))
                    raise ConfigError.about(name, f"is no option of a single request; known are {known}")
            options.update(given)
        return limiter.begin(request.method, str(request.url), **options)

    def _kind(self, error: Exception) -> FailureKind | None:
        """How a request failed; ``None`` for what is the caller's own mistake."""
        http = self._http
        if not isinstance(error, http.TransportError):
            return None
        if isinstance(error, (http.UnsupportedProtocol, http.LocalProtocolError)):
            return None
        return failure_kind(error)

    def _delivered(self, call: Call, response: Any) -> Any:
        response.extensions[EXTENSION] = {"attempts": call.attempts, "waited": call.waited}
        if is_loaded(response):
            call.finish()
        else:
            response.stream = self._stream(response.stream, call)
        return response

    def _refused(self, decision: Decision, request: Any, response: Any, failure: Exception | None) -> Any:
        """The response for a decision to raise, or the raise."""
        error = decision.error
        assert error is not None
        exceeded = isinstance(error, RateLimitExceeded)
        if response is not None and self._returns and (exceeded or isinstance(error, PermanentlyRefused)):
            return response
        if exceeded and self._local_refusal:
            return self._made_here(error)
        own_kind = self._errors.get(type(error))
        if own_kind is not None:
            fields = error.__dict__
            error = own_kind(str(error), request=request)
            error.__dict__.update(fields, response=response)
        raise error from failure

    def _made_here(self, error: Any) -> Any:
        headers = {LOCAL_REFUSAL: error.limit_name}
        wait = error.retry_after if error.available_in is None else error.available_in
        if wait is not None:
            headers["Retry-After"] = str(math.ceil(wait))
        return self._http.Response(_core.LOCAL_REFUSAL_STATUS, headers=headers, text=str(error))

    def _decoded(self, response: Any, raw: bytes, wanted: int) -> bytes:
        """The first bytes of the body as the server meant them."""
        encoding = response.headers.get("content-encoding")
        if encoding is None:
            return raw[:wanted]
        # In small pieces, so that a bomb is left before it unfolds.
        pieces = (raw[start : start + 1024] for start in range(0, len(raw), 1024))
        copy = self._http.Response(200, headers={"content-encoding": encoding}, content=pieces)
        decoded = b""
        try:
            for chunk in copy.iter_bytes():
                decoded += chunk
                if len(decoded) >= wanted:
                    break
        except self._http.DecodingError:
            # Not what it claims to be, or cut off by us: what came is read.
            pass
        return decoded[:wanted]


class SyncBody(Body):
    """The blocking transport."""

    def handle_request(self, request: Any) -> Any:
        """Sends the request when it may go, as often as the limits allow."""
        call = self._begin(request)
        response: Any = None
        failure: Exception | None = None
        try:
            decision = call.poll()
            while True:
                if decision.kind == "send":
                    response = failure = None
                    try:
                        with Attempt(self.limiter, call):
                            response = self.transport.handle_request(request)
                    except Exception as error:
                        kind = self._kind(error)
                        if kind is None:
                            raise
                        failure = error
                        decision = call.on_failure(kind)
                    else:
                        decision = self._heard(call, response)
                elif decision.kind == "sleep":
                    decision = wait_turn(call, self.limiter.clock)
                elif decision.kind == "deliver":
                    if failure is not None:
                        raise failure
                    return self._delivered(call, response)
                else:
                    return self._delivered(call, self._refused(decision, request, response, failure))
        except BaseException:
            call.cancel()
            if response is not None:
                response.close()
            raise
        finally:
            # The traceback refers to this frame: no cycle through it.
            failure = None

    def _heard(self, call: Call, response: Any) -> Decision:
        status, headers, cached = response.status_code, response.headers.raw, is_cached(response)
        decision = call._on_head(status, headers, cached)
        if isinstance(decision, int):
            body = self._peek(response, decision)
            decision = call.on_response(status, headers, body, cached=cached)
        if decision.kind == "sleep":
            self._keep(response)
        return decision

    def _peek(self, response: Any, wanted: int) -> bytes:
        """The first bytes of the body, which the caller can still read."""
        if is_loaded(response):
            content: bytes = response.content
            return content[:wanted]
        stream = response.stream
        chunks, rest = [], iter(stream)
        size = 0
        try:
            for chunk in rest:
                chunks.append(chunk)
                size += len(chunk)
                if size >= wanted:
                    break
        except self._http.TransportError as error:
            rest = broken_off(error)
        response.stream = self._stream(Resumed(stream, chunks, rest), None)
        return self._decoded(response, b"".join(chunks), wanted)

    def _keep(self, response: Any) -> None:
        """Reads a little and gives the connection back before the wait."""
        if is_loaded(response):
            return
        stream, kept = response.stream, bytearray()
        try:
            for chunk in stream:
                kept += chunk
                if len(kept) > DRAINED:
                    break
        except self._http.TransportError:
            pass
        finally:
            stream.close()
        response.stream = self._http.ByteStream(bytes(kept[:DRAINED]))

    def close(self) -> None:
        """Closes the wrapped transport; the limiter may have other users."""
        self.transport.close()

    def __enter__(self) -> Any:
        self.transport.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.transport.__exit__(*exception)


class AsyncBody(Body):
    """The async transport."""

    async def handle_async_request(self, request: Any) -> Any:
        """Sends the request when it may go, as often as the limits allow."""
        call = self._begin(request)
        response: Any = None
        failure: Exception | None = None
        try:
            decision = call.poll()
            while True:
                if decision.kind == "send":
                    response = failure = None
                    try:
                        with Attempt(self.limiter, call):
                            response = await self.transport.handle_async_request(request)
                    except Exception as error:
                        kind = self._kind(error)
                        if kind is None:
                            raise
                        failure = error
                        decision = call.on_failure(kind)
                    else:
                        decision = await self._heard(call, response)
                elif decision.kind == "sleep":
                    decision = await await_turn(call, self.limiter.clock)
                elif decision.kind == "deliver":
                    if failure is not None:
                        raise failure
                    return self._delivered(call, response)
                else:
                    return self._delivered(call, self._refused(decision, request, response, failure))
        except BaseException:
            call.cancel()
            if response is not None:
                await response.aclose()
            raise
        finally:
            # The traceback refers to this frame: no cycle through it.
            failure = None

    async def _heard(self, call: Call, response: Any) -> Decision:
        status, headers, cached = response.status_code, response.headers.raw, is_cached(response)
        decision = call._on_head(status, headers, cached)
        if isinstance(decision, int):
            body = await self._peek(response, decision)
            decision = call.on_response(status, headers, body, cached=cached)
        if decision.kind == "sleep":
            await self._keep(response)
        return decision

    async def _peek(self, response: Any, wanted: int) -> bytes:
        """The first bytes of the body, which the caller can still read."""
        if is_loaded(response):
            content: bytes = response.content
            return content[:wanted]
        stream = response.stream
        chunks, rest = [], stream.__aiter__()
        size = 0
        try:
            async for chunk in rest:
                chunks.append(chunk)
                size += len(chunk)
                if size >= wanted:
                    break
        except self._http.TransportError as error:
            rest = abroken_off(error)
        response.stream = self._stream(AsyncResumed(stream, chunks, rest), None)
        return self._decoded(response, b"".join(chunks), wanted)

    async def _keep(self, response: Any) -> None:
        """Reads a little and gives the connection back before the wait."""
        if is_loaded(response):
            return
        stream, kept = response.stream, bytearray()
        try:
            async for chunk in stream:
                kept += chunk
                if len(kept) > DRAINED:
                    break
        except self._http.TransportError:
            pass
        finally:
            await stream.aclose()
        response.stream = self._http.ByteStream(bytes(kept[:DRAINED]))

    async def aclose(self) -> None:
        """Closes the wrapped transport; the limiter may have other users."""
        await self.transport.aclose()

    async def __aenter__(self) -> Any:
        await self.transport.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.transport.__aexit__(*exception)


class Stream:
    """A response's body; its end frees the call's slot in flight."""

    def __init__(self, stream: Any, call: Call | None) -> None:
        self._inner = stream
        self._call = call

    def _finish(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.finish()


class SyncStreamBody(Stream):
    def __iter__(self) -> Iterator[bytes]:
        yield from self._inner
        self._finish()

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._finish()


class AsyncStreamBody(Stream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            yield chunk
        self._finish()

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._finish()


class Resumed:
    """A stream of which the first chunks were read already."""

    def __init__(self, stream: Any, chunks: list[bytes], rest: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = rest
        self.close = stream.close

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        yield from self._rest


class AsyncResumed:
    """The same for an async stream."""

    def __init__(self, stream: Any, chunks: list[bytes], rest: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = rest
        self.aclose = stream.aclose

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        async for chunk in self._rest:
            yield chunk


def broken_off(error: Exception) -> Iterator[bytes]:
    """The rest of a body that could not be read: its reader meets the error."""
    raise error
    yield


async def abroken_off(error: Exception) -> AsyncIterator[bytes]:
    """The same for an async stream."""
    raise error
    yield


def is_loaded(response: Any) -> bool:
    """True if the whole body is in memory, so that nobody will close it."""
    return bool(response.is_closed)


def is_cached(response: Any) -> bool:
    """True if a client-side cache answered (hishel, by its extension)."""
    extensions = response.extensions
    if not extensions:
        return False
    caching = extensions.get("caching")
    if isinstance(caching, dict):
        return bool(caching.get("from_cache"))
    return bool(extensions.get("hishel_from_cache") or extensions.get("from_cache"))


def is_replayable(stream: Any, http: Any) -> bool:
    """True if the request's body can be sent again, whole."""
    if isinstance(stream, http.ByteStream):
        return True
    if type(stream).__name__ == "MultipartStream":
        return all(_rewinds(getattr(field, "file", b"")) for field in stream.fields)
    # A generator is used up, and a file stands at its end.
    return False


def _rewinds(file: Any) -> bool:
    if isinstance(file, (str, bytes)):
        return True
    try:
        return bool(file.seekable())
    except AttributeError:
        return False


_warned: set[str] = set()


def warn_of_retries(transport: Any, stacklevel: int) -> None:
    """Warns once of a transport that retries by itself: two layers multiply."""
    name = type(transport).__name__
    pool = getattr(transport, "_pool", None)
    retries = "Retry" in name or bool(getattr(pool, "_retries", 0))
    if retries and name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"{name} retries by itself, and its retries multiply with Rampmeter's: turn one of them off",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )


def protect(client: Any, wrap: Callable[[Any], Any], limiter: _core.Limiter | None) -> Any:
    """Wraps a client's transport and mounts in place, once."""
    mounted = [client._transport, *client._mounts.values()]
    guards = [transport for transport in mounted if isinstance(transport, Body)]
    if guards:
        if limiter is not None and any(guard.limiter is not limiter for guard in guards):
            raise UsageError("the client is protected by another limiter already: use that one, or another client")
        return client
    client._transport = wrap(client._transport)
    for pattern, transport in client._mounts.items():
        # A mount of None stands for the client's own transport.
        if transport is not None:
            client._mounts[pattern] = wrap(transport)
    return client


__all__ = ["LOCAL_REFUSAL", "AsyncBody", "AsyncStreamBody", "LimiterClosed", "SyncBody", "SyncStreamBody", "protect"]
