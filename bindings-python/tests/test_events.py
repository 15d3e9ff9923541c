"""Events, counters and lines in the log."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from rampmeter import Event, Limiter, ManualClock

URL = "https://api.example.com/v1/items/17"


def refuse(limiter: Limiter, seconds: float, secret: str = "") -> None:
    call = limiter.begin("GET", URL, headers={"Authorization": f"Bearer {secret}"} if secret else None)
    call.poll()
    call.on_response(429, {"Retry-After": str(seconds), "X-RateLimit-Limit": "50", "Set-Cookie": "s=secret-cookie"})
    call.poll()


def test_a_listener_gets_each_event_with_its_fields(clock: ManualClock) -> None:
    events: list[Event] = []
    refuse(Limiter(on_event=events.append, clock=clock), 30)
    refused = next(event for event in events if event.kind == "refused")
    assert (refused.status, refused.method, refused.route, refused.attempt) == (429, "GET", "GET /v1/items/{}", 1)
    assert ("retry-after", "30") in [(name.lower(), value) for name, value in refused.headers]
    waiting = next(event for event in events if event.kind == "waiting")
    assert waiting.seconds >= 30
    assert waiting.reason == "held"
    assert [event.kind for event in events].index("refused") < [event.kind for event in events].index("waiting")


def test_the_event_of_a_wait_comes_before_the_wait(clock: ManualClock) -> None:
    at: list[float] = []

    def listen(event: Event) -> None:
        if event.kind == "waiting":
            at.append(clock.monotonic())

    limiter = Limiter(on_event=listen, clock=clock)
    answers = iter([(429, {"Retry-After": "30"}), (200, {})])
    limiter.run(lambda: next(answers), read=lambda answer: answer)
    assert at == [0]
    assert clock.monotonic() >= 30


def test_what_a_listener_raises_is_logged_and_harms_nothing(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    limiter = Limiter(on_event=lambda event: 1 / 0, clock=clock)
    refuse(limiter, 1)
    assert "on_event callback raised" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert limiter.stats().total.refused == 1


def test_an_interrupt_in_a_listener_reaches_the_caller(clock: ManualClock) -> None:
    def listen(event: Event) -> None:
        raise KeyboardInterrupt

    limiter = Limiter(on_event=listen, clock=clock)
    with pytest.raises(KeyboardInterrupt):
        refuse(limiter, 1)


def test_a_listener_may_use_the_limiter(clock: ManualClock) -> None:
    seen: list[int] = []
    limiter = Limiter(on_event=lambda event: seen.append(limiter.stats().total.refused), clock=clock)
    refuse(limiter, 1)
    assert 1 in seen


def test_events_can_be_taken_instead(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    refuse(limiter, 30)
    assert limiter.take_events() == []
    limiter.listen()
    refuse(limiter, 30)
    assert limiter.take_events()
    assert limiter.take_events() == []


def test_no_event_shows_a_secret(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    limiter = Limiter(on_event=events.append, clock=clock)
    refuse(limiter, 30, secret="hunter2hunter2")
    shown = repr(events) + repr([event.headers for event in events]) + caplog.text + repr(limiter.stats())
    assert events
    assert "hunter2" not in shown
    assert "secret-cookie" not in shown


def test_a_long_hold_is_one_warning_and_each_wait_a_debug_line(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "rampmeter")
    refuse(Limiter(clock=clock), 30)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "30" in warnings[0].getMessage()
    assert any(record.levelno == logging.DEBUG for record in caplog.records)


def test_a_short_hold_is_no_warning(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    refuse(Limiter(clock=clock), 1)
    assert caplog.records == []


def test_an_unconfigured_program_shows_the_warning_of_a_hold() -> None:
    code = """
import rampmeter
call = rampmeter.Limiter().begin("GET", "https://api.example.com/x")
call.poll()
call.on_response(429, {"Retry-After": "30"})
"""
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr
    assert "https://api.example.com" in shown
    assert "30" in shown


def test_counters_add_up(clock: ManualClock) -> None:
    limiter = Limiter(clock=clock)
    answers = iter([(429, {"Retry-After": "2"}), (200, {})])
    limiter.run(lambda: next(answers), read=lambda answer: answer)
    total = limiter.stats().total
    assert (total.sent, total.refused, total.accepted, total.raised, total.waiting) == (2, 1, 1, 0, 0)
    assert 2 <= total.slept <= 2.1
    assert [scope.sent for scope in limiter.stats().scopes] == [2]
