"""The transports for httpx and httpx2."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import io
import json
import pickle
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import rampmeter
from conftest import Answer, FixedWindow, Server
from rampmeter import Limiter, ManualClock

URL = "https://api.example.com/x"

# httpx2 is for Python 3.11 and later.
LIBRARIES = ["httpx", "httpx2"] if sys.version_info >= (3, 11) else ["httpx"]


class Bench:
    """One client library, blocking or async, with our adapter for it."""

    def __init__(self, library: str, blocking: bool) -> None:
        self.http: ModuleType = importlib.import_module(library)
        self.adapter: ModuleType = importlib.import_module(f"rampmeter.{library}")
        self.blocking = blocking

    def transport(self, limiter: Limiter | None = None, inner: Any = None, **options: Any) -> Any:
        kind = self.adapter.RateLimitTransport if self.blocking else self.adapter.AsyncRateLimitTransport
        return kind(limiter, inner, **options)

    def mock(self, handler: Callable[[Any], Any]) -> Any:
        return self.http.MockTransport(handler)

    def client(self, **options: Any) -> Any:
        return self.http.Client(**options) if self.blocking else self.http.AsyncClient(**options)

    def send(self, transport: Any, method: str = "GET", url: str = URL, **options: Any) -> Any:
        """One request by a client of its own."""
        [response] = self.send_all(transport, [(method, url, options)])
        return response

    def send_all(self, transport: Any, requests: list[tuple[str, str, dict[str, Any]]], **client: Any) -> list[Any]:
        """Requests by one client, one after the other."""
        if self.blocking:
            with self.http.Client(transport=transport, **client) as http:
                return [http.request(method, url, **options) for method, url, options in requests]

        async def go() -> list[Any]:
            async with self.http.AsyncClient(transport=transport, **client) as http:
                return [await http.request(method, url, **options) for method, url, options in requests]

        return asyncio.run(go())

    def stream(self, data: bytes) -> Any:
        """A body that can be read once."""

        def blocking() -> Iterator[bytes]:
            yield data

        async def suspending() -> AsyncIterator[bytes]:
            yield data

        return blocking() if self.blocking else suspending()


@pytest.fixture(params=[f"{library}-{kind}" for library in LIBRARIES for kind in ("blocking", "async")])
def bench(request: pytest.FixtureRequest) -> Bench:
    library, kind = request.param.split("-")
    return Bench(library, kind == "blocking")


class Script:
    """A handler that gives these responses in turn, or raises them."""

    def __init__(self, bench: Bench, *outcomes: Any) -> None:
        self.bench = bench
        self.outcomes = list(outcomes)
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        status, headers, body = (*outcome, b"ok")[:3]
        return self.bench.http.Response(status, headers=headers, content=body)


def refused(seconds: float, body: bytes = b"slow down") -> tuple[int, dict[str, str], bytes]:
    return 429, {"Retry-After": str(seconds)}, body


OK = (200, {})


def test_a_refused_request_is_repeated_after_the_asked_wait(bench: Bench, clock: ManualClock) -> None:
    script = Script(bench, refused(30), OK)
    response = bench.send(bench.transport(Limiter(clock=clock), bench.mock(script)))
    assert (response.status_code, response.text) == (200, "ok")
    assert 30 <= clock.monotonic() <= 31
    assert response.extensions["rampmeter"] == {"attempts": 2, "waited": clock.monotonic()}


def test_a_wait_beyond_the_cap_returns_the_429_at_once(bench: Bench, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    transport = bench.transport(limiter, bench.mock(Script(bench, refused(3600), OK)))
    first, second = bench.send_all(transport, [("GET", URL, {})] * 2)
    assert (first.status_code, first.headers["retry-after"], first.text) == (429, "3600", "slow down")
    assert second.status_code == 200
    assert clock.monotonic() == 0
    assert limiter.stats().total.in_flight == 0


def test_an_exhausted_refusal_is_returned_as_it_is(bench: Bench, clock: ManualClock) -> None:
    script = Script(bench, refused(1), refused(1), refused(1, b'{"error": "still no"}'))
    response = bench.send(bench.transport(Limiter(clock=clock, max_attempts=3), bench.mock(script)))
    assert response.json() == {"error": "still no"}
    assert response.extensions["rampmeter"]["attempts"] == 3


def test_a_permanent_refusal_is_returned_at_once(bench: Bench, clock: ManualClock) -> None:
    body = json.dumps({"error": {"code": "insufficient_quota"}}).encode()
    script = Script(bench, (429, {"Content-Type": "application/json"}, body))
    response = bench.send(bench.transport(Limiter(clock=clock), bench.mock(script)))
    assert response.json()["error"]["code"] == "insufficient_quota"
    assert len(script.requests) == 1


@pytest.mark.parametrize("where", ["transport", "limiter"])
def test_an_exhausted_refusal_can_be_raised(bench: Bench, clock: ManualClock, where: str) -> None:
    raises = {"on_exhausted": "raise"}
    limiter = Limiter(clock=clock, **(raises if where == "limiter" else {}))
    inner = bench.mock(Script(bench, refused(3600)))
    transport = bench.transport(limiter, inner, **(raises if where == "transport" else {}))
    with pytest.raises(rampmeter.RateLimitExceeded) as caught:
        bench.send(transport)
    assert caught.value.retry_after == 3600
    assert caught.value.response.status_code == 429
    assert isinstance(caught.value, bench.http.TransportError)


def test_what_has_no_response_is_our_error_and_the_clients(bench: Bench, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    hold = limiter.begin("GET", URL)
    hold.poll()
    hold.on_response(429, {"Retry-After": "60"})
    transport = bench.transport(limiter, bench.mock(Script(bench)))
    with pytest.raises(bench.http.TransportError) as caught:
        bench.send(transport, extensions={"rampmeter": {"deadline": 10}})
    error = caught.value
    assert isinstance(error, rampmeter.RateLimitExceeded)
    assert isinstance(error, bench.adapter.RateLimitExceeded)
    assert (error.limit_name, error.retry_after) == ("deadline", pytest.approx(60, abs=1))
    assert str(error.request.url) == URL
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.limit_name) == (type(error), "deadline")


def test_a_local_refusal_is_a_marked_429(bench: Bench, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    hold = limiter.begin("GET", URL)
    hold.poll()
    hold.on_response(429, {"Retry-After": "60"})
    transport = bench.transport(limiter, bench.mock(Script(bench)), local_refusal=True)
    response = bench.send(transport, extensions={"rampmeter": {"deadline": 10}})
    assert response.status_code == 429
    assert response.headers[bench.adapter.LOCAL_REFUSAL] == "deadline"
    assert 60 <= int(response.headers["retry-after"]) <= 62


def test_a_refusal_for_good_that_is_to_be_raised_is_no_local_one(bench: Bench) -> None:
    body = b'{"error": {"retry": false, "message": "plan ended"}}'
    script = Script(bench, (429, {"content-type": "application/json"}, body))
    transport = bench.transport(Limiter(), bench.mock(script), on_exhausted="raise", local_refusal=True)
    with pytest.raises(rampmeter.PermanentlyRefused):
        bench.send(transport)


def test_a_closed_limiter_raises_the_clients_error_too(bench: Bench) -> None:
    limiter = Limiter()
    limiter.close()
    with pytest.raises(bench.http.TransportError) as caught:
        bench.send(bench.transport(limiter, bench.mock(Script(bench))))
    assert isinstance(caught.value, rampmeter.LimiterClosed)


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_what_is_no_rate_limit_matter_is_returned(bench: Bench, status: int) -> None:
    script = Script(bench, (status, {}))
    assert bench.send(bench.transport(Limiter(), bench.mock(script))).status_code == status
    assert len(script.requests) == 1


def test_a_network_failure_is_repeated_for_what_may_be_repeated(bench: Bench, clock: ManualClock) -> None:
    script = Script(bench, bench.http.ReadTimeout("slow"), OK)
    assert bench.send(bench.transport(Limiter(clock=clock), bench.mock(script))).status_code == 200
    script = Script(bench, bench.http.ReadTimeout("slow"), OK)
    with pytest.raises(bench.http.ReadTimeout, match="slow"):
        bench.send(bench.transport(Limiter(clock=clock), bench.mock(script)), "POST")
    assert len(script.requests) == 1


def test_a_failure_to_connect_is_repeated_for_every_method(bench: Bench, clock: ManualClock) -> None:
    script = Script(bench, bench.http.ConnectError("refused"), OK)
    assert bench.send(bench.transport(Limiter(clock=clock), bench.mock(script)), "POST").status_code == 200


def test_the_clients_own_failure_is_raised_unchanged_in_the_end(bench: Bench, clock: ManualClock) -> None:
    errors = [bench.http.ConnectError(str(number)) for number in range(3)]
    limiter = Limiter(clock=clock)
    with pytest.raises(bench.http.ConnectError) as caught:
        bench.send(bench.transport(limiter, bench.mock(Script(bench, *errors))))
    assert caught.value is errors[2]
    assert limiter.stats().total.in_flight == 0


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()], ids=repr)
def test_a_mistake_of_the_callers_is_no_failure_of_the_networks(bench: Bench, error: BaseException) -> None:
    limiter = Limiter()

    def handler(request: Any) -> Any:
        raise error

    with pytest.raises(type(error)):
        bench.send(bench.transport(limiter, bench.mock(handler)))
    assert limiter.stats().total.in_flight == 0
    assert limiter.stats().total.failed == 0


def test_options_of_one_request_go_through_its_extensions(bench: Bench) -> None:
    limiter = Limiter()
    transport = bench.transport(limiter, bench.mock(Script(bench, OK)))
    options = {"scope": "tenant 7", "route": "search", "priority": 3, "cost": {"requests": 2}, "retry": False}
    bench.send(transport, extensions={"rampmeter": options})
    assert limiter.scopes() == ["tenant 7"]
    with pytest.raises(rampmeter.ConfigError, match="prioritty"):
        bench.send(transport, extensions={"rampmeter": {"prioritty": 3}})


def test_scope_and_route_may_be_functions_of_the_request(bench: Bench) -> None:
    limiter = Limiter()
    transport = bench.transport(
        limiter, bench.mock(Script(bench, OK)), scope=lambda request: request.headers["X-Tenant"], route="all"
    )
    bench.send(transport, headers={"X-Tenant": "seven"})
    assert limiter.scopes() == ["seven"]


def test_accounts_are_told_apart_by_their_credential(bench: Bench, clock: ManualClock) -> None:
    script = Script(bench, refused(3600), OK)
    transport = bench.transport(Limiter(clock=clock), bench.mock(script))
    requests = [("GET", URL, {"headers": {"Authorization": f"Bearer {name}"}}) for name in ("one", "two")]
    assert [response.status_code for response in bench.send_all(transport, requests)] == [429, 200]
    assert len(transport.limiter.scopes()) == 2


def test_each_hop_of_a_redirect_is_a_call(bench: Bench) -> None:
    limiter = Limiter()
    script = Script(bench, (302, {"Location": "https://other.example.com/y"}), OK)
    transport = bench.transport(limiter, bench.mock(script))
    [response] = bench.send_all(transport, [("GET", URL, {})], follow_redirects=True)
    assert response.status_code == 200
    assert sorted(limiter.scopes()) == ["https://api.example.com", "https://other.example.com"]


def test_500_queued_requests_all_succeed(fixed_window: Any, clock: ManualClock) -> None:
    bench = Bench("httpx", blocking=False)
    window: FixedWindow = fixed_window(limit=50, window=60)

    def handler(request: Any) -> Any:
        status, headers = window()
        return bench.http.Response(status, headers=headers)

    async def go() -> list[int]:
        async with bench.client(transport=bench.transport(Limiter(clock=clock), bench.mock(handler))) as http:
            responses = await asyncio.gather(*[http.get(f"{URL}/{number}") for number in range(500)])
        return [response.status_code for response in responses]

    assert asyncio.run(go()) == [200] * 500
    assert window.refused == 0
    assert clock.monotonic() >= 9 * 60


# ------------------------------------------------- bodies, on a real socket


def test_a_body_in_memory_is_sent_again_whole(bench: Bench, server: Server, clock: ManualClock) -> None:
    server.answers = [Answer(*refused(1)), Answer()]
    response = bench.send(bench.transport(Limiter(clock=clock)), "POST", server.url, content=b"payload")
    assert response.status_code == 200
    assert [received.body for received in server.received] == [b"payload", b"payload"]


def test_a_one_shot_body_is_not_sent_again_empty(bench: Bench, server: Server, clock: ManualClock) -> None:
    server.answers = [Answer(*refused(1)), Answer()]
    response = bench.send(bench.transport(Limiter(clock=clock)), "POST", server.url, content=bench.stream(b"payload"))
    assert (response.status_code, response.text) == (429, "slow down")
    assert [received.body for received in server.received] == [b"payload"]


def test_a_form_with_a_file_is_sent_again_whole(bench: Bench, server: Server, clock: ManualClock) -> None:
    server.answers = [Answer(*refused(1)), Answer()]
    files = {"file": ("a.txt", io.BytesIO(b"contents"))}
    assert bench.send(bench.transport(Limiter(clock=clock)), "POST", server.url, files=files).status_code == 200
    first, second = [received.body for received in server.received]
    assert first == second
    assert b"contents" in first


def test_a_form_with_a_pipe_is_not_sent_again(server: Server, clock: ManualClock) -> None:
    class Pipe(io.RawIOBase):
        left = b"contents"

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            part, self.left = self.left, b""
            return part

    bench = Bench("httpx", blocking=True)
    server.answers = [Answer(*refused(1)), Answer()]
    response = bench.send(bench.transport(Limiter(clock=clock)), "POST", server.url, files={"file": ("a", Pipe())})
    assert response.status_code == 429
    assert len(server.received) == 1


def test_the_connection_is_given_back_before_the_wait(bench: Bench, server: Server, clock: ManualClock) -> None:
    server.answers = [Answer(*refused(5, b"x" * 10_000)), Answer()]
    assert bench.send(bench.transport(Limiter(clock=clock)), url=server.url).status_code == 200
    # Drained, so that the one connection serves both.
    assert server.connections == 1


def test_a_refusal_too_large_to_keep_is_cut_before_the_wait(bench: Bench, server: Server, clock: ManualClock) -> None:
    server.answers = [Answer(*refused(5, b"x" * 1_000_000)), Answer()]
    assert bench.send(bench.transport(Limiter(clock=clock)), url=server.url).status_code == 200
    assert server.connections == 2


@pytest.mark.parametrize("size", [10, 300_000])
def test_the_body_of_a_refusal_stays_readable(bench: Bench, server: Server, clock: ManualClock, size: int) -> None:
    body = json.dumps({"error": {"detail": "x" * size}}).encode()
    server.answers = [Answer(429, {"Content-Type": "application/json", "Retry-After": "3600"}, body)]
    response = bench.send(bench.transport(Limiter(clock=clock)), url=server.url)
    assert response.status_code == 429
    assert response.content == body


def test_a_compressed_refusal_is_read_and_stays_readable(bench: Bench, server: Server, clock: ManualClock) -> None:
    body = json.dumps({"error": {"code": "insufficient_quota"}}).encode()
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    server.answers = [Answer(429, headers, gzip.compress(body))]
    response = bench.send(bench.transport(Limiter(clock=clock)), url=server.url)
    assert response.json() == {"error": {"code": "insufficient_quota"}}
    assert len(server.received) == 1


def test_a_refusal_that_breaks_off_breaks_off_for_its_reader(bench: Bench, clock: ManualClock) -> None:
    http = bench.http

    class Broken(http.SyncByteStream, http.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"{"
            raise http.ReadError("reset")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            raise http.ReadError("reset")

    def handler(request: Any) -> Any:
        headers = {"Content-Type": "application/json", "Retry-After": "3600"}
        return http.Response(429, headers=headers, stream=Broken())

    # The mock reads what it answers, so it is asked by way of a transport of our own.
    class Transport(http.BaseTransport, http.AsyncBaseTransport):
        def handle_request(self, request: Any) -> Any:
            return handler(request)

        async def handle_async_request(self, request: Any) -> Any:
            return handler(request)

    with pytest.raises(http.ReadError, match="reset"):
        bench.send(bench.transport(Limiter(clock=clock), Transport()))


@pytest.mark.parametrize("body", [b"no gzip at all", gzip.compress(b"\0" * 100_000_000)], ids=["broken", "bomb"])
def test_a_hostile_compressed_refusal_is_a_bare_one(
    bench: Bench, server: Server, clock: ManualClock, body: bytes
) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Retry-After": "2"}
    server.answers = [Answer(429, headers, body), Answer()]
    assert bench.send(bench.transport(Limiter(clock=clock)), url=server.url).status_code == 200


def test_a_streamed_response_takes_its_slot_until_it_is_closed(bench: Bench, server: Server) -> None:
    limiter = Limiter()

    def in_flight() -> int:
        return limiter.stats().total.in_flight

    if bench.blocking:
        with bench.client(transport=bench.transport(limiter)) as http, http.stream("GET", server.url) as response:
            assert in_flight() == 1
            assert response.read() == b"ok"
            assert in_flight() == 0
    else:

        async def go() -> None:
            async with bench.client(transport=bench.transport(limiter)) as http, http.stream("GET", server.url) as it:
                assert in_flight() == 1
                assert await it.aread() == b"ok"
                assert in_flight() == 0

        asyncio.run(go())


def test_a_streamed_response_that_is_left_gives_its_slot_back(server: Server) -> None:
    bench, limiter = Bench("httpx", blocking=True), Limiter()
    server.answers = [Answer(body=b"x" * 1_000_000)]
    with bench.client(transport=bench.transport(limiter)) as http, http.stream("GET", server.url):
        pass
    assert limiter.stats().total.in_flight == 0


def test_a_cancelled_request_gives_its_place_back(server: Server) -> None:
    async def go() -> None:
        bench, limiter = Bench("httpx", blocking=False), Limiter(first_flight=1)
        hold = limiter.begin("GET", server.url)
        hold.poll()
        async with bench.client(transport=bench.transport(limiter)) as http:
            tasks = [asyncio.create_task(http.get(server.url)) for _ in range(10)]
            while limiter.stats().total.waiting < 10:
                await asyncio.sleep(0.001)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.gather(*tasks[::2], return_exceptions=True)
            assert limiter.stats().total.waiting == 5
            hold.cancel()
            responses = await asyncio.wait_for(asyncio.gather(*tasks[1::2]), 10)
        assert [response.status_code for response in responses] == [200] * 5
        assert limiter.stats().total.in_flight == 0

    asyncio.run(go())


# -------------------------------------------------------- caches and wrappers


@pytest.mark.parametrize("cache", ["inside", "outside"])
def test_a_caching_wrapper_changes_nothing(server: Server, cache: str) -> None:
    import hishel
    import hishel.httpx
    import httpx
    from rampmeter.httpx import RateLimitTransport

    spent = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"}
    server.answers = [Answer(headers={"Cache-Control": "max-age=60"} | spent)]
    limiter = Limiter(max_queue_wait=0)

    def caching(transport: httpx.BaseTransport) -> httpx.BaseTransport:
        return hishel.httpx.CacheTransport(transport, hishel.SqliteStorage(database_path=":memory:"))

    transport: httpx.BaseTransport
    if cache == "outside":
        transport = caching(RateLimitTransport(limiter, httpx.HTTPTransport()))
    else:
        transport = RateLimitTransport(limiter, caching(httpx.HTTPTransport()))
    with httpx.Client(transport=transport) as http:
        assert http.get(server.url).text == "ok"
        if cache == "outside":
            # What the cache answers waits for no meter.
            assert http.get(server.url).text == "ok"
    assert len(server.received) == 1
    assert limiter.rate_limit.default.remaining == 0


def test_what_a_cache_answers_is_no_reading(bench: Bench) -> None:
    spent = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0"}

    def handler(request: Any) -> Any:
        caching = {"from_cache": True, "revalidated": False, "stored": False}
        return bench.http.Response(200, headers=spent, extensions={"caching": caching})

    limiter = Limiter(max_queue_wait=0)
    responses = bench.send_all(bench.transport(limiter, bench.mock(handler)), [("GET", URL, {})] * 3)
    assert [response.status_code for response in responses] == [200] * 3
    assert limiter.rate_limit.default.remaining is None


def test_a_clients_transport_and_mounts_are_wrapped_in_place(bench: Bench) -> None:
    limiter = Limiter()
    proxied = bench.mock(Script(bench, OK))
    client = bench.client(
        transport=bench.mock(Script(bench, OK)), mounts={"all://*.internal": proxied, "http://": None}
    )
    assert bench.adapter.protect(client, limiter) is client
    mounts = list(client._mounts.values())
    assert client._transport.limiter is limiter
    assert [mount and mount.transport for mount in mounts if mount] == [proxied]
    assert None in mounts


def test_protecting_twice_is_protecting_once(bench: Bench) -> None:
    client = bench.adapter.protect(bench.client(transport=bench.mock(Script(bench, OK))))
    transport = client._transport
    assert bench.adapter.protect(client)._transport is transport
    assert bench.adapter.protect(client, transport.limiter)._transport is transport
    with pytest.raises(rampmeter.UsageError, match="another limiter"):
        bench.adapter.protect(client, Limiter())


def test_a_protected_client_keeps_its_proxy(server: Server) -> None:
    import httpx
    from rampmeter.httpx import protect

    with protect(httpx.Client(proxy=server.url)) as http:
        assert http.get("http://api.example.com/x").text == "ok"
    assert server.received[0].path == "http://api.example.com/x"


def test_a_transport_that_retries_by_itself_is_warned_about_once() -> None:
    import httpx
    from rampmeter import _transport
    from rampmeter.httpx import RateLimitTransport

    _transport._warned.clear()
    with pytest.warns(RuntimeWarning, match="HTTPTransport retries by itself"):
        RateLimitTransport(Limiter(), httpx.HTTPTransport(retries=3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RateLimitTransport(Limiter(), httpx.HTTPTransport(retries=3))
        RateLimitTransport(Limiter(), httpx.HTTPTransport())


def test_run_around_a_protected_client_is_one_retry_layer(clock: ManualClock) -> None:
    bench, limiter = Bench("httpx", blocking=True), Limiter(clock=clock)
    script = Script(bench, refused(5), OK)
    with bench.client(transport=bench.transport(limiter, bench.mock(script))) as http:
        response = limiter.run(lambda: http.get(URL), method="GET", url=URL)
    assert response.status_code == 200
    assert len(script.requests) == 2
    assert 5 <= clock.monotonic() <= 6


def test_one_limiter_serves_blocking_and_async_clients(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    blocking, suspending = Bench("httpx", True), Bench("httpx", False)
    hold = blocking.transport(limiter, blocking.mock(Script(blocking, refused(3600))))
    assert blocking.send(hold).status_code == 429
    other = suspending.transport(limiter, suspending.mock(Script(suspending, refused(60), OK)))
    assert suspending.send(other).status_code == 200
    assert limiter.stats().total.sent == 3


def test_the_async_transport_runs_in_trio(server: Server, clock: ManualClock) -> None:
    import httpx
    import trio
    from rampmeter.httpx import AsyncRateLimitTransport

    server.answers = [Answer(*refused(30)), Answer()]

    async def go() -> httpx.Response:
        async with httpx.AsyncClient(transport=AsyncRateLimitTransport(Limiter(clock=clock))) as http:
            return await http.get(server.url)

    assert trio.run(go).text == "ok"
    assert clock.monotonic() >= 30
