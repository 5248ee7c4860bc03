"""Notes on conversations: `archive`, `pin`, `tag`, and their opposites."""

from __future__ import annotations

import argparse

from hermes_tui.cli.context import Context
from hermes_tui.wording import plain


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments; the verb itself is the last word of the parser's name."""
    verb = parser.prog.split()[-1]
    parser.set_defaults(verb=verb)
    tagging = verb in ("tag", "untag")
    many = None if tagging else "+"
    parser.add_argument("session", nargs=many, help="id, beginning of an id, or title")
    if tagging:
        least = "+" if verb == "tag" else "*"
        parser.add_argument("tags", nargs=least, help="words; find them with tag:word")
    note = {
        "archive": "Archived conversations are hidden from lists; is:archived finds them.",
        "pin": "Pinned conversations are never pruned; is:pinned finds them.",
        "untag": "Without words, all tags go.",
    }.get(verb, "")
    words = " work" if tagging else ""
    parser.epilog = f'example:\n  hermes sessions {verb} "my project"{words}\n{note}'.rstrip()


def run(options: argparse.Namespace, context: Context) -> int:
    """Change the marks of conversations and say what they have now."""
    named = options.session if isinstance(options.session, list) else [options.session]
    with context.store(read_only=False) as store:
        ids = [store.find_session(each).id for each in named]
        for session_id in ids:
            if options.verb in ("tag", "untag"):
                getattr(store, options.verb)(session_id, *options.tags)
            else:
                getattr(store, options.verb)(session_id)
        found = store.marks(ids)
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
