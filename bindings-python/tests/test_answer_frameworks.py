"""Refusals as responses of frameworks, as their clients and a limiter read
them; and the documentation's examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fastapi
import flask
import httpx
import pytest
import rampmeter.flask
import rampmeter.starlette
from rampmeter import Limiter, ManualClock, Refusal, Signals, read_signals
from rampmeter.httpx import RateLimitTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

ANSWERS = {
    "windowed": Refusal.windowed(30, limit=100, window_seconds=60, policy="minute", hint="100 a minute"),
    "capacity": Refusal.capacity(4, policy="exports", hint="4 exports at a time"),
    "permanent": Refusal.permanent("the trial has ended", limit=10, status=403),
}
FORMS: dict[str, dict[str, Any]] = {
    "json": {},
    "problem": {"form": "problem"},
    "json-rpc": {"form": "json-rpc", "id": 7},
}

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "what-a-429-owes.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)


def check(kind: str, form: str, status: int, headers: Any, body: bytes) -> None:
    answer = ANSWERS[kind]
    rendered = answer.render(**FORMS[form])
    assert (status, body) == (rendered[0], rendered[2])
    assert {name: headers.get(name) for name in rendered[1]} == rendered[1]
    signals = read_signals(status, headers.items(), body)
    assert signals.refusal is not None
    assert (signals.refusal.kind, signals.wait) == (kind, answer.seconds)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ANSWERS)
def test_starlette_sends_the_answer(kind: str, form: str) -> None:
    async def refuse(_request: Request) -> Response:
        return rampmeter.starlette.refusal_response(ANSWERS[kind], **FORMS[form])

    with TestClient(Starlette(routes=[Route("/", refuse)])) as client:
        response = client.get("/")
    check(kind, form, response.status_code, response.headers, response.content)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ANSWERS)
def test_fastapi_sends_the_answer(kind: str, form: str) -> None:
    app = fastapi.FastAPI()

    @app.get("/", response_model=None)
    def refuse() -> Response:
        return rampmeter.starlette.refusal_response(ANSWERS[kind], **FORMS[form])

    with TestClient(app) as client:
        response = client.get("/")
    check(kind, form, response.status_code, response.headers, response.content)


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_exception_of_fastapi_with_the_answer_as_its_detail_is_read(kind: str) -> None:
    answer = ANSWERS[kind]
    app = fastapi.FastAPI()

    @app.get("/")
    def refuse() -> None:
        raise fastapi.HTTPException(answer.status, answer.json(), answer.headers)

    with TestClient(app) as client:
        response = client.get("/")
    for headers in (response.headers.items(), ()):
        signals = read_signals(response.status_code, headers, response.content)
        assert signals.refusal is not None
        assert (signals.refusal.kind, signals.refusal.hint) == (kind, answer.hint)
        assert (signals.wait, signals.refusal.limit) == (answer.seconds, answer.limit)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("ending", ["return", "abort"])
def test_flask_sends_the_answer(ending: str, kind: str, form: str) -> None:
    app = flask.Flask(__name__)

    @app.get("/")
    def refuse() -> flask.Response:
        response = rampmeter.flask.refusal_response(ANSWERS[kind], **FORMS[form])
        if ending == "abort":
            flask.abort(response)
        return response

    response = app.test_client().get("/")
    check(kind, form, response.status_code, response.headers, response.data)


def test_a_limiter_does_what_an_application_asks(clock: ManualClock) -> None:
    app = flask.Flask(__name__)
    answers = [Refusal.windowed(30), None]

    @app.get("/")
    def serve() -> flask.Response:
        answer = answers.pop(0)
        return flask.Response("served") if answer is None else rampmeter.flask.refusal_response(answer)

    transport = RateLimitTransport(Limiter(clock=clock, seed=1), httpx.WSGITransport(app=app))
    with httpx.Client(transport=transport, base_url="http://api.example.com") as client:
        response = client.get("/")
    assert (response.status_code, answers) == (200, [])
    assert 30 <= response.extensions["rampmeter"]["waited"] <= 30.5


def refusals_of(namespace: dict[str, Any]) -> list[Signals]:
    """What the example's application answers on ``/reports``."""
    app = namespace["app"]
    if "slots" in namespace:
        while namespace["slots"].acquire(blocking=False):
            pass
    if isinstance(app, flask.Flask):
        responses = [app.test_client().get("/reports") for _ in range(3)]
        heads = [(response.status_code, list(response.headers.items()), response.data) for response in responses]
    else:
        with TestClient(app) as client:
            heads = [
                (response.status_code, list(response.headers.items()), response.content)
                for response in (client.get("/reports") for _ in range(3))
            ]
    signals = [read_signals(*head) for head in heads]
    return [read for read in signals if read.refusal is not None]


def test_the_documentation_has_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("code", EXAMPLES, ids=lambda code: code.split()[1])
def test_an_example_of_the_documentation_runs(code: str) -> None:
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "what-a-429-owes.md", "exec"), namespace)
    refusals = refusals_of(namespace)
    assert refusals
    for signals in refusals:
        assert signals.refusal is not None
        assert signals.refusal.kind != "unknown"
        assert (signals.wait is not None) == (signals.refusal.kind == "windowed")
