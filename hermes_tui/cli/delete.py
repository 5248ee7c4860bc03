"""`hermes sessions delete`: move conversations to trash."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hermes_store.config import paths
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain, confirm
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import plural


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="+", help="ids, id prefixes, or titles")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.add_argument(
        "--segment",
        action="store_true",
        help="only this session, not its whole conversation",
    )
    parser.add_argument("--permanently", action="store_true", help="delete permanently")
    parser.add_argument("--force", action="store_true", help="delete even if it is in use")
    parser.epilog = (
        "examples:\n  hermes sessions delete 20250305_0915\n"
        '  hermes sessions delete "my project" --yes\n'
        "Deletes the whole conversation with all its compressed segments and sub-agents.\n"
        "Restore it with 'hermes sessions restore --last'."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store(read_only=False) as store:
        found = {store.sessions.find(each).id: each for each in options.session}
        members = {
            session_id: (session_id,) if options.segment else store.lineage.members(session_id)
            for session_id in found
        }
        ids = tuple(dict.fromkeys(member for each in members.values() for member in each))
        messages = store.trash.weigh(ids, now=context.now).messages
        first = next(iter(found))
        title = store.sessions.get(first).title
        if not options.yes and not _agreed(options, first, title, len(found), ids, messages):
            context.printer.say("Cancelled.")
            return 1
        with ProgressLine() as progress:
            gone = store.trash.delete(
                ids,
                paths.sessions_dir(context.home),
                permanently=options.permanently,
                force=options.force,
                progress=progress,
            )
    if context.printer.as_json:
        context.printer.data(
            "deleted",
            sessions=list(gone.session_ids),
            messages=gone.messages,
            permanently=options.permanently,
            left=gone.left,
        )
        return 0
    for session_id in found:
        context.printer.say(f"Deleted session '{session_id}'.")
    back = "" if options.permanently else " Restore with 'hermes sessions restore --last'."
    said = f"{plural(len(gone.session_ids), 'session')}, {plural(gone.messages, 'message')}"
    context.printer.say(f"{said}.{back}")
    if gone.left is not None:
        complain(gone.left)
    return 0


def _agreed(
    options: argparse.Namespace,
    first: str,
    title: str | None,
    found: int,
    ids: Sequence[str],
    messages: int,
) -> bool:
    named = f"'{first}'" + (f" ({plain(title)})" if title else "")
    what = f"session {named}" if found == 1 else plural(found, "conversation")
    size = f"{plural(len(ids), 'session')}, {plural(messages, 'message')}"
    how = "Permanently delete" if options.permanently else "Move to trash:"
    return confirm(f"{how} {what} with all messages ({size})?")
