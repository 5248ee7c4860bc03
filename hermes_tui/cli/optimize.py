"""`hermes sessions optimize`: make the file small and search fast."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.numbers import byte_size


def describe(parser: argparse.ArgumentParser) -> None:
    """`optimize` has no arguments of its own."""
    parser.epilog = (
        "example:\n  hermes sessions optimize\n"
        "Gives the search index its compact layout, merges it, and gives free space back to the\n"
        "disk. Other programs may go on writing meanwhile; an interrupted run goes on next time."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    """Optimize a store and say what it brought."""
    del options
    with context.store(read_only=False) as store, ProgressLine() as progress:
        report = store.upkeep.optimize(progress)
    if context.printer.as_json:
        context.printer.data("optimized", **asdict(report))
    elif report.left_alone:
        context.printer.line(
            "A newer Hermes owns this file, so it was left as it is. Its own 'hermes sessions "
            "optimize' can shrink it."
        )
    else:
        layout = " The index has the compact layout now." if report.converted else ""
        before, after = byte_size(report.before_bytes), byte_size(report.after_bytes)
        context.printer.line(f"Database: {before} → {after}.{layout}")
    return 0
