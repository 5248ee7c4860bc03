"""`hermes sessions repair`: repair the database, or only check it."""

from __future__ import annotations

import argparse

from hermes_tui.cli import doctor
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check-only", action="store_true", help="report what is broken; change nothing"
    )
    parser.epilog = (
        "examples:\n  hermes sessions repair --check-only\n  hermes sessions repair\n"
        "The same as 'hermes sessions doctor', with and without --repair. A copy of the damaged\n"
        "database is always kept.\nexit code: 0 healthy, 1 damaged"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    return doctor.run(argparse.Namespace(repair=not options.check_only), context)
