"""`hermes sessions archive`: hide conversations from lists."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `archive`."""
    mark_options.describe_sessions(
        parser, "Archived conversations are hidden from lists; is:archived finds them."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    """Mark conversations."""
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.archive(session_id)
    )
