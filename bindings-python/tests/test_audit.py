"""``python -m rampmeter audit`` says what the Rust binary says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rampmeter.__main__ import main

CASES = Path(__file__).resolve().parents[2] / "tests" / "audit"
INPUTS = sorted(path for path in CASES.iterdir() if path.suffix in {".http", ".har", ".jsonl"})
FIXED = ["--now", "1786000000", "--width", "110", "--color", "never"]


def audit(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rampmeter", "audit", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


def test_there_are_cases() -> None:
    assert len(INPUTS) >= 5


@pytest.mark.parametrize(("kind", "options"), [(".page", []), (".annotations", ["--annotations"])])
@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_every_kept_input_is_judged_as_its_page_says(path: Path, kind: str, options: list[str]) -> None:
    unanswered = json.loads(path.with_suffix(".json").read_bytes())["unanswered"]
    # Files are named in what is said of them, standard input is not.
    done = audit(*FIXED, *options, stdin=path.read_bytes())
    assert (done.stdout, done.stderr) == (path.with_suffix(kind).read_bytes(), b"")
    assert done.returncode == (1 if unanswered else 0)


def test_a_file_is_named_in_what_is_said_of_it(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["audit", *FIXED, str(CASES / "bare.http")]) == 1
    assert b"bare.http" in capsysbinary.readouterr().out


def test_what_holds_no_response_ends_with_status_2_on_standard_error() -> None:
    done = audit(stdin=b"hello\n")
    assert (done.stdout, done.returncode) == (b"", 2)
    assert done.stderr.startswith(b"rampmeter audit: there is no response in the input")


def test_a_url_is_left_to_the_binary() -> None:
    done = audit("--url", "https://api.example.com")
    assert done.returncode == 2
    assert b"curl -si URL" in done.stderr


def test_source_is_left_to_the_binary() -> None:
    done = audit("--source", ".")
    assert done.returncode == 2
    assert b"--source is for the binary only" in done.stderr
