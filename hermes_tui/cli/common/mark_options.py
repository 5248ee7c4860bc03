"""Arguments and output shared by the verbs that change marks."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from hermes_store.store import Store
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain


def describe_sessions(parser: argparse.ArgumentParser, note: str = "") -> None:
    """Add the session arguments, an example and a note."""
    parser.add_argument("session", nargs="+", help="id, id prefix, or title")
    parser.epilog = f'example:\n  {parser.prog} "my project"\n{note}'.rstrip()


def run(
    options: argparse.Namespace, context: Context, change: Callable[[Store, str], object]
) -> int:
    """Change marks of conversations, then print all marks they have."""
    named = options.session if isinstance(options.session, list) else [options.session]
    with context.store(read_only=False) as store:
        ids = [store.sessions.find(each).id for each in named]
        for session_id in ids:
            change(store, session_id)
        found = store.marks.of(ids)
    if context.printer.as_json:
        marked = [
            {"id": each, "pinned": m.pinned, "archived": m.archived, "tags": list(m.tags)}
            for each, m in found.items()
        ]
        context.printer.data("marks", sessions=marked)
        return 0
    for session_id, marks in found.items():
        words = [name for name in ("pinned", "archived") if getattr(marks, name)]
        words += [f"tag:{plain(tag)}" for tag in marks.tags]
        context.printer.line(f"{session_id}: {', '.join(words) or 'no marks'}")
    return 0
