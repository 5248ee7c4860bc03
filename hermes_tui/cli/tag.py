"""`hermes sessions tag`: give a conversation tags."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common import mark_options
from hermes_tui.cli.common.context import Context


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tag`."""
    parser.add_argument("session", help="id, beginning of an id, or title")
    parser.add_argument("tags", nargs="+", help="words; find them with tag:word")
    parser.epilog = 'example:\n  hermes sessions tag "my project" work'


def run(options: argparse.Namespace, context: Context) -> int:
    """Change the tags of a conversation."""
    return mark_options.run(
        options, context, lambda store, session_id: store.marks.tag(session_id, *options.tags)
    )
