"""`hermes sessions export`: write sessions as JSON lines, Markdown or a web page."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store.errors import AmbiguousSession, InvalidInput, NotFound, StoreError
from hermes_tui.cli.common import source_option, workspace_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import ask, can_ask, complain, confirm
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.export_target import refuse_own_file, suggested_name
from hermes_tui.presentation.numbers import plural

if TYPE_CHECKING:
    from hermes_store.store import Store

_INTERRUPTED = 130
_ID = re.compile(r"\d{8}_\d{4,6}(_\w*)?")
_FILES = (".jsonl", ".json", ".md", ".markdown", ".html", ".htm", ".txt", ".gz", ".bak")
"""Endings that a name has only if it names a file."""
_ENDINGS = {"jsonl": ".jsonl", "md": ".md", "html": ".html"}
_BY_ENDING = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", help="file to write; - for standard output")
    source_option.add(parser, "export")
    workspace_option.add(parser, "export")
    parser.add_argument(
        "--session",
        "--session-id",
        action="append",
        dest="session_id",
        metavar="SESSION",
        help="only this session; repeatable",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--format",
        choices=("jsonl", "md", "html"),
        help="default: by file extension, else jsonl",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="mask keys, tokens, passwords and email addresses",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="include messages that were taken back or are hidden",
    )
    parser.epilog = (
        "examples:\n  hermes sessions export backup.jsonl\n"
        '  hermes sessions export talk.html --session "my project"\n'
        "  hermes sessions export - --source telegram | gzip > telegram.jsonl.gz"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    if len(options.file) > 1:
        raise InvalidInput(
            f"An export goes into one file, not {len(options.file)}: "
            f"{', '.join(options.file)}. To export one session, use --session SESSION."
        )
    (options.file,) = options.file
    try:
        return _export(options, context)
    except KeyboardInterrupt:
        target = Path(options.file)
        streamed = options.file == "-" or (target.exists() and not target.is_file())
        left = "The output is incomplete." if streamed else "No incomplete file was left behind."
        complain(f"Interrupted. {left}")
        return _INTERRUPTED


def _export(options: argparse.Namespace, context: Context) -> int:
    wanted = options.format or _BY_ENDING.get(Path(options.file).suffix.lower(), "jsonl")
    if options.file != "-":
        refuse_own_file(Path(options.file), context.database)
        with context.store() as store:
            meant = _session_meant(options, store)
        if meant is not None and not _decided(options, meant):
            context.printer.say("Cancelled.")
            return 1
        if not options.force and not _may_replace(Path(options.file)):
            context.printer.say("Cancelled.")
            return 1
    with context.store() as store, ProgressLine() as line:

        def progress(done: int, total: int) -> None:
            line("Exporting", done, total)

        ids: list[str] | None = None
        if options.session_id:
            found = (store.sessions.find(each).id for each in options.session_id)
            ids = list(dict.fromkeys(found))
        elif options.source or options.workspace:
            name = source_option.chosen(store, options.source)
            ids = store.lists.recent_ids(name, workspace=options.workspace)
            if not ids and options.workspace:
                raise NotFound(f"There are no sessions in a workspace '{options.workspace}'.")
            if not ids:
                raise NotFound(f"There are no sessions from the source '{options.source}'.")
        if options.file == "-":
            number = store.transfer.export(
                context.printer,
                wanted,
                ids,
                options.redact,
                progress,
                everything=options.everything,
            )
        else:
            number = store.transfer.export_file(
                options.file,
                wanted,
                ids,
                options.redact,
                progress,
                everything=options.everything,
            )
    if options.file != "-":
        context.printer.say(f"Exported {plural(number, 'session')} to {options.file}")
    elif not number:
        complain("There are no sessions to export.")
    return 0


# -- what is meant -------------------------------------------------------------------------------


def _session_meant(options: argparse.Namespace, store: Store) -> str | None:
    """Return the name of the file if it may be meant as a session, which it names."""
    name: str = options.file
    is_path = Path(name).name != name or name.startswith("~") or Path(name).suffix.lower() in _FILES
    if is_path or options.session_id:
        return None
    try:
        return store.sessions.find(name).id
    except AmbiguousSession:
        return name
    except NotFound:
        if not _ID.fullmatch(name):
            return None
        # A mistyped id is no name for a file of everything.
        raise NotFound(
            f"No session has the id '{name}'. To export all sessions into a file of that name, "
            f"write './{name}'."
        ) from None


def _decided(options: argparse.Namespace, session: str) -> bool:
    """Ask whether a session or a file is meant, and set the options; False to cancel.

    Without anybody to ask, a StoreError shows how to say which.
    """
    name = options.file
    if not can_ask():
        raise StoreError(
            f"'{name}' names a session. To export it:\n"
            f"hermes sessions export --session {name} {suggested_name(session, '.jsonl')}\n"
            f"To export all sessions into a file of that name:\n"
            f"hermes sessions export ./{name}"
        )
    target = suggested_name(session, _ENDINGS[options.format or "jsonl"])
    complain(f"'{name}' names a session.")
    answer = ask(f"Export (s) this session to {target}, (a) all sessions to {name}, (c) cancel?")
    if answer in ("s", "session"):
        options.file, options.session_id = target, [name]
    return answer in ("s", "session", "a", "all")


def _may_replace(target: Path) -> bool:
    """Return whether a file may be written: there is none, or the user agrees."""
    if not target.is_file():
        return True
    if not can_ask():
        raise StoreError(f"{target} already exists. Use --force to replace it.")
    return confirm(f"{target} already exists. Replace it?")
