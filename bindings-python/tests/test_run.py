"""``run``, ``arun`` and ``call_with_retry`` around any function."""

from __future__ import annotations

import asyncio
import email.message
import io
import urllib.error
from dataclasses import dataclass, field
from typing import Any

import pytest
from conftest import FixedWindow
from rampmeter import (
    Limiter,
    LimiterClosed,
    ManualClock,
    PermanentlyRefused,
    RateLimitExceeded,
    acall_with_retry,
    call_with_retry,
)

URL = "https://api.example.com/x"


@dataclass
class Response:
    status_code: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    closed: bool = False

    def close(self) -> None:
        self.closed = True

    def __bool__(self) -> bool:
        # Like requests: a refused response is false.
        return self.status_code < 400


class StatusError(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


class Script:
    """A function that returns or raises what it was given, in turn."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def asynchronous(self) -> Any:
        await asyncio.sleep(0)
        return self()


def refused(seconds: float = 30) -> Response:
    return Response(429, {"Retry-After": str(seconds)})


@pytest.fixture(params=["run", "arun"])
def run(request: pytest.FixtureRequest) -> Any:
    """``run``, and ``arun`` in a loop of its own."""

    def blocking(limiter: Limiter, script: Script, **options: Any) -> Any:
        return limiter.run(script, **options)

    def suspending(limiter: Limiter, script: Script, **options: Any) -> Any:
        return asyncio.run(limiter.arun(script.asynchronous, **options))

    return blocking if request.param == "run" else suspending


def test_a_response_is_returned_as_it_is(run, clock: ManualClock) -> None:
    answer = Response()
    assert run(Limiter(clock=clock), Script(answer)) is answer


def test_a_refused_call_is_repeated_after_the_asked_wait(run, clock: ManualClock) -> None:
    answer = Response()
    first = refused(30)
    assert run(Limiter(clock=clock), Script(first, answer)) is answer
    assert 30 <= clock.monotonic() <= 31
    assert first.closed


def test_a_refusal_on_an_exception_is_repeated_too(run, clock: ManualClock) -> None:
    answer = Response()
    assert run(Limiter(clock=clock), Script(StatusError(refused(30)), answer)) is answer
    assert clock.monotonic() >= 30


def test_an_exception_that_is_itself_a_response_is_read(run, clock: ManualClock) -> None:
    headers = email.message.Message()
    headers["Retry-After"] = "30"
    with urllib.error.HTTPError(URL, 429, "slow down", headers, io.BytesIO()) as error:
        run(Limiter(clock=clock), Script(error, Response()))
    assert clock.monotonic() >= 30


def test_a_wait_beyond_the_cap_raises_with_the_wait_inside(run, clock: ManualClock) -> None:
    response = refused(3600)
    with pytest.raises(RateLimitExceeded) as caught:
        run(Limiter(clock=clock), Script(response))
    assert caught.value.retry_after == 3600
    assert caught.value.limit_name == "max_retry_after"
    assert caught.value.response is response
    assert clock.monotonic() == 0


def test_the_clients_own_exception_is_the_cause(run, clock: ManualClock) -> None:
    error = StatusError(refused(3600))
    with pytest.raises(RateLimitExceeded) as caught:
        run(Limiter(clock=clock), Script(error))
    assert caught.value.__cause__ is error
    assert caught.value.response is error.response


def test_a_permanent_refusal_raises_and_is_not_repeated(run, clock: ManualClock) -> None:
    body = b'{"error": {"code": "insufficient_quota", "message": "see billing"}}'
    script = Script(Response(429, {"Content-Type": "application/json"}, body))
    with pytest.raises(PermanentlyRefused):
        run(Limiter(clock=clock), script)
    assert script.calls == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_what_is_no_rate_limit_matter_is_returned(run, clock: ManualClock, status: int) -> None:
    script = Script(Response(status))
    assert run(Limiter(clock=clock), script).status_code == status
    assert script.calls == 1


def test_an_exception_of_the_functions_own_is_raised_unchanged(run, clock: ManualClock) -> None:
    error = ValueError("mine")
    script = Script(error)
    limiter = Limiter(clock=clock)
    with pytest.raises(ValueError, match="mine") as caught:
        run(limiter, script)
    assert caught.value is error
    assert script.calls == 1
    assert limiter.stats().total.in_flight == 0


def test_a_network_failure_is_repeated_only_if_that_does_no_harm(run, clock: ManualClock) -> None:
    assert run(Limiter(clock=clock), Script(TimeoutError(), Response()), method="GET").status_code == 200
    script = Script(TimeoutError(), Response())
    with pytest.raises(TimeoutError):
        run(Limiter(clock=clock), script)
    assert script.calls == 1


def test_a_failure_to_connect_is_repeated_for_every_method(run, clock: ManualClock) -> None:
    assert run(Limiter(clock=clock), Script(ConnectionRefusedError(), Response())).status_code == 200


def test_a_body_that_can_be_sent_once_is_not_sent_again(run, clock: ManualClock) -> None:
    script = Script(refused(1), Response())
    with pytest.raises(RateLimitExceeded):
        run(Limiter(clock=clock), script, replayable=False)
    assert script.calls == 1


def test_with_one_attempt_the_refusal_comes_at_once_and_holds_nobody(run, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock, max_attempts=1)
    for _ in range(2):
        with pytest.raises(RateLimitExceeded) as caught:
            run(limiter, Script(refused(30)))
        assert caught.value.limit_name == "max_attempts"
    assert clock.monotonic() == 0


def test_an_exhausted_refusal_can_be_returned(run, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock, on_exhausted="return")
    assert run(limiter, Script(refused(3600))).status_code == 429


def test_a_disabled_limiter_stays_out_of_the_way(run, clock: ManualClock) -> None:
    assert run(Limiter(clock=clock, enabled=False), Script(refused(30))).status_code == 429


def test_a_closed_limiter_raises_before_anything_is_sent(run, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    limiter.close()
    script = Script(Response())
    with pytest.raises(LimiterClosed):
        run(limiter, script)
    assert script.calls == 0


def test_a_reader_of_the_callers_own_is_used(run, clock: ManualClock) -> None:
    answers = Script({"code": 429, "wait": "5"}, {"code": 200})

    def read(answer: Any) -> Any:
        return answer["code"], {"Retry-After": answer.get("wait", "")}

    assert run(Limiter(clock=clock), answers, read=read) == {"code": 200}
    assert clock.monotonic() >= 5


def test_a_value_that_says_nothing_is_a_success(run, clock: ManualClock) -> None:
    assert run(Limiter(clock=clock), Script({"items": []})) == {"items": []}


def test_an_interrupt_gives_the_place_back(run, clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    with pytest.raises(KeyboardInterrupt):
        run(limiter, Script(KeyboardInterrupt()))
    assert limiter.stats().total.in_flight == 0


def test_a_call_inside_a_call_does_not_retry_again(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    inner = Script(refused(5), refused(5), Response())

    def outer() -> Any:
        return limiter.run(inner, method="GET", url=URL)

    # What the inner call hands out is what the outer one decides on.
    assert limiter.run(outer, method="GET", url=URL).status_code == 200
    assert inner.calls == 3
    assert limiter.stats().total.waiting == 0


def test_a_call_inside_a_call_waits_for_no_slot(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock, first_flight=1)
    answer = limiter.run(lambda: limiter.run(Script(Response()), url=URL), url=URL)
    assert answer.status_code == 200
    assert clock.monotonic() == 0


def test_what_a_limiter_inside_has_decided_goes_through(run, clock: ManualClock) -> None:
    error = RateLimitExceeded("the inner one gave up")
    error.status = 429
    limiter = Limiter(clock=clock)
    with pytest.raises(RateLimitExceeded) as caught:
        run(limiter, Script(error, Response()))
    assert caught.value is error
    assert limiter.stats().total.refused == 0


def test_a_number_that_is_no_status_is_not_read_as_one(run, clock: ManualClock) -> None:
    job = Response(7)
    assert run(Limiter(clock=clock), Script(job)) is job


def test_a_task_that_outlives_the_call_it_was_started_in_is_not_nested(clock: ManualClock) -> None:
    async def go() -> int:
        limiter = Limiter(clock=clock)
        started: list[asyncio.Task[Any]] = []
        gate = asyncio.Event()

        async def background() -> Any:
            await gate.wait()
            return await limiter.arun(Script(refused(5), Response()).asynchronous, url=URL)

        async def outer() -> Response:
            started.append(asyncio.create_task(background()))
            return Response()

        await limiter.arun(outer, url=URL)
        gate.set()
        return (await started[0]).status_code

    assert asyncio.run(go()) == 200


def test_500_queued_calls_of_one_loop_all_succeed(fixed_window, clock: ManualClock) -> None:
    server: FixedWindow = fixed_window(limit=50, window=60)
    limiter = Limiter(clock=clock)

    async def call() -> int:
        async def send() -> Response:
            status, headers = server()
            return Response(status, headers)

        return (await limiter.arun(send, method="GET", url=URL)).status_code

    async def go() -> list[int]:
        return await asyncio.gather(*[call() for _ in range(500)])

    assert asyncio.run(go()) == [200] * 500
    assert server.refused == 0
    assert clock.monotonic() >= 9 * 60


def test_call_with_retry_needs_no_limiter(clock: ManualClock) -> None:
    answer = Response()
    assert call_with_retry(Script(refused(30), answer), clock=clock) is answer
    assert clock.monotonic() >= 30
    with pytest.raises(RateLimitExceeded):
        call_with_retry(Script(refused(30)), clock=clock, max_attempts=1)
    with pytest.raises(RateLimitExceeded):
        call_with_retry(Script(refused(30)), {"max_retry_after": 5}, clock=clock)


def test_acall_with_retry_is_its_twin(clock: ManualClock) -> None:
    answer = Response()
    assert asyncio.run(acall_with_retry(Script(refused(30), answer).asynchronous, clock=clock)) is answer
    assert clock.monotonic() >= 30
