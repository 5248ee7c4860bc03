"""`hermes sessions trash` and `restore`: list, empty and restore the trash."""

from __future__ import annotations

import argparse

from hermes_store.errors import DatabaseMissing
from hermes_store.upkeep import configured
from hermes_tui.cli.common.ages import days
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Column, complain, confirm
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.times import age


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("list", "empty"), default="list")
    parser.add_argument(
        "--older-than", metavar="AGE", help="with empty: only what is older, such as 30d or 8w"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.epilog = (
        "examples:\n  hermes sessions trash\n  hermes sessions trash empty --older-than 30"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    return _empty(options, context) if options.what == "empty" else _list(context)


def _list(context: Context) -> int:
    try:
        with context.store() as store:
            batches = store.trash.list()
    except DatabaseMissing:
        batches = ()
    if context.printer.as_json:
        listed = [
            {
                "id": batch.id,
                "deleted_at": batch.deleted_at,
                "reason": batch.reason,
                "titles": list(batch.titles),
                "sessions": list(batch.session_ids),
                "messages": batch.messages,
                "bytes": batch.bytes,
            }
            for batch in batches
        ]
        context.printer.data("trash", batches=listed)
    elif not batches:
        context.printer.say("The trash is empty.")
        _say_who_else_deletes(context)
    else:
        columns = [
            Column("No", 5), Column("Deleted", 12), Column("What", 44), Column("Sessions", 9),
            Column("Messages", 9), Column("Size", 0),
        ]  # fmt: skip
        context.printer.table(
            columns,
            (
                (
                    str(batch.id),
                    age(batch.deleted_at, context.now, dates=True),
                    ", ".join(batch.titles) or batch.reason,
                    f"{batch.sessions:,}",
                    f"{batch.messages:,}",
                    byte_size(batch.bytes),
                )
                for batch in batches
            ),
        )
        context.printer.say("Restore one with 'hermes sessions restore No'.")
    return 0


def _say_who_else_deletes(context: Context) -> None:
    """Say that the agent deletes old conversations itself, if it does: they are not here."""
    try:
        with context.store() as store, store.snapshot() as view:
            sentence = configured.agent_prunes(view, context.home)
    except DatabaseMissing:
        return
    if sentence is not None:
        context.printer.say(sentence)


def _empty(options: argparse.Namespace, context: Context) -> int:
    older_than = days(options.older_than) if options.older_than is not None else None
    with context.store(read_only=False) as store:
        batches = store.trash.list()
        if not batches:
            context.printer.say("The trash is empty.")
            return 0
        unit = "day" if older_than == 1 else "days"
        older = f" older than {older_than:g} {unit}" if older_than else ""
        sessions = sum(batch.sessions for batch in batches)
        question = f"Permanently delete the trash{older} ({plural(sessions, 'session')})?"
        if not options.yes and not confirm(question):
            context.printer.say("Cancelled.")
            return 1
        with ProgressLine() as progress:
            gone = store.trash.empty(older_than, progress=progress)
    if context.printer.as_json:
        context.printer.data(
            "emptied",
            sessions=gone.sessions,
            messages=gone.messages,
            bytes=gone.bytes,
            left=gone.left,
        )
    else:
        said = f"{plural(gone.sessions, 'session')}, {plural(gone.messages, 'message')}"
        context.printer.say(f"Permanently deleted {said}, {byte_size(gone.bytes)}.")
        if gone.left is not None:
            complain(gone.left)
    return 0


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        help="a number from 'trash', a session id or title (default: the last deletion)",
    )
    parser.add_argument("--last", action="store_true", help="restore the last deletion")
    parser.epilog = "examples:\n  hermes sessions restore --last\n  hermes sessions restore 3"


def restore(options: argparse.Namespace, context: Context) -> int:
    what: int | str | None = options.what
    if options.last:
        what = None
    elif isinstance(what, str) and what.isdecimal() and len(what) < 8:
        what = int(what)
    with context.store(read_only=False) as store:
        report = store.trash.restore(what)
    if context.printer.as_json:
        context.printer.data(
            "restored",
            sessions=list(report.session_ids),
            messages=report.messages,
            remarks=[each.text for each in report.remarks],
            skipped=[each.text for each in report.skipped],
        )
    else:
        for remark in (*report.remarks, *report.skipped):
            complain(plain(remark.text))
        said = f"{plural(len(report.session_ids), 'session')}, "
        context.printer.say(f"Restored {said}{plural(report.messages, 'message')}.")
    return 0 if report.session_ids else 1
