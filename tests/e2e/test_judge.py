"""What `rampmeter judge` says of clients as people write them, and of the product's own with default options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from clients import ROOT

BINARY = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "rampmeter"
PROGRAMS = Path(__file__).with_name("judged")
PYTHON, NODE = sys.executable, "node"


def judged(command: str, program: str, *scenarios: str) -> dict[str, Any]:
    """The verdicts by scenario."""
    only = [f"--only={','.join(scenarios)}"]
    done = subprocess.run(
        [BINARY, "judge", "--json", *only, "--", command, str(PROGRAMS / program)],
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["passed"] else 1), done.stderr
    return {scenario["scenario"]: scenario for scenario in report["scenarios"]}


def failures(scenario: dict[str, Any]) -> set[str]:
    return {finding["kind"] for finding in scenario["findings"] if finding["severity"] == "failure"}


# Where nothing is stated, draws decide how many probes it takes: told in the documentation, not held to here.
@pytest.mark.parametrize(
    ("command", "program"), [(PYTHON, "product.py"), (NODE, "product.mjs")], ids=["httpx", "fetch"]
)
def test_the_product_passes_with_default_options(command: str, program: str) -> None:
    scenarios = judged(command, program, "headers", "retry-after", "date", "concurrency", "hour", "outage")
    assert {name: failures(scenario) for name, scenario in scenarios.items()} == {name: set() for name in scenarios}
    assert scenarios["headers"]["metrics"]["refused"] == 0


def test_retrying_at_once_is_early_and_a_herd() -> None:
    scenario = judged(PYTHON, "naive.py", "retry-after")["retry-after"]
    assert scenario["verdict"] == "fails"
    assert failures(scenario) >= {"early-retry", "refused-again"}


def test_tenacity_without_the_servers_wait_comes_early() -> None:
    assert failures(judged(PYTHON, "with_tenacity.py", "retry-after")["retry-after"]) >= {
        "early-retry",
        "refused-again",
    }


def test_got_waits_as_told_and_comes_back_as_a_herd() -> None:
    found = failures(judged(NODE, "with_got.mjs", "retry-after")["retry-after"])
    assert "refused-again" in found
    assert "early-retry" not in found


def test_retries_inside_retries_multiply() -> None:
    scenario = judged(PYTHON, "nested.py", "outage")["outage"]
    assert (failures(scenario), scenario["metrics"]["max_sends"]) == ({"too-many-sends"}, 9)
