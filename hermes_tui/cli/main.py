"""The argument tree of `hermes`, and the one place that turns errors into exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hermes_store.errors import StoreError
from hermes_store.version import __version__

DONE, REFUSED = 0, 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes", description="Browse and look after your conversations with Hermes Agent."
    )
    parser.add_argument("--version", action="version", version=f"hermes-sessions {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sessions = commands.add_parser("sessions", help="list, search and look after sessions")
    verbs = sessions.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, about in (
        ("list", "list recent sessions"),
        ("browse", "look through all sessions"),
    ):
        verb = verbs.add_parser(name, help=about, description=about.capitalize() + ".")
        verb.add_argument("--source", help="only sessions of this source, such as telegram")
        verb.add_argument("--limit", type=int, default=20, help="how many (default: 20)")
        verb.add_argument("--db", type=Path, help="another database file")
        if name == "browse":
            verb.add_argument("--demo", action="store_true", help="use generated sample sessions")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    from hermes_tui.cli import listing

    options = _parser().parse_args(arguments)
    try:
        if getattr(options, "demo", False):
            return listing.show_demo(options.source, options.limit)
        return listing.show(options.db, options.source, options.limit)
    except StoreError as error:
        print(f"hermes: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # The reader of a pipe such as `| head` has seen enough.
        sys.stderr.close()
        return DONE
