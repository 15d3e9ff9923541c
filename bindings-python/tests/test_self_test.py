"""``python -m rampmeter self-test``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"

GOOD = {
    "name": "a refusal holds",
    "steps": [
        {"at": 0, "begin": "a", "method": "GET", "url": "https://api.example.com/x"},
        {"at": 0, "poll": "a", "expect": {"decision": "send"}},
        {"at": 0, "response": "a", "status": 429, "headers": [["Retry-After", "30"]],
         "expect": {"decision": "sleep", "seconds": [30, 31], "reason": "held"}, "events": ["refused"]},
    ],
}  # fmt: skip


def self_test(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rampmeter", "self-test", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_vectors_that_hold_pass(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "good.json").write_text(json.dumps([GOOD, GOOD]))
    (tmp_path / "config.json").write_text(json.dumps({"config": {"max_retry": 1}, "config_error": "max_retry"}))
    done = self_test("--vectors", tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("3 passed, 0 failed\n", "", 0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"decision": "send"}, 'expected {"decision": "send"}, got sleep'),
        ({"seconds": [1, 2]}, "expected to sleep [1, 2] s"),
        ({"reason": "spent"}, "expected the reason spent"),
        ({"decision": "raise", "error": "RateLimitExceeded"}, "got sleep"),
    ],
)
def test_a_vector_that_does_not_hold_fails(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    bad = json.loads(json.dumps(GOOD))
    bad["steps"][2]["expect"] = change
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    done = self_test("--vectors", tmp_path)
    assert done.returncode == 1
    assert done.stdout.endswith("0 passed, 1 failed\n")
    assert "a refusal holds" in done.stdout
    assert problem in done.stdout


@pytest.mark.parametrize("content", ["{", "[1]", '{"name": "nothing"}', '{"status": 200, "expect": {"meters": [{}]}}'])
def test_what_is_no_vector_fails(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    done = self_test("--vectors", tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed")


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert self_test("--vectors", tmp_path / "missing").returncode == 2


def test_all_vectors_of_the_project_hold() -> None:
    done = self_test("--vectors", VECTORS)
    assert done.returncode == 0, done.stdout
