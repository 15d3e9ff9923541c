"""The pieces that need no limiter."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from rampmeter import (
    BucketRegistry,
    ConfigError,
    ManualClock,
    TokenBucket,
    decorrelated_jitter,
    equal_jitter,
    full_jitter,
    parse_retry_after,
    read_signals,
)

DATE = "Tue, 14 Nov 2023 22:13:50 GMT"  # 1 700 000 030


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30),
        (b"30", 30),
        (30, 30),
        (1.5, 1.5),
        ("1.5", 1.5),
        ("-5", None),
        ("", None),
        ("soon", None),
        (None, None),
    ],
)
def test_a_retry_after_is_parsed(value: str | bytes | float | None, seconds: float | None) -> None:
    assert parse_retry_after(value) == seconds


@pytest.mark.parametrize(
    "now",
    [
        1_700_000_000,
        1_700_000_000.0,
        datetime.fromtimestamp(1_700_000_000, timezone.utc),
        "Tue, 14 Nov 2023 22:13:20 GMT",
    ],
)
def test_a_date_is_read_against_now(now: float | datetime | str) -> None:
    assert parse_retry_after(DATE, now=now) == 30


def test_the_responses_own_date_goes_before_now() -> None:
    assert parse_retry_after(DATE, now=0, date="Tue, 14 Nov 2023 22:13:40 GMT") == 10


def test_without_now_the_system_clock_is_read() -> None:
    assert parse_retry_after("Fri, 01 Jan 2100 00:00:00 GMT") > 1e9
    assert parse_retry_after(DATE) == 0


def test_a_time_that_is_none_is_named() -> None:
    with pytest.raises(ConfigError, match="now"):
        parse_retry_after("30", now="yesterday")


def test_signals_are_read() -> None:
    signals = read_signals(
        429,
        {"Retry-After": "30", "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "40"},
        now=1_700_000_000,
    )
    assert (signals.wait, signals.wait_source) == (30, "retry-after")
    assert signals.refusal.kind == "windowed"
    [reading] = signals.meters
    assert (reading.name, reading.limit, reading.remaining, reading.reset) == (None, 50, 0, 40)


def test_a_refusals_body_is_read() -> None:
    body = b'{"type": "about:blank", "title": "Too Many Requests", "retryAfter": 7}'
    signals = read_signals(429, {"Content-Type": "application/problem+json"}, body)
    assert (signals.wait, signals.wait_source) == (7, "body")


def test_a_response_that_says_nothing_says_nothing() -> None:
    signals = read_signals(200)
    assert (signals.meters, signals.wait, signals.refusal, signals.age, signals.date) == ((), None, None, None, None)


def test_what_is_set_aside_is_said() -> None:
    [ignored] = read_signals(200, {"Retry-After": "soon"}).ignored
    assert ignored.field == "retry-after"
    assert ignored.why


def test_a_token_bucket_starts_full_and_refills() -> None:
    clock = ManualClock()
    bucket = TokenBucket(rate=2, burst=3, clock=clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    assert bucket.wait() == 0.5
    clock.advance(0.5)
    assert (bucket.wait(), bucket.available()) == (0, 1)
    assert bucket.take()
    assert bucket.wait(4) is None
    bucket.charge(2)
    assert bucket.wait() == 1.5


def test_a_bucket_that_cannot_be_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        TokenBucket(rate=0)
    assert caught.value.option == "rate"
    with pytest.raises(ConfigError) as caught:
        BucketRegistry(rate=1, burst=0.5)
    assert caught.value.option == "burst"


def test_a_registry_keeps_one_bucket_per_key() -> None:
    clock = ManualClock()
    registry = BucketRegistry(rate=1, burst=1, clock=clock)
    assert (registry.take("a"), registry.take("a"), registry.take("b")) == (True, False, True)
    assert registry.wait("a") == 1
    assert registry.available("c") == 1
    assert len(registry) == 3


def test_a_registry_forgets_full_buckets_when_there_are_too_many() -> None:
    registry = BucketRegistry(rate=1, burst=1, capacity=10, clock=ManualClock())
    for number in range(1000):
        registry.available(str(number))
    assert len(registry) <= 10


def test_jitters_stay_within_their_ends() -> None:
    assert full_jitter(2, base=1, cap=60, unit=0.5) == 2
    assert equal_jitter(2, base=1, cap=60, unit=0) == 2
    assert decorrelated_jitter(1, 2, base=1, cap=60, unit=0.5) == 3.5
    for step in range(40):
        assert 0 <= full_jitter(step, cap=10) <= 10
        assert 0 <= decorrelated_jitter(step, 1e6, cap=10) <= 10


def test_jitters_are_random_unless_told() -> None:
    assert len({full_jitter(5) for _ in range(20)}) > 10
