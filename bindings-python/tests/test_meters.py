"""What the server last said, read by name."""

from __future__ import annotations

import pytest
from rampmeter import Limiter, ManualClock, UsageError


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(auto_advance=False)


@pytest.fixture
def limiter(clock: ManualClock) -> Limiter:
    return Limiter(clock=clock)


def hear(limiter: Limiter, url: str, headers: dict[str, str]) -> None:
    with limiter.begin("GET", url) as call:
        call.poll()
        call.on_response(200, headers)


NAMED = {"RateLimit-Rest-Limit": "50", "RateLimit-Rest-Remaining": "42", "RateLimit-Rest-Reset": "60"}


def test_a_named_meter_is_an_attribute(limiter: Limiter) -> None:
    hear(limiter, "https://api.example.com/x", NAMED)
    rest = limiter.rate_limit.rest
    assert (rest.limit, rest.remaining, rest.exhausted) == (50, 42, False)
    assert isinstance(rest.remaining, int)
    assert limiter.rate_limit["REST"].remaining == 42
    assert list(limiter.rate_limit) == ["rest"]


def test_an_unnamed_meter_is_the_default_one(limiter: Limiter) -> None:
    hear(limiter, "https://api.example.com/x", {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0"})
    assert limiter.rate_limit.default.exhausted
    assert limiter.rate_limit.default.name is None


def test_absence_is_not_zero(limiter: Limiter) -> None:
    hear(limiter, "https://api.example.com/x", {"X-RateLimit-Limit": "50"})
    meter = limiter.rate_limit.default
    assert meter.remaining is None
    assert meter.exhausted is False
    assert meter.seconds_until_reset() is None


def test_an_unknown_name_gives_a_meter_of_which_nothing_is_known(limiter: Limiter) -> None:
    meter = limiter.rate_limit.history
    assert (meter.limit, meter.remaining, meter.exhausted, meter.window, meter.policy) == (
        None,
        None,
        False,
        None,
        None,
    )
    assert repr(meter) == "<Meter nothing known>"


def test_a_reading_ages(limiter: Limiter, clock: ManualClock) -> None:
    hear(limiter, "https://api.example.com/x", NAMED)
    meter = limiter.rate_limit.rest
    assert meter.seconds_until_reset() == 60
    clock.advance(45)
    assert meter.seconds_until_reset() == 15
    clock.advance(45)
    assert meter.seconds_until_reset() == 0


def test_with_several_scopes_the_scope_must_be_named(limiter: Limiter) -> None:
    hear(limiter, "https://api.example.com/x", NAMED)
    hear(limiter, "https://other.example.com/x", NAMED | {"RateLimit-Rest-Remaining": "7"})
    with pytest.raises(UsageError, match=r"limiter\.scope"):
        limiter.rate_limit.rest  # noqa: B018
    assert limiter.scope("https://other.example.com/anything").rate_limit.rest.remaining == 7
    assert {meter.scope for meter in limiter.meters()} == {"https://api.example.com", "https://other.example.com"}
    assert [meter.remaining for meter in limiter.scope("https://api.example.com").meters()] == [42]


def test_two_accounts_do_not_share_a_meter(limiter: Limiter) -> None:
    for account, remaining in (("first", "0"), ("second", "9")):
        with limiter.begin("GET", "https://api.example.com/x", headers={"Authorization": f"Bearer {account}"}) as call:
            assert call.poll().kind == "send"
            call.on_response(200, NAMED | {"RateLimit-Rest-Remaining": remaining})
    assert sorted(meter.remaining for meter in limiter.meters()) == [0, 9]
    assert "first" not in repr(limiter.stats()) + repr(limiter.scopes())


def test_a_route_may_be_named(limiter: Limiter) -> None:
    with limiter.begin("GET", "https://api.example.com/x", route="search", scope="tenant 7") as call:
        call.poll()
        call.on_response(200, NAMED)
    assert limiter.scope("tenant 7").rate_limit.rest.remaining == 42


def test_private_names_are_no_meters(limiter: Limiter) -> None:
    assert not hasattr(limiter.rate_limit, "__wrapped__")
