"""``python -m rampmeter``: ``self-test`` replays vectors offline with this
engine, ``explain`` says what responses tell about rate limits, ``audit`` whether
refusals say when to come back."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in {"audit", "explain"}:
        from rampmeter import _command

        return _command.run(arguments[0], arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m rampmeter", description="Rampmeter's command for Python.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("audit", add_help=False, help="ask of refusals whether they say when to come back")
    commands.add_parser("explain", add_help=False, help="say what responses tell about rate limits")
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
        help="a file or folder of vectors, instead of those of the checkout",
    )
    options = parser.parse_args(arguments)
    paths = options.vectors or checkout_vectors()
    if not paths:
        parser.error("there are no vectors here: give --vectors")
    for path in paths:
        if not path.exists():
            parser.error(f"there is no {path}")

    from rampmeter._self_test import run

    # The holds of the vectors are no news to anybody.
    logging.disable(logging.WARNING)
    return 0 if run(paths) else 1


def checkout_vectors() -> list[Path]:
    """The vectors of the checkout that the package lies in, or else that it is
    run in; empty outside of one."""
    folders = [*Path(__file__).resolve().parents[3:4], Path.cwd()]
    found = (folder / "tests" / "vectors" for folder in folders)
    return [folder for folder in found if folder.is_dir()][:1]


if __name__ == "__main__":
    sys.exit(main())
