"""`hermes sessions rename`: give a session a title."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `rename`."""
    parser.add_argument("session", help="id, beginning of an id, or present title")
    parser.add_argument("title", nargs="+", help="the new title; needs no quotes")
    parser.epilog = "example:\n  hermes sessions rename 20250305_0915 debugging auth flow"


def run(options: argparse.Namespace, context: Context) -> int:
    """Rename one session."""
    with context.store(read_only=False) as store:
        session = store.sessions.find(options.session)
        title = store.sessions.rename(session.id, " ".join(options.title))
    if context.printer.as_json:
        context.printer.data("renamed", id=session.id, title=title, former_title=session.title)
    elif title is None:
        context.printer.line(f"Session '{session.id}' has no title any more.")
    else:
        context.printer.line(f"Session '{session.id}' renamed to: {plain(title)}")
    return 0
