"""The guard of an application's own tests, around real applications."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import flask
import pytest
from fastapi.testclient import TestClient
from rampmeter import Refusal
from rampmeter.audit import RefusalAudit, RefusalsDoNotAnswer
from rampmeter.flask import refusal_response

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "tests" / "guards" / "fastapi_app.py"
GUIDE = (ROOT / "docs" / "audit.md").read_text()
CONFTEST = re.search(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
SITES = re.findall(r'^@app\.get\("/(?!items)(.+)"\)$', APP.read_text(), re.MULTILINE)
TESTS = f"""
import pytest

@pytest.mark.parametrize("site", {SITES!r})
def test_it_refuses(client, site):
    assert client.get("/" + site).status_code == 429

def test_it_serves(client):
    assert client.get("/items").status_code == 200
"""


def suite(pytester: pytest.Pytester, sites: list[str] = SITES) -> None:
    """The application's own tests, guarded as the documentation shows it."""
    assert CONFTEST
    pytester.makepyfile(app=APP.read_text(), conftest=CONFTEST[1], test_app=TESTS.replace(repr(SITES), repr(sites)))


def test_there_are_nine_sites() -> None:
    assert len(SITES) == 9


def test_the_run_fails_for_exactly_the_eight_sites_that_do_not_answer(pytester: pytest.Pytester) -> None:
    suite(pytester)
    # Where `CI` is set, pytest's closing summary repeats whole messages.
    result = pytester.runpytest_subprocess("-q", "-rN")
    result.assert_outcomes(passed=10, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = result.stdout.str()
    assert "9 refusals: 8 do not say whether to come back, and when" in said
    assert set(re.findall(r"GET /(\S+)", said)) == set(SITES)
    assert said.count("as far as can be read") == 8
    assert re.search(r"GET /whole\n  refused +windowed: come back in 30 s\n", said)


def test_the_run_passes_where_every_refusal_answers(pytester: pytest.Pytester) -> None:
    suite(pytester, ["whole"])
    result = pytester.runpytest_subprocess("-q")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


def test_warnings_fail_the_run_where_the_ini_file_says_so(pytester: pytest.Pytester) -> None:
    app = APP.read_text().replace(
        '429, {"Retry-After": "30"})', '429, {"Retry-After": "30", "Cache-Control": "public"})', 1
    )
    suite(pytester, ["whole"])
    pytester.makepyfile(app=app)
    assert pytester.runpytest_subprocess("-q").ret == pytest.ExitCode.OK
    pytester.makeini("[pytest]\nrefusal_audit_strict = true\n")
    result = pytester.runpytest_subprocess("-q")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "cacheable" in result.stdout.str()


def test_a_run_that_does_not_ask_for_it_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        app=APP.read_text(),
        test_app="""
        import sys
        from app import app
        from fastapi.testclient import TestClient

        def test_it_refuses():
            assert TestClient(app).get("/bare").status_code == 429
            assert "rampmeter.audit" not in sys.modules
        """,
    )
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)


def application() -> Any:
    """The FastAPI application of the suite above."""
    namespace: dict[str, Any] = {"__name__": "app"}
    exec(compile(APP.read_text(), APP, "exec"), namespace)
    return namespace["app"]


@pytest.mark.parametrize("site", SITES)
def test_every_site_is_judged_alone_as_in_the_suite(site: str) -> None:
    audit = RefusalAudit()
    assert TestClient(audit.asgi(application())).get(f"/{site}").status_code == 429
    assert audit.report()["refusals"] == 1
    if site == "whole":
        audit.check()
    else:
        with pytest.raises(RefusalsDoNotAnswer, match=f"GET /{site}"):
            audit.check()


def test_an_answer_is_not_kept() -> None:
    audit = RefusalAudit()
    assert TestClient(audit.asgi(application())).get("/items").status_code == 200
    assert audit.report()["responses"] == 0
    audit.check()


def test_what_breaks_in_the_application_breaks_through() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        TestClient(RefusalAudit().asgi(broken)).get("/")


def flask_app(audit: RefusalAudit) -> Any:
    app = flask.Flask("guarded")

    @app.get("/bare")
    def bare() -> Any:
        flask.abort(429)

    @app.get("/whole")
    def whole() -> Any:
        return refusal_response(Refusal.windowed(30))

    app.wsgi_app = audit.wsgi(app.wsgi_app)  # type: ignore[method-assign]
    return app.test_client()


def test_a_wsgi_application_is_judged_alike() -> None:
    audit = RefusalAudit(strict=True)
    client = flask_app(audit)
    assert client.get("/whole").status_code == 429
    audit.check()
    assert client.get("/bare").status_code == 429
    with pytest.raises(RefusalsDoNotAnswer, match="GET /bare") as raised:
        audit.check()
    assert "2 refusals: 1 does not say" in str(raised.value)


def test_what_a_wsgi_application_writes_is_heard_and_its_answer_is_closed() -> None:
    closed = []

    class Answer(list[bytes]):
        def close(self) -> None:
            closed.append(True)

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        write = start_response("429 Too Many Requests", [("Retry-After", "30"), ("Content-Type", "application/json")])
        write(b'{"retry": true, ')
        return Answer([b'"retryAfter": 30}'])

    audit = RefusalAudit(strict=True)
    answered = audit.wsgi(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/x"}, lambda *_: lambda _: None)
    assert list(answered) == [b'"retryAfter": 30}']
    assert closed == [True]
    assert audit.report()["refusals"] == 1
    audit.check()


def test_a_stream_of_a_wsgi_application_is_not_read_ahead() -> None:
    given = []

    def app(environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        for number in range(3):
            given.append(number)
            yield b"x"

    stream = iter(RefusalAudit().wsgi(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/x"}, lambda *_: None))
    next(stream)
    assert given == [0]


def test_a_coded_body_is_decoded() -> None:
    audit = RefusalAudit(strict=True)
    headers = [("Content-Encoding", "gzip"), ("Content-Type", "application/json"), ("Retry-After", "30")]
    audit.record("GET", "/x", 429, headers, gzip.compress(b'{"retry": true, "retryAfter": 30}'))
    audit.check()


def test_a_date_is_that_of_the_server_that_would_add_it() -> None:
    audit = RefusalAudit(strict=True)
    headers = [("Content-Type", "application/json"), ("Retry-After", "30")]
    audit.record("GET", "/x", 429, headers, b'{"retry": true, "retryAfter": 30}')
    assert audit.report()["judged"][0]["findings"] == []
