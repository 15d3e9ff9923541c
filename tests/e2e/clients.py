"""The client programs, one in each language, that do the same jobs with the client that people use there.

A job is a JSON object as the only argument, its facts are a JSON object on standard output. What a job may be is
described in ``clients/python/client.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

_RUST = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "rampmeter-e2e-client"

CLIENTS: dict[str, list[str]] = {
    "rust": [str(_RUST)],
    "python": [sys.executable, str(HERE / "clients" / "python" / "client.py")],
    "node": ["node", str(HERE / "clients" / "node" / "client.mjs")],
}


def run(language: str, job: str, timeout: float = 60, **arguments: Any) -> dict[str, Any]:
    """Does a job and returns its facts."""
    command = [*CLIENTS[language], json.dumps({"job": job, **arguments})]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, cwd=ROOT
    )
    if done.returncode != 0:
        raise AssertionError(f"the {language} client failed at {job}:\n{done.stdout}{done.stderr}")
    facts: dict[str, Any] = json.loads(done.stdout)
    facts["stderr"] = done.stderr
    return facts
