"""`hermes sessions stats`: session and message counts and the database size."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from hermes_store.errors import DatabaseMissing
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural


def describe(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example:\n  hermes sessions stats --json | jq .by_source\n"
        "For tokens, costs and usage, see 'hermes insights'."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    del options
    printer = context.printer
    try:
        with context.store() as store:
            stats = store.upkeep.statistics()
    except DatabaseMissing:
        printer.line("Total sessions: 0") if not printer.as_json else printer.data("stats")
        return 0
    if printer.as_json:
        printer.data("stats", **(asdict(stats) | {"by_source": dict(stats.by_source)}))
        return 0
    printer.line(f"Total sessions: {stats.sessions}")
    printer.line(f"Total messages: {stats.messages}")
    for source, number in stats.by_source:
        printer.line(f"  {plain(source)}: {plural(number, 'session')}")
    printer.line(f"Database size: {byte_size(stats.database_bytes)}")
    if stats.log_bytes:
        printer.line(f"  write-ahead log: {byte_size(stats.log_bytes)}")
    if stats.reclaimable_bytes:
        free = byte_size(stats.reclaimable_bytes)
        printer.line(f"  unused: {free} (free it with 'hermes sessions optimize')")
    return 0
