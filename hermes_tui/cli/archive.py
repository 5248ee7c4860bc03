"""`hermes sessions archive`: hide conversations from lists."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    mark_options.describe_sessions(
        parser, "Archived conversations are hidden from lists. Search for is:archived to find them."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.archive(session_id)
    )
