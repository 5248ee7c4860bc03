"""`hermes sessions optimize`: shrink the database and speed up search."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.numbers import byte_size


def describe(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example:\n  hermes sessions optimize\n"
        "Converts the full-text index to its compact layout, merges it, and returns free space to\n"
        "the disk. Other programs can keep writing; an interrupted run continues next time."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    del options
    with context.store(read_only=False) as store, ProgressLine() as progress:
        report = store.upkeep.optimize(progress)
    if context.printer.as_json:
        context.printer.data("optimized", **asdict(report))
    elif report.left_alone:
        context.printer.say(
            "A newer Hermes owns this database, so nothing was changed. Its own 'hermes sessions "
            "optimize' can shrink it."
        )
    else:
        layout = " The full-text index now has the compact layout." if report.converted else ""
        before, after = byte_size(report.before_bytes), byte_size(report.after_bytes)
        context.printer.say(f"Database: {before} → {after}.{layout}")
    return 0
