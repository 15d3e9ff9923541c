"""Holds what an application refuses in its own tests to what refusals owe.

Put it around the application, let the tests run, and ask at the end:

    from rampmeter.audit import RefusalAudit

    audit = RefusalAudit()
    client = TestClient(audit.asgi(app))  # FastAPI, Starlette, Django, ...
    app.wsgi_app = audit.wsgi(app.wsgi_app)  # Flask
    ...
    audit.check()

With pytest the fixture ``refusal_audit`` is one that checks itself when the
session ends.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from email.utils import formatdate
from typing import Any, TypeAlias

from rampmeter import _core

__all__ = ["RefusalAudit", "RefusalsDoNotAnswer"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
WSGIApplication: TypeAlias = Callable[..., Iterable[bytes]]
Headers: TypeAlias = list[tuple[str, str]]


class RefusalsDoNotAnswer(AssertionError):
    """A refusal does not say whether to come back, and when. The message is the
    audit's page."""


class RefusalAudit:
    """Records the refusals of an application and judges them as
    ``rampmeter audit`` does.

    With ``strict`` warnings count too: caches, browsers, counters. It may be
    shared by applications, threads and event loops.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        # Each once, in order.
        self._records: dict[str, None] = {}

    def asgi(self, app: ASGIApplication) -> ASGIApplication:
        """The ASGI application, with its responses recorded."""

        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            started: Message = {}
            chunks: list[bytes] = []

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start":
                    started.update(message)
                elif message["type"] == "http.response.body":
                    chunks.append(bytes(message.get("body", b"")))
                await send(message)

            try:
                await app(scope, receive, watched)
            finally:
                if started:
                    headers = [
                        (name.decode("latin-1"), value.decode("latin-1")) for name, value in started.get("headers", [])
                    ]
                    self.record(scope["method"], scope["path"], started["status"], headers, b"".join(chunks))

        return recorded

    def wsgi(self, app: WSGIApplication) -> WSGIApplication:
        """The WSGI application, with its responses recorded."""

        def recorded(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            started: list[tuple[str, Headers]] = []
            chunks: list[bytes] = []

            def watched(status: str, headers: Headers, *exc_info: Any) -> Callable[[bytes], object]:
                started[:] = [(status, list(headers))]
                write = start_response(status, headers, *exc_info)

                def writing(chunk: bytes) -> object:
                    chunks.append(chunk)
                    return write(chunk)

                return writing

            answered = app(environ, watched)

            def done() -> None:
                for status, headers in started:
                    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
                    self.record(environ["REQUEST_METHOD"], path, int(status[:3]), headers, b"".join(chunks))

            watching = _Watched(answered, chunks, done)
            # Clients of tests look at the status of an error and leave its body
            # unread; what may never end is no error.
            if started and int(started[0][0][:3]) >= 400:
                try:
                    return list(watching)
                finally:
                    watching.close()
            return watching

        return recorded

    def record(self, method: str, url: str, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Judges one response and keeps it if it is a refusal, or has other
        findings. For clients and frameworks that are neither ASGI nor WSGI."""
        fields = list(headers)
        # A server adds it to what an application answers.
        if not any(name.lower() == "date" for name, _ in fields):
            fields.append(("Date", formatdate(usegmt=True)))
        encoding = next((value.lower() for name, value in fields if name.lower() == "content-encoding"), "")
        text = _decoded(body, encoding).decode("utf-8", "replace")
        record = {"method": method, "url": url, "status": status, "headers": fields, "body": text or None}
        line = json.dumps(record)
        if self._judge(["--json"], [line])["judged"]:
            self._records[line] = None

    def report(self) -> dict[str, Any]:
        """What was found, as ``rampmeter audit --json`` says it."""
        if not self._records:
            return {"responses": 0, "refusals": 0, "unanswered": 0, "warnings": 0, "judged": [], "notes": []}
        return self._judge(["--json"], self._records)

    def check(self) -> None:
        """Raises ``RefusalsDoNotAnswer`` unless every refusal that was recorded
        says whether to come back, and when."""
        if not self._records:
            return
        page, status = _audit(["--strict"] if self._strict else [], self._records)
        if status:
            raise RefusalsDoNotAnswer(page.rstrip("\n"))

    def _judge(self, arguments: list[str], lines: Iterable[str]) -> dict[str, Any]:
        said, _ = _audit(arguments, lines)
        report: dict[str, Any] = json.loads(said)
        return report


def _audit(arguments: list[str], lines: Iterable[str]) -> tuple[str, int]:
    said = _core.audit([*arguments, "--color", "never"], "\n".join(lines).encode())
    assert said is not None, "the input was given"
    return said


def _decoded(body: bytes, encoding: str) -> bytes:
    if encoding in {"gzip", "deflate"}:
        try:
            # 32 and more: whichever of the two headers it has.
            return zlib.decompress(body, 32 + zlib.MAX_WBITS)
        except zlib.error:
            pass
    return body


class _Watched:
    """An application's iterable, with its chunks noted."""

    def __init__(self, answered: Iterable[bytes], chunks: list[bytes], done: Callable[[], None]) -> None:
        self._answered = answered
        self._chunks = chunks
        self._done: Callable[[], None] | None = done

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._answered:
            self._chunks.append(chunk)
            yield chunk
        self._end()

    def close(self) -> None:
        try:
            close = getattr(self._answered, "close", None)
            if close is not None:
                close()
        finally:
            self._end()

    def _end(self) -> None:
        done, self._done = self._done, None
        if done is not None:
            done()
