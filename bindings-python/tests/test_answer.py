"""Refusals as a server writes them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from rampmeter import Answer, ConfigError, Refusal, _core, read_signals

ANSWERS = {
    "windowed": Refusal.windowed(30, limit=100, window_seconds=60, policy="minute", hint="100 a minute"),
    "capacity": Refusal.capacity(4, policy=["exports", "all"], hint="4 exports at a time"),
    "permanent": Refusal.permanent("the trial has ended", limit=10, status=403),
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("form", _core.names("form"))
def test_what_is_written_is_read_back(kind: str, form: Any) -> None:
    answer = ANSWERS[kind]
    status, headers, body = answer.render(form)
    for fields in (headers, {}):
        signals = read_signals(status, fields, body)
        assert signals.wait == answer.seconds
        assert signals.refusal is not None
        assert signals.refusal.kind == answer.kind == kind
        assert (signals.refusal.limit, signals.refusal.hint) == (answer.limit, answer.hint)
        assert signals.refusal.meter == next(iter(answer.policies), None)


def test_the_audit_finds_no_fault_in_what_is_written() -> None:
    suggested = Refusal.capacity(suggested_seconds=5, status=503)
    records = []
    for answer in [*ANSWERS.values(), suggested, Refusal.windowed(5, exposed=True)]:
        for form in _core.names("form"):
            status, headers, body = answer.render(form)  # type: ignore[arg-type]
            records.append(json.dumps({"status": status, "headers": headers, "body": body.decode()}))
    audited = _core.audit(["--strict"], "\n".join(records).encode())
    assert audited is not None
    text, code = audited
    assert code == 0, text
    assert f"{len(records)} refusals" in text


def test_an_answer_shows_what_it_says() -> None:
    answer = ANSWERS["windowed"]
    assert (answer.status, answer.seconds, answer.limit) == (429, 30, 100)
    assert answer.headers == {
        "Retry-After": "30",
        "RateLimit-Policy": '"minute";q=100;w=60',
        "RateLimit": '"minute";r=0;t=30',
        "Cache-Control": "no-store",
    }
    assert repr(answer) == '<Answer windowed seconds=30 hint="100 a minute">'


def test_the_forms_are_those_of_render() -> None:
    answer = ANSWERS["capacity"]
    assert json.loads(answer.render()[2]) == answer.json()
    status, headers, body = answer.render("problem")
    assert json.loads(body) == answer.problem()
    assert (status, headers["Content-Type"]) == (429, "application/problem+json")
    assert json.loads(answer.render("json-rpc", id="call-1")[2]) == answer.json_rpc("call-1")
    assert answer.json_rpc(7)["error"]["data"] == answer.json()


@pytest.mark.parametrize(
    ("argument", "seconds"),
    [
        ({"seconds": 0}, 1),
        ({"seconds": 1.01}, 2),
        ({"seconds": timedelta(minutes=1)}, 60),
        ({"until": datetime(2026, 8, 6, 7, 10, tzinfo=timezone.utc)}, 200),
        ({"until": 1_786_000_000.5}, 1),
        ({"until": "Thu, 06 Aug 2026 07:06:00 GMT"}, 1),
        ({"until_next": "minute"}, 20),
        ({"until_next": "day"}, 60_800),
        ({"until_next": 300}, 200),
        ({"until_next": timedelta(minutes=5)}, 200),
    ],
)
def test_a_window_ends_where_the_argument_says(argument: dict[str, Any], seconds: int) -> None:
    now = datetime(2026, 8, 6, 7, 6, 40, tzinfo=timezone.utc)
    assert Refusal.windowed(**argument, now=now).seconds == seconds


def test_the_clock_is_the_systems_unless_given() -> None:
    later = datetime.now(timezone.utc) + timedelta(seconds=3600)
    assert Refusal.windowed(until=later).seconds in {3599, 3600}
    assert 1 <= (Refusal.windowed(until_next="hour").seconds or 0) <= 3600


def test_a_suggested_wait_is_marked_as_one() -> None:
    answer = Refusal.capacity(suggested_seconds=5, status=503)
    assert answer.status == 503
    assert (answer.headers["Retry-After"], answer.json()["retryAfterSuggested"]) == ("5", True)
    assert "RateLimit" not in answer.headers


def test_browsers_may_read_what_is_exposed() -> None:
    answer = Refusal.windowed(5, exposed=True)
    assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: Refusal.capacity(seconds=5),  # type: ignore[call-arg]
        lambda: Refusal.permanent(suggested_seconds=5),  # type: ignore[call-arg]
        lambda: Refusal.windowed(5, status=503),  # type: ignore[call-arg]
        lambda: Answer(),
    ],
)
def test_what_contradicts_the_class_has_no_argument(refuse: Any) -> None:
    with pytest.raises(TypeError):
        refuse()


@pytest.mark.parametrize(
    ("refuse", "option"),
    [
        (lambda: Refusal.windowed(), "seconds"),
        (lambda: Refusal.windowed(5, until_next="day"), "until_next"),
        (lambda: Refusal.windowed(until_next="fortnight"), "until_next"),  # type: ignore[arg-type]
        (lambda: Refusal.windowed(-1), "seconds"),
        (lambda: Refusal.windowed(until="soon"), "until"),
        (lambda: Refusal.windowed(5, unit="concurrent-requests"), "unit"),
        (lambda: Refusal.windowed(5, policy="tägliche"), "policy"),
        (lambda: Refusal.capacity(-1), "limit"),
        (lambda: Refusal.capacity(status=403), "status"),  # type: ignore[arg-type]
        (lambda: Refusal.permanent(status=503), "status"),  # type: ignore[arg-type]
        (lambda: ANSWERS["windowed"].render("xml"), "form"),  # type: ignore[arg-type]
        (lambda: ANSWERS["windowed"].render("problem", id=1), "id"),
        (lambda: ANSWERS["windowed"].json_rpc([]), "id"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_is_an_error_that_names_the_argument(refuse: Any, option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse()
    assert caught.value.option == option
