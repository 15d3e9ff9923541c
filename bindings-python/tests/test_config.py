"""Options: names, units, errors that name them."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import timedelta

import pytest
from rampmeter import Config, ConfigError, Limiter, ManualClock, _core

OPTIONS = [option for option in json.loads(_core.options_json()) if "." not in option["name"]]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option["name"])
def test_every_option_of_the_core_has_its_default(option: dict[str, object]) -> None:
    derived = {"max_total_sleep": 120, "max_rate_limit_duration": 1800}
    name = str(option["name"])
    assert getattr(Config(), name) == derived.get(name, option["default"])


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option["name"])
def test_every_option_can_be_given_to_the_limiter(option: dict[str, object]) -> None:
    name = str(option["name"])
    limiter = Limiter(**{name: option["default"]})
    assert getattr(limiter.config, name) == option["default"]


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ConfigError, match="max_atempts is unknown") as caught:
        Limiter(max_atempts=3)
    assert caught.value.option == "max_atempts"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", 1.5),
        ("max_attempts", "many"),
        ("max_retry_after", -1),
        ("max_retry_after", float("nan")),
        ("max_retry_after", float("inf")),
        ("max_retry_after", object()),
        ("beyond_max", "ignore"),
        ("enabled", 1),
        ("header_priority", ["retry-later"]),
        ("retry_statuses", [42]),
        ("backoff.kind", {"kind": "random"}),
        ("pace.rate", {"rate": 0, "burst": 1}),
        ("pace.speed", {"speed": 1}),
        ("first_flight", 0),
        ("seed", -1),
        ("classify", "windowed"),
    ],
)
def test_a_bad_value_is_a_config_error_that_names_the_option(option: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Limiter(**{option.split(".")[0]: value})
    assert caught.value.option == option
    assert isinstance(caught.value, ValueError)


def test_an_impossible_pair_is_a_config_error_that_names_both() -> None:
    with pytest.raises(ConfigError, match=r"max_rate_limit_duration.*max_retry_after"):
        Limiter(max_retry_after=100, max_rate_limit_duration=150)


def test_a_duration_may_be_a_timedelta() -> None:
    config = Config(max_retry_after=timedelta(minutes=1), backoff={"base": timedelta(milliseconds=500)})
    assert config.max_retry_after == 60
    assert config.backoff["base"] == 0.5


def test_none_is_no_limit_and_zero_is_zero() -> None:
    assert Config(max_queue_wait=None).max_queue_wait is None
    assert Config(max_queue_wait=0).max_queue_wait == 0


def test_presets_take_options_on_top() -> None:
    config = Config.web(max_attempts=3)
    assert (config.max_retry_after, config.max_attempts) == (5, 3)
    assert Config.background().max_attempts is None
    assert repr(config) == "Config.web(max_attempts=3)"


def test_a_limiter_takes_a_config_a_mapping_and_options_on_top() -> None:
    assert Limiter(Config(max_attempts=3)).config.max_attempts == 3
    assert Limiter({"max_attempts": 3}).config.max_attempts == 3
    assert Limiter(Config.web(max_attempts=3), max_attempts=4).config == Config.web(max_attempts=4)
    with pytest.raises(ConfigError, match="config must be"):
        Limiter(3)


def test_a_config_is_immutable() -> None:
    with pytest.raises(AttributeError):
        Config().max_attempts = 3
    with pytest.raises(AttributeError):
        Config().no_such_option  # noqa: B018


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_config_is_copied_and_pickled(through) -> None:
    config = Config.web(max_attempts=3, backoff={"kind": "equal"})
    assert through(config) == config
    assert repr(through(config)) == repr(config)


def test_a_pickled_limiter_is_a_new_one_of_the_same_options() -> None:
    limiter = Limiter(max_retry_after=30, clock=ManualClock(), on_event=print)
    limiter.begin("GET", "https://api.example.com/x").poll()
    twin = pickle.loads(pickle.dumps(limiter))
    assert twin.config == limiter.config
    assert twin.scopes() == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [("deadline", -1), ("deadline", float("nan")), ("cost", {"requests": -1}), ("cost", 5), ("cost", {"tokens": "x"})],
)
def test_a_bad_argument_of_a_call_is_named(argument: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Limiter().begin("GET", "https://api.example.com/x", **{argument: value})
    assert caught.value.option == argument


def test_a_url_without_origin_needs_a_scope() -> None:
    with pytest.raises(ConfigError) as caught:
        Limiter().begin("GET", "/relative")
    assert caught.value.option in ("url", "scope")
    assert Limiter().begin("GET", "/relative", scope="mine").poll().kind == "send"


def test_a_clock_must_be_one_and_a_listener_must_be_callable() -> None:
    with pytest.raises(ConfigError, match="clock"):
        Limiter(clock=object())
    with pytest.raises(ConfigError, match="on_event"):
        Limiter(on_event="print")


def test_a_rule_of_the_callers_own_is_asked_first() -> None:
    seen = []

    def classify(status, headers, body):
        seen.append((status, headers, body))
        return ("windowed", timedelta(seconds=7)) if status == 200 and body == b"slow down" else None

    limiter = Limiter(classify=classify, clock=ManualClock(), seed=1)
    call = limiter.begin("GET", "https://api.example.com/x")
    call.poll()
    headers = {"X": "1"}
    decision = call.on_response(200, headers, b"slow down")
    assert decision.kind == "sleep"
    assert 7 <= decision.seconds <= 7.2
    assert seen == [(200, headers, b"slow down")]


def test_a_rule_may_say_that_a_429_is_no_refusal() -> None:
    limiter = Limiter(classify=lambda status, headers, body: (None, None), clock=ManualClock())
    call = limiter.begin("GET", "https://api.example.com/x")
    call.poll()
    assert call.on_response(429).kind == "deliver"


@pytest.mark.parametrize("answer", ["tomorrow", 5, ("windowed", "soon"), ("windowed", -1), ("windowed", 1, 2)])
def test_a_rule_that_answers_nonsense_is_named(answer: object) -> None:
    limiter = Limiter(classify=lambda status, headers, body: answer)
    call = limiter.begin("GET", "https://api.example.com/x")
    call.poll()
    with pytest.raises(ConfigError, match="classify"):
        call.on_response(429)
