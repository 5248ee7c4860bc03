"""`hermes sessions pin`: keep conversations from being pruned."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `pin`."""
    mark_options.describe_sessions(
        parser, "Pinned conversations are never pruned; is:pinned finds them."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    """Mark conversations."""
    return mark_options.run(options, context, lambda store, session_id: store.marks.pin(session_id))
