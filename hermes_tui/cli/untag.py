"""`hermes sessions untag`: remove tags from a conversation."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or title")
    parser.add_argument("tags", nargs="*", help="tags to remove (default: all)")
    parser.epilog = (
        'example:\n  hermes sessions untag "my project" work\nWithout tags, all tags are removed.'
    )


def run(options: argparse.Namespace, context: Context) -> int:
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.untag(session_id, *options.tags)
    )
