"""Replays vectors, offline, against this package.

A vector is a JSON object: either *signals* (a response head and what must be
read from it) or a *script* (steps in virtual time and the decisions that must
follow). A file holds one object or a list of them; folders are searched to any
depth. The same files are replayed in every language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rampmeter import ConfigError, Limiter, ManualClock, RateLimitExceeded, read_signals
from rampmeter._core import Call, Decision, Meter, Reading

Json = Any

ROUNDING = 1e-6
"""Clock readings are whole nanoseconds, vectors decimal seconds."""

START = 1000.0
"""The monotonic clock at a vector's zero. Its start is arbitrary: an engine that
takes zero for "never" shows it here."""


class Mismatch(Exception):
    """What was expected and what came."""


def run(paths: Sequence[Path]) -> bool:
    """Replays all vectors of these files and folders, prints each failure, then
    ``N passed, N failed``; true if none failed."""
    passed = failed = 0
    for title, replay in vectors(paths):
        try:
            replay()
        except Exception as error:
            # Whatever it is must not hide what the other vectors say.
            problem = str(error) if isinstance(error, Mismatch) else f"raised {error!r}"
            print(f"FAILED {title}")
            for line in problem.splitlines():
                print(f"    {line}")
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def vectors(paths: Sequence[Path]) -> Iterator[tuple[str, Callable[[], object]]]:
    """What each vector is called, and how it is replayed. A file that cannot be
    read fails like a vector."""
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            read = partial(json.loads, file.read_text(encoding="utf-8"))
            try:
                content = read()
            except ValueError:
                yield str(file), read
                continue
            for vector in content if isinstance(content, list) else [content]:
                name = vector.get("name") or vector.get("id") if isinstance(vector, dict) else None
                yield f"{file}: {name or '(no name)'}", partial(check, vector)


def check(vector: Json) -> None:
    """Replays one vector; raises ``Mismatch`` where it does not hold."""
    if "steps" in vector or "config_error" in vector:
        check_script(vector)
    elif "status" in vector and "expect" in vector:
        check_signals(vector)
    else:
        raise Mismatch("is no vector: it needs steps, a config_error, or a status with what to expect of it")


# ---------------------------------------------------------------- scripts


def check_script(vector: Json) -> None:
    expected = vector.get("config_error")
    clock = ManualClock(START, auto_advance=False)
    try:
        limiter = Limiter(vector.get("config") or {}, clock=clock)
    except ConfigError as error:
        if expected is None:
            raise Mismatch(f"the config is refused: {error}") from error
        if not names_option(error, expected):
            raise Mismatch(f"expected a ConfigError that names {expected}, got: {error}") from error
        return
    if expected is not None:
        raise Mismatch(f"expected a ConfigError that names {expected}, got none")
    Script(limiter, clock, vector).run()


def names_option(error: ConfigError, option: str) -> bool:
    """An error about a member of an option names the option, and one about a
    pair names both."""
    same = error.option == option if "." in option else error.option.split(".")[0] == option
    return same or option in re.findall(r"\w+", error.problem)


class Script:
    """A script on its way."""

    def __init__(self, limiter: Limiter, clock: ManualClock, vector: Json) -> None:
        limiter.listen()
        self.limiter = limiter
        self.clock = clock
        self.steps: list[Json] = vector.get("steps", [])
        self.calls: dict[str, Call] = {}
        self.events: list[str] = []
        self.at = 0.0
        wall = vector.get("wall")
        self.wall_at_zero: float | None = wall
        clock.set_wall(wall)

    def run(self) -> None:
        for number, step in enumerate(self.steps, 1):
            try:
                self.step(number, step)
            except Mismatch as mismatch:
                raise Mismatch(f"step {number} of {len(self.steps)}: {mismatch}\nin {json.dumps(step)}") from None

    def step(self, number: int, step: Json) -> None:
        self.at = step.get("at", self.at)
        self.clock.move_to(START + self.at)
        if "wall" in step:
            self.clock.set_wall(step["wall"])
        if "begin" in step:
            self.begin(step)
        elif "poll" in step:
            expect(step, self.call(step["poll"]).poll())
        elif "response" in step:
            decision = self.call(step["response"]).on_response(
                step["status"],
                step.get("headers"),
                body_text(step.get("body")),
                cached=step.get("cached", False),
                url=step.get("url"),
            )
            self.finish_unless_told(number, step["response"], decision)
            expect(step, decision)
        elif "failure" in step:
            decision = self.call(step["failure"]).on_failure(step.get("kind", "other"))
            self.finish_unless_told(number, step["failure"], decision)
            expect(step, decision)
        elif "settle" in step:
            try:
                self.call(step["settle"]).settle(amounts(step.get("cost")) or {})
            except ConfigError as error:
                refused_argument(step, error)
        elif "finish" in step:
            self.call(step["finish"]).finish()
        elif "cancel" in step:
            self.call(step["cancel"]).cancel()
        elif "meters" in step:
            if step.get("expect") is not None:
                expect_meters(step["expect"], self.limiter.meters(step["meters"]))
        elif step.get("close"):
            self.limiter.close()
        self.expect_events(step)

    def call(self, name: str) -> Call:
        if name not in self.calls:
            raise Mismatch(f"no call {name} was begun")
        return self.calls[name]

    def begin(self, step: Json) -> None:
        options = {name: step[name] for name in ("scope", "route", "deadline", "retry") if name in step}
        try:
            self.calls[step["begin"]] = self.limiter.begin(
                step.get("method", "GET"),
                step.get("url"),
                headers=step.get("headers"),
                cost=amounts(step.get("cost")),
                priority=step.get("priority", 0),
                **options,
            )
        except ConfigError as error:
            refused_argument(step, error)

    def finish_unless_told(self, number: int, name: str, decision: Decision) -> None:
        """What is delivered counts as finished at once, unless a later step says
        when."""
        told = any(step.get("finish") == name for step in self.steps[number:])
        if decision.kind == "deliver" and not told:
            self.call(name).finish()

    def expect_events(self, step: Json) -> None:
        self.events += [event.kind for event in self.limiter.take_events()]
        if "events" not in step:
            return
        happened, self.events = self.events, []
        left = list(happened)
        for kind in step["events"]:
            if kind not in left:
                raise Mismatch(f"expected the events {step['events']}, got {happened}")
            left.remove(kind)


def expect(step: Json, decision: Decision) -> None:
    expected = step.get("expect")
    if not isinstance(expected, dict):
        return
    if expected.get("decision", decision.kind) != decision.kind:
        raise Mismatch(f"expected {json.dumps(expected)}, got {describe(decision)}")
    seconds = expected.get("seconds")
    if seconds is not None and not (decision.seconds is not None and in_range(seconds, decision.seconds, 0.01)):
        raise Mismatch(f"expected to sleep {seconds} s, got {describe(decision)}")
    if expected.get("reason", decision.reason) != decision.reason:
        raise Mismatch(f"expected the reason {expected['reason']}, got {describe(decision)}")
    expect_error(expected, decision.error)


def expect_error(expected: Json, error: BaseException | None) -> None:
    name = expected.get("error")
    if name is not None and type(error).__name__ != name:
        raise Mismatch(f"expected the error {name}, got {describe_error(error)}")
    if "retry_after" in expected:
        expect_number("retry_after", expected["retry_after"], getattr(error, "retry_after", None), 0.01)
    limit_name = expected.get("limit_name")
    if limit_name is not None and getattr(error, "limit_name", None) != limit_name:
        raise Mismatch(f"expected the limit_name {limit_name}, got {describe_error(error)}")
    hint = expected.get("hint")
    if hint is not None and getattr(error, "hint", None) != hint:
        raise Mismatch(f"expected the hint {hint!r}, got {getattr(error, 'hint', None)!r}")
    if "limit" in expected:
        expect_number("limit", expected["limit"], getattr(error, "limit", None), 0.01)


def refused_argument(step: Json, error: ConfigError) -> None:
    expected = step.get("expect")
    if not isinstance(expected, dict) or "error" not in expected:
        raise Mismatch(f"expected no error, got {describe_error(error)}") from error
    expect_error(expected, error)


def describe(decision: Decision) -> str:
    if decision.kind == "sleep":
        return f"sleep {decision.seconds} s ({decision.reason})"
    if decision.kind == "raise":
        return f"raise {describe_error(decision.error)}"
    return f"{decision.kind} ({decision.reason})"


def describe_error(error: BaseException | None) -> str:
    fields = ""
    if isinstance(error, RateLimitExceeded):
        fields = f" (retry_after {error.retry_after}, limit_name {error.limit_name})"
    return f"{type(error).__name__}{fields}: {error}"


def expect_meters(expected: Json, meters: list[Meter]) -> None:
    for name, fields in expected.items():
        candidates = [meter for meter in meters if key(meter) == loose(name)]
        problems = []
        for meter in candidates:
            try:
                expect_meter(fields, meter)
            except Mismatch as mismatch:
                problems.append(str(mismatch))
        if not candidates:
            raise Mismatch(f"expected a meter {name}, got {', '.join(map(key, meters)) or 'none'}")
        if len(problems) == len(candidates):
            raise Mismatch(f"meter {name}: {' / '.join(problems)}")
    known = [loose(name) for name in expected]
    for meter in meters:
        if key(meter) not in known:
            raise Mismatch(f"expected no such meter, got {meter!r}")


def expect_meter(expected: Json, meter: Meter) -> None:
    expect_number("limit", expected.get("limit"), meter.limit, 0.01)
    expect_number("remaining", expected.get("remaining"), meter.remaining, 0.01)
    expect_number("window", expected.get("window"), meter.window, 0.01)
    wanted, reset = expected.get("reset"), meter.seconds_until_reset()
    # A reset that has passed and one that is unknown say the same.
    passed = reset is None or reset <= 0
    if not (passed and (wanted is None or in_range(wanted, 0.0, 1.0))):
        expect_number("reset", wanted, reset, 1.0)
    expect_text("unit", expected.get("unit"), meter.unit)
    expect_text("policy", expected.get("policy"), meter.policy)


# ---------------------------------------------------------------- signals


def check_signals(vector: Json) -> None:
    signals = read_signals(
        vector["status"], vector.get("headers"), body_text(vector.get("body")), now=vector.get("received_wall")
    )
    expected = vector["expect"]
    if expected.get("meters") is not None:
        try:
            expect_readings(expected["meters"], list(signals.meters))
        except Mismatch as mismatch:
            raise Mismatch(f"{mismatch}\nread: {signals.meters}") from None
    # What is derived from a meter is no explicit wait.
    wait = None if signals.wait_source == "reset" else signals.wait
    expect_number("retry_after_seconds", expected.get("retry_after_seconds"), wait, 0.01)
    if "class" in expected:
        kind = None if signals.refusal is None else signals.refusal.kind
        if kind != expected["class"]:
            raise Mismatch(f"class: expected {expected['class'] or 'no refusal'}, got {kind or 'no refusal'}")


def expect_readings(expected: Json, left: list[Reading]) -> None:
    for fields in expected:
        name = fields.get("name")
        named = [reading for reading in left if same_name(name, reading.name)]
        if not named:
            raise Mismatch(f"expected a meter {name}")
        reading = next((reading for reading in named if fits(fields, reading)), named[0])
        left.remove(reading)
        try:
            expect_reading(fields, reading)
        except Mismatch as mismatch:
            raise Mismatch(f"meter {name}: {mismatch}") from None
    if left:
        raise Mismatch(f"expected no such meter: {left[0]!r}")


def same_name(expected: str | None, actual: str | None) -> bool:
    return (expected is None) == (actual is None) and loose(expected or "") == loose(actual or "")


def fits(expected: Json, reading: Reading) -> bool:
    try:
        expect_reading(expected, reading)
    except Mismatch:
        return False
    return True


def expect_reading(expected: Json, reading: Reading) -> None:
    expect_number("limit", expected.get("limit"), reading.limit, 0.01)
    expect_number("remaining", expected.get("remaining"), reading.remaining, 0.01)
    expect_number("reset_in_seconds", expected.get("reset_in_seconds"), reading.reset, 1.0)
    expect_number("window_seconds", expected.get("window_seconds"), reading.window, 0.01)
    # A unit counts only where the engine claims one.
    if reading.unit is not None:
        expect_text("unit", expected.get("unit"), reading.unit)


# ------------------------------------------------------------- comparing


def key(meter: Meter) -> str:
    return loose(meter.name or "default")


def loose(name: str) -> str:
    """Names are compared without regard to case, ``-``, ``_`` and spaces."""
    return re.sub(r"[-_ ]", "", name).lower()


def body_text(body: Json) -> str | None:
    """A body as a vector writes it: text, or JSON to be written as text."""
    return body if body is None or isinstance(body, str) else json.dumps(body)


def amounts(cost: Json) -> dict[str, float] | None:
    """A cost as a vector writes it: amounts by unit, or requests alone."""
    return cost if cost is None or isinstance(cost, dict) else {"requests": cost}


def in_range(expected: Json, actual: float, tolerance: float) -> bool:
    """A number, or a range in which ``null`` leaves an end open."""
    if isinstance(expected, list):
        low, high = expected
        return (low is None or low - ROUNDING <= actual) and (high is None or actual <= high + ROUNDING)
    return bool(abs(expected - actual) <= tolerance)


def expect_number(field: str, expected: Json, actual: float | None, tolerance: float) -> None:
    """A number that may be absent on either side."""
    if expected is None and actual is None:
        return
    if expected is None or actual is None or not in_range(expected, actual, tolerance):
        absent = "absent"
        raise Mismatch(
            f"{field}: expected {absent if expected is None else expected}, got {absent if actual is None else actual}"
        )


def expect_text(field: str, expected: str | None, actual: str | None) -> None:
    """A text that is compared only if the vector gives it."""
    if expected is not None and (actual is None or loose(expected) != loose(actual)):
        raise Mismatch(f"{field}: expected {expected}, got {actual or 'absent'}")
