"""``python -m rampmeter explain`` says what the Rust binary says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rampmeter.__main__ import main

CASES = Path(__file__).resolve().parents[2] / "tests" / "explain"
INPUTS = sorted(path for path in CASES.iterdir() if path.suffix in {".http", ".har", ".jsonl"})
FIXED = ["--now", "1786000000", "--width", "110", "--color", "never"]


def explain(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rampmeter", "explain", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


def test_there_are_cases() -> None:
    assert len(INPUTS) >= 17


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_every_kept_input_is_explained_as_its_page_says(path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["explain", *FIXED, str(path)]) == 0
    assert capsysbinary.readouterr().out == path.with_suffix(".page").read_bytes()


def test_standard_input_is_read_where_no_file_is_named() -> None:
    done = explain(*FIXED, stdin=(CASES / "past-the-cap.http").read_bytes())
    assert (done.stdout, done.stderr, done.returncode) == ((CASES / "past-the-cap.page").read_bytes(), b"", 0)


def test_json_is_for_scripts() -> None:
    done = explain(*FIXED, "--json", stdin=(CASES / "in-a-row.http").read_bytes())
    assert json.loads(done.stdout) == json.loads((CASES / "in-a-row.json").read_bytes())


def test_what_holds_no_response_ends_with_status_2_on_standard_error() -> None:
    done = explain(stdin=b"hello\n")
    assert (done.stdout, done.returncode) == (b"", 2)
    assert done.stderr.startswith(b"rampmeter explain: there is no response in the input")


def test_a_url_is_left_to_the_binary() -> None:
    done = explain("--url", "https://api.example.com")
    assert done.returncode == 2
    assert b"curl -si URL" in done.stderr


def test_a_pager_that_is_closed_early_is_no_failure() -> None:
    command = [sys.executable, "-m", "rampmeter", "explain", "--all", str(CASES / "browser.har")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
