"""Starts rate-limiting servers that are not ours, each on a free port of the loopback interface.

    with express(limit=50, windowMs=2000, headers="draft-8") as server:
        ...  # send requests to server.url
        print(server.requests())

A server is stopped by its process id when the block ends.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
NGINX_FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")) / "nginx"
START_SECONDS = 30.0
SETTLE_SECONDS = 0.1


class Request(NamedTuple):
    """One request, as the server saw it."""

    arrival: float
    """Epoch seconds."""
    status: int
    method: str
    path: str
    body: int
    """Bytes."""


class Server:
    """A running server."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    def requests(self) -> list[Request]:
        """All requests answered so far, in order of arrival."""
        text, before = self._read(), None
        # A server notes a request a moment after its client has the answer.
        while text != before:
            time.sleep(SETTLE_SECONDS)
            text, before = self._read(), text
        return sorted(_parse(line) for line in text.splitlines())

    def _read(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    @property
    def accepted(self) -> int:
        return sum(request.status < 400 for request in self.requests())

    @property
    def refused(self) -> int:
        return sum(request.status in (429, 503) for request in self.requests())


def _parse(line: str) -> Request:
    fields = line.split()
    if len(fields) == 6:
        # nginx knows when it finished, and how long that took.
        finished, took, *rest = fields
        fields = [str(float(finished) - float(took)), *rest]
    arrival, status, method, path, body = fields
    return Request(float(arrival), int(status), method, path, 0 if body == "-" else int(body))


@contextmanager
def express(**options: object) -> Iterator[Server]:
    """Express with express-rate-limit or a token bucket; options in ``express.mjs``."""
    with _printing_its_port(["node", str(HERE / "express.mjs"), json.dumps(options)]) as server:
        yield server


@contextmanager
def slowapi(*, limit: int, window: int) -> Iterator[Server]:
    """Starlette with slowapi under uvicorn: ``limit`` requests in ``window`` seconds."""
    options = json.dumps({"limit": limit, "window": window})
    with _printing_its_port([sys.executable, str(HERE / "slowapi_app.py"), options]) as server:
        yield server


@contextmanager
def nginx(*, rate: int = 25, burst: int = 25, status: int | None = 429, hint: bool = False) -> Iterator[Server]:
    """nginx ``limit_req``: a bucket of ``burst`` requests that refills at ``rate`` per second.

    ``status`` is that of refusals (``None``: nginx's own choice, 503); with ``hint`` they carry ``Retry-After: 1``.
    """
    rules = [
        # nginx counts the burst beyond the request that is being served.
        f"limit_req zone=rate burst={burst - 1} nodelay;" if burst > 1 else "limit_req zone=rate;",
        f"limit_req_status {status};" if status else "",
        "error_page 429 @hint;" if hint else "",
        "root $folder; try_files /answer.txt =404;",
    ]
    with _nginx(rules, rate) as server:
        yield server


@contextmanager
def nginx_connections(*, cap: int = 10, seconds: float = 0.2) -> Iterator[Server]:
    """nginx ``limit_conn``: ``cap`` requests at a time, each taking ``seconds``; what is above gets a bare 429."""
    with express(headers="none", delayMs=round(seconds * 1000)) as upstream:
        rules = [
            f"limit_conn inflight {cap};",
            "limit_conn_status 429;",
            f"proxy_pass {upstream.url};",
        ]
        with _nginx(rules, rate=1) as server:
            yield server


def find_nginx() -> str | None:
    """The nginx to use: of the environment, of the system, or the one that ``get-nginx`` unpacked."""
    named = os.environ.get("NGINX_BINARY")
    if named:
        return named
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", str(NGINX_FOLDER)])
    return shutil.which("nginx", path=path)


@contextmanager
def _nginx(rules: list[str], rate: int) -> Iterator[Server]:
    binary = find_nginx()
    if binary is None:
        raise RuntimeError("nginx is needed: install it, or name it in NGINX_BINARY")
    with _folder() as folder:
        (folder / "answer.txt").write_text("ok\n")
        log = folder / "requests.log"
        port = _free_port()
        values = {"folder": str(folder), "log": str(log), "port": port, "rate": rate}
        values["rules"] = string.Template("\n            ".join(filter(None, rules))).substitute(values)
        template = string.Template((HERE / "nginx.conf.in").read_text())
        (folder / "nginx.conf").write_text(template.substitute(values))
        command = [binary, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
        with _process(command) as process:
            _await_connection(process, port)
            yield Server(f"http://127.0.0.1:{port}", log)


@contextmanager
def _printing_its_port(command: list[str]) -> Iterator[Server]:
    with _folder() as folder:
        log = folder / "requests.log"
        with _process([*command, str(log)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
            line = process.stdout.readline() if readable else ""
            if not line.strip().isdigit():
                raise RuntimeError(f"{command[0]} did not say on which port it listens")
            yield Server(f"http://127.0.0.1:{line.strip()}", log)


@contextmanager
def _process(command: list[str], stdout: int | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, text=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _await_connection(process: subprocess.Popen[str], port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"nginx ended with status {process.returncode} instead of listening")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"nginx does not listen on port {port}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rampmeter-") as folder:
        yield Path(folder)
