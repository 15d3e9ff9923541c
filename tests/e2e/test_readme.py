"""The examples of the README, run as they stand there, but for the server that they ask.

The Rust example is compiled by the documentation test of ``clients/rust``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import servers
from clients import ROOT

_BLOCK = re.compile(r"^```(python|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _BLOCK.findall((ROOT / "README.md").read_text())
SUFFIXES = {"python": ".py", "js": ".mjs"}
COMMANDS = {"python": [sys.executable], "js": ["node"]}


def test_there_are_examples_in_both_languages() -> None:
    assert {language for language, _ in EXAMPLES} == set(SUFFIXES)


@pytest.mark.parametrize(("language", "code"), EXAMPLES, ids=lambda value: value if value in SUFFIXES else "")
def test_an_example_of_the_readme_runs(language: str, code: str, tmp_path: Path) -> None:
    with servers.express(limit=100, windowMs=1000, headers="draft-8") as server:
        code = code.replace("https://api.example.com", server.url)
        if language == "js":
            # A script outside of the package finds it where npm puts it.
            modules = tmp_path / "node_modules"
            modules.mkdir()
            (modules / "rampmeter").symlink_to(ROOT)
        script = tmp_path / f"example{SUFFIXES[language]}"
        script.write_text(code)
        done = subprocess.run(
            [*COMMANDS[language], str(script)], check=True, capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        assert re.match(r"200( answers)?$", done.stdout.strip())
        assert server.refused == 0
