"""``python -m rampmeter explain`` and ``audit``: what all languages have alike."""

from __future__ import annotations

import os
import sys

from rampmeter import _core

COMMANDS = {"audit": _core.audit, "explain": _core.explain}


def run(command: str, arguments: list[str]) -> int:
    """Runs the command on what the arguments name, or on standard input;
    returns the exit status."""
    say = COMMANDS[command]
    said = say(arguments)
    if said is None:
        said = say(arguments, sys.stdin.buffer.read()) or ("", 2)
    text, status = said
    stream = sys.stderr if status == 2 else sys.stdout
    try:
        # Values of headers are of any alphabet, terminals' encodings are not.
        stream.buffer.write(text.encode())
        stream.flush()
    except BrokenPipeError:
        # A pager that was closed early; nor is it to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status
