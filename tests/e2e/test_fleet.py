"""200 concurrent calls against servers that are not ours: how many are refused, and how long it takes.

Two figures are shown for each server and language: refused sends per accepted one, which is held against a bound, and
the time over that of a client that knows the server's state at every moment.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
import servers
from clients import CLIENTS, run

CALLS = 200
# Cells mostly wait; more at a time than this would measure the machine.
AT_A_TIME = 3
# A cell that is out of bounds is measured again, alone, so often.
AGAIN = 2
# Times are printed to be read. What fails a run is a fleet that takes twice as
# long as it should: less than that a busy machine does by itself.
BUSY = 2.0


@dataclass(frozen=True)
class Row:
    """A server, the time that a perfect client needs which obeys it, and what is allowed."""

    name: str
    start: Callable[[], AbstractContextManager[servers.Server]]
    optimal: float
    """Seconds."""
    refused: float
    """Refused sends per accepted one, at most."""
    time: float
    """Times the optimal time, as it should be at most on a quiet machine."""


def window(headers: str) -> Callable[[], AbstractContextManager[servers.Server]]:
    return lambda: servers.express(limit=50, windowMs=2000, headers=headers)


# 50 in each of four windows: the last begins when three have passed.
WINDOWS = (CALLS / 50 - 1) * 2.0
# slowapi states every reset, and every wait, one second later than it is.
LATE_WINDOWS = (CALLS / 50 - 1) * 3.0
# 25 at once, the others at 25 per second.
BUCKET = (CALLS - 25) / 25
# 10 at a time, 0.2 seconds each.
CONNECTIONS = CALLS / 10 * 0.2

ROWS = [
    Row("express-rate-limit, draft-6", window("draft-6"), WINDOWS, 0, 1.10),
    Row("express-rate-limit, draft-7", window("draft-7"), WINDOWS, 0, 1.10),
    Row("express-rate-limit, draft-8", window("draft-8"), WINDOWS, 0, 1.10),
    Row("slowapi, X-RateLimit-*", lambda: servers.slowapi(limit=50, window=2), LATE_WINDOWS, 0, 1.10),
    Row("express-rate-limit, Retry-After only", window("retry-after"), WINDOWS, 0.20, 1.15),
    Row("express-rate-limit, bare 429", window("none"), WINDOWS, 0.35, 1.5),
    Row(
        "token bucket, Retry-After",
        lambda: servers.express(rate=25, burst=25, headers="retry-after"),
        BUCKET,
        0.35,
        1.3,
    ),
    Row("nginx limit_req, Retry-After", lambda: servers.nginx(hint=True), BUCKET, 0.35, 1.3),
    Row("nginx limit_conn, bare 429", servers.nginx_connections, CONNECTIONS, 0.15, 1.5),
]


@dataclass(frozen=True)
class Cell:
    """What one fleet did."""

    statuses: dict[str, int]
    errors: list[str]
    accepted: int
    refused: int
    seconds: float


Cells = dict[tuple[str, str], "Future[Cell]"]


def measure(row: Row, language: str) -> Cell:
    with row.start() as server:
        facts = run(language, "fleet", url=server.url, calls=CALLS)
        return Cell(facts["statuses"], facts["errors"], server.accepted, server.refused, facts["elapsed"])


def faults(row: Row, cell: Cell) -> list[str]:
    """What is out of bounds."""
    found = []
    if cell.statuses != {"200": CALLS} or cell.errors:
        found.append(f"not all calls succeeded: {cell.statuses} {cell.errors[:3]}")
    if cell.refused > row.refused * cell.accepted:
        found.append(f"{cell.refused / max(1, cell.accepted):.3f} refused per accepted, at most {row.refused} allowed")
    if cell.seconds > BUSY * row.time * row.optimal:
        found.append(f"{cell.seconds / row.optimal:.3f} times the optimal time, {row.time} would be right")
    return found


@pytest.fixture(scope="module")
def cells(request: pytest.FixtureRequest) -> Cells:
    """All cells of the table that are asked for, measured a few at a time."""
    wanted = []
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path:
            match item.callspec.params:
                case {"row": Row() as row, "language": str(language)}:
                    wanted.append((row, language))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return {(row.name, language): pool.submit(measure, row, language) for row, language in wanted}


@pytest.mark.parametrize("language", CLIENTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_fleet_is_hardly_refused_and_loses_no_time(
    row: Row, language: str, cells: Cells, record_row: Callable[..., None]
) -> None:
    cell = cells[row.name, language].result()
    for _ in range(AGAIN):
        if faults(row, cell):
            cell = measure(row, language)
    record_row(row.name, language, cell.accepted, cell.refused, cell.seconds, cell.seconds / row.optimal)
    assert faults(row, cell) == []
