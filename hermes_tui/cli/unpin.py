"""`hermes sessions unpin`: remove the pin from conversations."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    mark_options.describe_sessions(parser, "")


def run(options: argparse.Namespace, context: Context) -> int:
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.unpin(session_id)
    )
