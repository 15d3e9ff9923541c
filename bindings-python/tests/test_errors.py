"""The error family: fields, pickles, copies."""

from __future__ import annotations

import copy
import pickle

import pytest
import rampmeter
from rampmeter import ConfigError, Limiter, ManualClock, RateLimitError, RateLimitExceeded


def exceeded() -> RateLimitExceeded:
    call = Limiter(clock=ManualClock()).begin("GET", "https://api.example.com/x")
    call.poll()
    decision = call.on_response(429, {"Retry-After": "3600", "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0"})
    assert isinstance(decision.error, RateLimitExceeded)
    return decision.error


def test_the_error_says_what_was_asked_and_which_cap_it_broke() -> None:
    error = exceeded()
    assert error.retry_after == 3600
    assert error.limit_name == "max_retry_after"
    assert error.limit_value == 120
    assert error.status == 429
    assert error.attempts == 1
    assert error.scope == "https://api.example.com"
    assert "3600 s" in str(error)


def test_all_are_one_family_except_the_config_error() -> None:
    for name in ("RateLimitExceeded", "PermanentlyRefused", "LimiterClosed", "UsageError"):
        assert issubclass(getattr(rampmeter, name), RateLimitError)
    assert issubclass(ConfigError, ValueError)
    assert not issubclass(ConfigError, RateLimitError)


def test_every_field_is_there_on_every_error() -> None:
    assert rampmeter.LimiterClosed("closed").retry_after is None


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_errors_are_copied_and_pickled_with_their_fields(through) -> None:
    error = exceeded()
    error.response = object()
    twin = through(error)
    assert type(twin) is RateLimitExceeded
    assert str(twin) == str(error)
    assert (twin.retry_after, twin.limit_name, twin.scope, twin.attempts) == (
        3600,
        "max_retry_after",
        "https://api.example.com",
        1,
    )
    assert twin.response is None


def test_a_pickled_config_error_keeps_the_option() -> None:
    with pytest.raises(ConfigError) as caught:
        Limiter(max_attempts=0)
    twin = pickle.loads(pickle.dumps(caught.value))
    assert (twin.option, twin.problem, str(twin)) == (
        caught.value.option,
        caught.value.problem,
        str(caught.value),
    )


def test_driving_a_call_out_of_turn_is_a_usage_error_and_changes_nothing() -> None:
    call = Limiter(clock=ManualClock()).begin("GET", "https://api.example.com/x")
    decision = call.on_response(200)
    assert isinstance(decision.error, rampmeter.UsageError)
    assert call.poll().kind == "send"
