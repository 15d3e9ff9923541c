"""``python -m rampmeter explain``."""

from __future__ import annotations

import os
import sys

from rampmeter import _core


def run(arguments: list[str]) -> int:
    """Explains what the arguments name, or standard input; returns the exit status."""
    said = _core.explain(arguments)
    if said is None:
        said = _core.explain(arguments, sys.stdin.buffer.read()) or ("", 2)
    text, status = said
    stream = sys.stderr if status else sys.stdout
    try:
        # Values of headers are of any alphabet, terminals' encodings are not.
        stream.buffer.write(text.encode())
        stream.flush()
    except BrokenPipeError:
        # A pager that was closed early; nor is it to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status
