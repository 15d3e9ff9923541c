"""The sans-IO call, driven by hand on a manual clock."""

from __future__ import annotations

import asyncio
import gc
import http
import sys

import pytest
import rampmeter
from rampmeter import Decision, Limiter, LimiterClosed, ManualClock, RateLimitExceeded

URL = "https://api.example.com/v1/items"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(auto_advance=False)


@pytest.fixture
def limiter(clock: ManualClock) -> Limiter:
    return Limiter(clock=clock, seed=1)


def refuse(limiter: Limiter, seconds: float) -> rampmeter.Call:
    """A call that was refused, so that the gate is held."""
    call = limiter.begin("GET", URL)
    assert call.poll().kind == "send"
    assert call.on_response(429, {"Retry-After": str(seconds)}).kind == "sleep"
    return call


def test_a_call_is_sent_answered_and_finished(limiter: Limiter) -> None:
    call = limiter.begin("GET", URL)
    assert call.poll() == Decision("send")
    assert call.on_response(200) == Decision("deliver", reason="answered")
    assert limiter.stats().total.in_flight == 1
    call.finish()
    assert limiter.stats().total.in_flight == 0


def test_a_refusal_holds_the_next_call_until_its_end(limiter: Limiter, clock: ManualClock) -> None:
    refuse(limiter, 30)
    other = limiter.begin("GET", URL)
    decision = other.poll()
    assert decision.kind == "sleep"
    assert 30 <= decision.seconds <= 30.5
    clock.advance(decision.seconds / 2)
    assert other.poll().kind == "sleep"


def test_a_wait_beyond_the_cap_raises_and_the_next_call_is_sent(limiter: Limiter) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    decision = call.on_response(429, {"Retry-After": "3600"})
    assert decision.kind == "raise"
    assert isinstance(decision.error, RateLimitExceeded)
    assert decision.error.retry_after == 3600
    assert limiter.begin("GET", URL).poll().kind == "send"


def test_a_decision_reads_like_a_tuple_of_four(limiter: Limiter) -> None:
    match refuse(limiter, 30).poll():
        case Decision("sleep", seconds, "held", None):
            assert seconds >= 30
        case other:
            pytest.fail(f"{other!r}")


def test_a_decision_is_checked_compared_and_hashed() -> None:
    assert Decision("sleep", 1.5, "held") == Decision("sleep", 1.5, "held")
    assert Decision("sleep", 1.5, "held") != Decision("sleep", 1.5, "spent")
    assert len({Decision("send"), Decision("send")}) == 1
    assert repr(Decision("sleep", 1.5, "held")) == "Decision(kind='sleep', seconds=1.5, reason='held')"
    with pytest.raises(ValueError, match="kind"):
        Decision("wait")
    with pytest.raises(ValueError, match="reason"):
        Decision("send", reason="mood")


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "30"},
        {"retry-after": ["30"]},
        {"Retry-After": 30},
        [("Retry-After", "30")],
        [(b"Retry-After", b"30")],
        [["Retry-After", "30"]],
        (("Retry-After", "30"),),
        {"Retry-After": "30", "X": None}.items(),
    ],
    ids=repr,
)
def test_headers_come_as_clients_have_them(limiter: Limiter, headers: object) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    assert call.on_response(http.HTTPStatus.TOO_MANY_REQUESTS, headers).seconds == pytest.approx(30, abs=0.6)


@pytest.mark.parametrize("headers", [["Retry-After"], [("a", "b", "c")], 5])
def test_what_is_no_headers_is_a_type_error(limiter: Limiter, headers: object) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    with pytest.raises(TypeError):
        call.on_response(429, headers)


@pytest.mark.parametrize(
    "value", ["-5", "nan", "1e999", str(2**64), "\udcff\ud800", "é", "", "1" * 1_000_000, b"\xff\xfe\x00"]
)
def test_hostile_headers_change_nothing_but_a_counter(limiter: Limiter, value: str | bytes) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    assert call.on_response(200, [("X-RateLimit-Remaining", value)]).kind == "deliver"
    assert limiter.begin("GET", URL).poll().kind == "send"
    assert limiter.stats().total.refused == 0


def test_a_with_block_finishes_a_delivered_call(limiter: Limiter) -> None:
    with limiter.begin("GET", URL) as call:
        call.poll()
        call.on_response(200)
    assert limiter.stats().total.in_flight == 0


def test_a_with_block_gives_up_a_call_without_outcome(limiter: Limiter) -> None:
    with pytest.raises(KeyError), limiter.begin("GET", URL) as call:
        call.poll()
        raise KeyError
    assert limiter.stats().total.in_flight == 0


def test_an_async_with_block_does_the_same(limiter: Limiter) -> None:
    async def go() -> None:
        async with limiter, limiter.begin("GET", URL) as call:
            call.poll()
            call.on_response(200)
        assert limiter.stats().total.in_flight == 0
        assert limiter.closed

    asyncio.run(go())


def test_a_dropped_call_gives_its_place_back(limiter: Limiter) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    assert limiter.stats().total.in_flight == 1
    del call
    gc.collect()
    assert limiter.stats().total.in_flight == 0


def test_a_waiting_call_is_woken_when_polling_is_worthwhile(limiter: Limiter, clock: ManualClock) -> None:
    first = refuse(limiter, 30)
    waiting = limiter.begin("GET", URL)
    woken: list[str] = []
    assert waiting.poll(lambda: woken.append("wake")).kind == "sleep"
    clock.advance(31)
    assert first.poll().kind == "send"
    assert first.on_response(200, {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49"}).kind == "deliver"
    assert woken == ["wake"]
    assert waiting.poll().kind == "send"


def test_calls_without_a_waker_are_listed(limiter: Limiter, clock: ManualClock) -> None:
    first = refuse(limiter, 30)
    waiting = limiter.begin("GET", URL)
    waiting.poll()
    clock.advance(31)
    first.poll()
    first.on_response(200, {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49"})
    assert limiter.take_wakes() == [waiting.id]


def test_a_waker_may_call_the_limiter(limiter: Limiter) -> None:
    waiting = refuse(limiter, 30)
    polled: list[Decision] = []
    waiting.poll(lambda: polled.append(waiting.poll()))
    limiter.close()
    assert [decision.kind for decision in polled] == ["raise"]


def test_a_waker_that_raises_harms_nobody(limiter: Limiter, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = refuse(limiter, 30)
    waiting.poll(lambda: 1 / 0)
    seen: list[type[BaseException] | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
    limiter.close()
    assert seen == [ZeroDivisionError]
    assert isinstance(waiting.poll().error, LimiterClosed)


def test_closing_raises_in_waiting_calls_and_in_later_ones(limiter: Limiter) -> None:
    waiting = refuse(limiter, 30)
    limiter.close()
    assert isinstance(waiting.poll().error, LimiterClosed)
    assert isinstance(limiter.begin("GET", URL).poll().error, LimiterClosed)


def test_a_deadline_that_cannot_be_met_raises_at_once(limiter: Limiter) -> None:
    refuse(limiter, 30)
    decision = limiter.begin("GET", URL, deadline=10).poll()
    assert isinstance(decision.error, RateLimitExceeded)
    assert decision.error.limit_name == "deadline"


def test_a_larger_priority_goes_first(limiter: Limiter, clock: ManualClock) -> None:
    first = refuse(limiter, 30)
    first.cancel()
    low, high = limiter.begin("GET", URL), limiter.begin("GET", URL, priority=1)
    low.poll()
    high.poll()
    clock.advance(31)
    assert low.poll().kind == "sleep"
    assert high.poll().kind == "send"


def test_a_spent_named_meter_does_not_hold_other_routes(limiter: Limiter) -> None:
    spent = limiter.begin("GET", "https://api.example.com/history/1")
    spent.poll()
    spent.on_response(
        200,
        {
            "RateLimit-History-Limit": "5",
            "RateLimit-History-Remaining": "0",
            "RateLimit-History-Reset": "60",
        },
    )
    spent.finish()
    assert limiter.begin("GET", "https://api.example.com/history/2").poll().kind == "sleep"
    assert limiter.begin("GET", "https://api.example.com/rest/2").poll().kind == "send"


def test_without_respect_for_remaining_a_spent_meter_holds_nobody(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock, respect_remaining=False)
    for _ in range(2):
        call = limiter.begin("GET", URL)
        assert call.poll().kind == "send"
        call.on_response(200, {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"})
        call.finish()


def test_a_cached_response_is_no_reading(limiter: Limiter) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    call.on_response(200, {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0"}, cached=True)
    call.finish()
    assert limiter.begin("GET", URL).poll().kind == "send"


def test_a_failure_of_unknown_kind_is_named(limiter: Limiter) -> None:
    call = limiter.begin("GET", URL)
    call.poll()
    with pytest.raises(rampmeter.ConfigError, match="kind"):
        call.on_failure("bad luck")


def test_a_call_knows_how_long_it_waited(limiter: Limiter, clock: ManualClock) -> None:
    call = refuse(limiter, 10)
    clock.advance(4)
    assert call.waited == 4
    clock.advance(10)
    assert call.poll().kind == "send"
    assert call.waited == 14
    assert call.attempts == 2


def test_the_module_time_is_a_clock() -> None:
    import time

    limiter = Limiter(clock=time)
    refuse(limiter, 30)
    assert limiter.begin("GET", URL).poll().kind == "sleep"
