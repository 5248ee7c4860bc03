"""`hermes sessions import`: import sessions from an export or a gateway transcript."""

from __future__ import annotations

import argparse
from pathlib import Path

from hermes_store.records.transfer import ImportReport, Outcome
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import plural


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the .jsonl file to read")
    parser.epilog = (
        "example:\n  hermes sessions import backup.jsonl\n"
        "Reads exports of this tool and of Hermes Agent, and gateway transcripts. The whole file\n"
        "is checked first; each session is then imported completely or not at all. Importing\n"
        "the same file again changes nothing."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store(read_only=False, create=True) as store, ProgressLine() as line:
        report = store.transfer.import_file(
            options.file, lambda done, total: line("Importing", done, total)
        )
    if context.printer.as_json:
        context.printer.data(
            "imported",
            messages=report.messages,
            sessions=[
                {
                    "outcome": each.outcome.value,
                    "line": each.line,
                    "id": each.session_id,
                    "messages": each.messages,
                    "note": each.note,
                }
                for each in report.sessions
            ],
            unknown_keys=list(report.unknown_keys),
        )
    else:
        _print(context, report)
    return 1 if report.sessions and report.count(Outcome.SKIPPED) == len(report.sessions) else 0


def _print(context: Context, report: ImportReport) -> None:
    for each in report.sessions:
        if each.note:
            named = f"{plain(each.session_id)}: " if each.session_id else ""
            complain(f"{named}{plain(each.note)}")
    if report.unknown_keys:
        complain(f"Unknown keys were ignored: {', '.join(report.unknown_keys)}.")
    counts = [
        f"{report.count(outcome):,} {outcome.value}" for outcome in Outcome if report.count(outcome)
    ]
    said = ", ".join(counts) or "none in the file"
    context.printer.say(f"Sessions: {said}. {plural(report.messages, 'message')} written.")
