"""Prints the table of fleets at the end of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_HEADINGS = ("server", "language", "accepted", "refused", "refused per accepted", "seconds", "time ÷ optimal")
_rows = pytest.StashKey[list[tuple[str, ...]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_rows] = []


@pytest.fixture
def record_row(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Adds a row to the table."""

    def record(server: str, language: str, accepted: int, refused: int, seconds: float, ratio: float) -> None:
        per_accepted = f"{refused / max(1, accepted):.3f}"
        row = (server, language, str(accepted), str(refused), per_accepted, f"{seconds:.2f}", f"{ratio:.2f}")
        request.config.stash[_rows].append(row)

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.stash[_rows]:
        return
    lines = [_HEADINGS, *config.stash[_rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    terminalreporter.section("200 concurrent calls")
    for line in lines:
        left = [text.ljust(width) for text, width in zip(line[:2], widths[:2], strict=True)]
        right = [text.rjust(width) for text, width in zip(line[2:], widths[2:], strict=True)]
        terminalreporter.write_line("  ".join(left + right))
