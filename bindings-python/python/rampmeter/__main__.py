"""``python -m rampmeter self-test``: replays vectors offline with this engine."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m rampmeter", description="Rampmeter's command for Python.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    self_test = commands.add_parser(
        "self-test",
        help="replay vectors offline",
        description='Replays vectors offline, prints each that does not hold and "N passed, N failed".',
    )
    self_test.add_argument(
        "--vectors",
        metavar="PATH",
        action="append",
        type=Path,
        help="a file or folder of vectors instead of those of this package",
    )
    options = parser.parse_args(arguments)
    paths = options.vectors or own_vectors()
    if not paths:
        parser.error("this installation has no vectors of its own: give --vectors")
    for path in paths:
        if not path.exists():
            parser.error(f"there is no {path}")

    from rampmeter._self_test import run

    # The holds of the vectors are no news to anybody.
    logging.disable(logging.WARNING)
    return 0 if run(paths) else 1


def own_vectors() -> list[Path]:
    """The vectors packed with this package, or those of the checkout that it
    runs in; empty if there are none."""
    package = Path(__file__).resolve().parent
    candidates = [package / "vectors", *(folder / "tests" / "vectors" for folder in package.parents[2:3])]
    return [next(folder for folder in candidates if folder.is_dir())] if any(map(Path.is_dir, candidates)) else []


if __name__ == "__main__":
    sys.exit(main())
