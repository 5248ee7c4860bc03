"""`hermes sessions export`: write sessions as JSON lines, Markdown or a web page."""

from __future__ import annotations

import argparse
from pathlib import Path

from hermes_store.errors import NotFound
from hermes_store.records.sources import known_name
from hermes_tui.cli.common import workspace_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.export_target import refuse_own_file
from hermes_tui.presentation.numbers import plural

_INTERRUPTED = 130
_BY_ENDING = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="file to write; - for standard output")
    parser.add_argument("--source", help="export only this source, such as telegram")
    workspace_option.add(parser, "export")
    parser.add_argument(
        "--session-id", action="append", metavar="SESSION", help="only this session; repeatable"
    )
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
        '  hermes sessions export talk.html --session-id "my project"\n'
        "  hermes sessions export - --source telegram | gzip > telegram.jsonl.gz"
    )


def run(options: argparse.Namespace, context: Context) -> int:
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
    with context.store() as store, ProgressLine() as line:

        def progress(done: int, total: int) -> None:
            line("Exporting", done, total)

        ids: list[str] | None = None
        if options.session_id:
            ids = [store.sessions.find(each).id for each in options.session_id]
        elif options.source or options.workspace:
            name = known_name(options.source)
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
        context.printer.line(f"Exported {plural(number, 'session')} to {options.file}")
    elif not number:
        complain("There are no sessions to export.")
    return 0
