"""`hermes sessions browse`: the full-screen browser; without a terminal, a plain list."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from hermes_tui.cli import listing
from hermes_tui.cli.context import Context

DEMO_SESSIONS = 120


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `browse`."""
    parser.add_argument("--source", help="only this source, such as telegram")
    parser.add_argument("--limit", type=int, default=20, help="how many (default: 20, 0: all)")
    parser.add_argument("--demo", action="store_true", help="use generated sample sessions")
    parser.epilog = "example:\n  hermes sessions browse --demo"


def run(options: argparse.Namespace, context: Context) -> int:
    """Open the browser."""
    options.all_profiles = False
    if not options.demo:
        return listing.run(options, context)
    from hermes_store.sample.generate import create

    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as folder:
        path = Path(folder) / "state.db"
        create(path, DEMO_SESSIONS, now=context.now)
        return listing.run(options, replace(context, home=Path(folder), database=path))
