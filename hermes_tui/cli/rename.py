"""`hermes sessions rename`: change the title of a session."""

from __future__ import annotations

import argparse

from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or current title")
    parser.add_argument("title", nargs="+", help="new title; needs no quotes")
    parser.epilog = "example:\n  hermes sessions rename 20250305_0915 debugging auth flow"


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store(read_only=False) as store:
        session = store.sessions.find(options.session)
        title = store.sessions.rename(session.id, " ".join(options.title))
    if context.printer.as_json:
        context.printer.data("renamed", id=session.id, title=title, former_title=session.title)
    elif title is None:
        context.printer.say(f"Session '{session.id}' no longer has a title.")
    else:
        context.printer.say(f"Session '{session.id}' renamed to: {plain(title)}")
    return 0
