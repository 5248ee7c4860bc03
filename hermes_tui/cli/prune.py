"""`hermes sessions prune`: move old conversations to trash, after showing which."""

from __future__ import annotations

import argparse
import re

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing, InvalidInput
from hermes_store.records.prune import PruneFilter, PrunePlan
from hermes_store.records.sources import known_name
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Column, confirm, dim
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.times import age

DEFAULT_DAYS = 90.0
SHOWN = 15
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(h|d|w|mo|y)?")
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "mo": 30.0, "y": 365.0}


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", metavar="AGE", help="age in days, or 12h, 30d, 8w, 6mo, 1y (default: 90)"
    )
    parser.add_argument("--source", help="prune only this source, such as cron")
    parser.add_argument("--title", help="prune only titles that contain this")
    parser.add_argument("--model", help="prune only models whose name contains this")
    parser.add_argument("--min-messages", type=int, metavar="N")
    parser.add_argument("--max-messages", type=int, metavar="N")
    parser.add_argument("--where", default="", help="prune only what matches these search fields")
    parser.add_argument("--include-archived", action="store_true")
    parser.add_argument("--include-pinned", action="store_true")
    parser.add_argument(
        "--include-open", action="store_true", help="include those that never ended"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be pruned")
    parser.add_argument("--permanently", action="store_true", help="delete permanently")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.epilog = (
        "examples:\n  hermes sessions prune --older-than 30 --source telegram\n"
        "  hermes sessions prune --dry-run --where 'source:cron before:2026-01-01'\n"
        "  hermes sessions prune --max-messages 2 --older-than 1w\n"
        "Age counts from the last activity. Pinned, archived and open conversations are kept\n"
        "unless included; those in use are never pruned."
    )


def days(text: str) -> float:
    """Return an age such as 12h or 8w in days; a bare number is days."""
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInput(f"'{text}' is not an age for --older-than; try 30, 30d, 12h, 8w or 6mo.")
    age = float(found[1]) * _DAYS[found[2] or "d"]
    check_number("--older-than", age, least=0)
    return age


def chosen(options: argparse.Namespace) -> PruneFilter:
    """Return the filter that the options describe.

    Any condition except the source replaces the default age.
    """
    check_number("--min-messages", options.min_messages, least=0)
    check_number("--max-messages", options.max_messages, least=0)
    older_than = days(options.older_than) if options.older_than else None
    named = (options.title, options.model, options.where, options.min_messages)
    if older_than is None and options.max_messages is None and not any(named):
        older_than = DEFAULT_DAYS
    return PruneFilter(
        older_than_days=older_than,
        source=known_name(options.source),
        title=options.title,
        model=options.model,
        min_messages=options.min_messages,
        max_messages=options.max_messages,
        where=options.where,
        include_archived=options.include_archived,
        include_pinned=options.include_pinned,
        include_open=options.include_open,
    )


def run(options: argparse.Namespace, context: Context) -> int:
    wanted = chosen(options)
    try:
        with context.store() as store:
            plan = store.upkeep.plan_prune(wanted, context.now)
    except DatabaseMissing:
        context.printer.line("Nothing to prune: there is no database yet.")
        return 0
    if options.dry_run or not plan.rows:
        return _report(options, context, plan, gone=None)
    if not options.yes:
        _preview(context, plan)
        how = "Permanently delete" if options.permanently else "Move to trash:"
        question = f"{how} {_summary(plan)}?"
        if not confirm(question):
            context.printer.line("Cancelled.")
            return 1
    with context.store(read_only=False) as store, ProgressLine() as line:
        gone = store.upkeep.prune(
            plan, paths.sessions_dir(context.home), permanently=options.permanently, progress=line
        )
    return _report(options, context, plan, gone=len(gone.session_ids))


def _summary(plan: PrunePlan) -> str:
    return (
        f"{plural(plan.conversations, 'conversation')} ({plural(plan.sessions, 'session')}, "
        f"{plural(plan.messages, 'message')}, {byte_size(plan.bytes)} of text)"
    )


def _preview(context: Context, plan: PrunePlan) -> None:
    columns = [
        Column("Title", 36), Column("Last Active", 12), Column("Src", 10), Column("Messages", 9),
        Column("Text", 10), Column("ID", 0),
    ]  # fmt: skip
    context.printer.table(
        columns,
        (
            (
                row.title or "—",
                age(row.last_active, context.now, dates=True),
                row.source,
                f"{row.messages:,}",
                byte_size(row.bytes),
                row.root_id,
            )
            for row in plan.rows[:SHOWN]
        ),
    )
    if plan.conversations > SHOWN:
        context.printer.line(f"… and {plan.conversations - SHOWN:,} more")
    _print_spared(context, plan)


def _print_spared(context: Context, plan: PrunePlan) -> None:
    for remark in plan.spared[:SHOWN]:
        context.printer.line(dim(f"kept {plain(remark.session_id)}: {plain(remark.text)}"))
    if len(plan.spared) > SHOWN:
        context.printer.line(dim(f"kept {len(plan.spared) - SHOWN:,} more"))


def _report(
    options: argparse.Namespace, context: Context, plan: PrunePlan, gone: int | None
) -> int:
    printer = context.printer
    if printer.as_json:
        printer.data(
            "prune",
            dry_run=gone is None,
            pruned=gone or 0,
            conversations=plan.conversations,
            sessions=list(plan.session_ids),
            messages=plan.messages,
            bytes=plan.bytes,
            spared=[{"id": each.session_id, "reason": each.text} for each in plan.spared],
        )
    elif gone is not None:
        back = "" if options.permanently else " Restore with 'hermes sessions restore --last'."
        space = " Free the disk space with 'hermes sessions optimize'."
        printer.line(f"Pruned {plural(gone, 'session')}.{back}{space}")
    elif plan.rows:
        _preview(context, plan)
        printer.line(f"Would prune {_summary(plan)}. Nothing was changed.")
    else:
        printer.line("Nothing to prune.")
        _print_spared(context, plan)
    return 0
