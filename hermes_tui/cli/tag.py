"""`hermes sessions tag`: add tags to a conversation."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or title")
    parser.add_argument("tags", nargs="+", help="tags to add; search for tag:NAME to find them")
    parser.epilog = 'example:\n  hermes sessions tag "my project" work'


def run(options: argparse.Namespace, context: Context) -> int:
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.tag(session_id, *options.tags)
    )
