"""`hermes sessions prune`: move old conversations to trash, after showing which."""

from __future__ import annotations

import argparse
from dataclasses import replace

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing
from hermes_store.records.prune import PruneFilter, PrunePlan
from hermes_tui.cli.common import filter_options
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Column, confirm, dim
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.times import age

DEFAULT_DAYS = 90.0
SHOWN = 15
NEVER_ACTIVE_DAYS = 30.0


def describe(parser: argparse.ArgumentParser) -> None:
    filter_options.describe(parser, "prune")
    parser.add_argument("--include-archived", action="store_true")
    parser.add_argument("--include-pinned", action="store_true")
    parser.add_argument(
        "--include-open", action="store_true", help="include those that never ended"
    )
    parser.add_argument(
        "--never-active",
        action="store_true",
        help="prune chats that a bot opened and nobody ever used (default age: 30 days)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be pruned")
    parser.add_argument("--permanently", action="store_true", help="delete permanently")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.epilog = (
        "examples:\n  hermes sessions prune --older-than 30 --source telegram\n"
        "  hermes sessions prune --dry-run --where 'source:cron before:2026-01-01'\n"
        "  hermes sessions prune --max-messages 2 --older-than 1w\n"
        "  hermes sessions prune --workspace old-project --newer-than 2d\n"
        "Age counts from the last activity; without any condition it is 90 days. Pinned, archived\n"
        "and open conversations are kept unless included; those in use are never pruned."
    )


def chosen(options: argparse.Namespace, now: float) -> PruneFilter:
    """Return the filter that the options describe.

    Any condition except the source replaces the default age.
    """
    found = filter_options.chosen(options, now)
    if filter_options.is_empty(replace(found, source=None)):
        default = NEVER_ACTIVE_DAYS if options.never_active else DEFAULT_DAYS
        found = replace(found, older_than_days=default)
    return replace(
        found,
        never_active=options.never_active,
        include_archived=options.include_archived,
        include_pinned=options.include_pinned,
        include_open=options.include_open,
    )


def run(options: argparse.Namespace, context: Context) -> int:
    wanted = chosen(options, context.now)
    try:
        with context.store() as store:
            plan = store.upkeep.plan_prune(wanted, context.now)
    except DatabaseMissing:
        context.printer.line("Nothing to prune: there is no database yet.")
        return 0
    if options.dry_run or not plan.rows:
        return _report(options, context, plan, gone=None)
    if not options.yes:
        show_plan(context, plan)
        how = "Permanently delete" if options.permanently else "Move to trash:"
        question = f"{how} {summary(plan)}?"
        if not confirm(question):
            context.printer.line("Cancelled.")
            return 1
    with context.store(read_only=False) as store, ProgressLine() as line:
        gone = store.upkeep.prune(
            plan, paths.sessions_dir(context.home), permanently=options.permanently, progress=line
        )
    return _report(options, context, plan, gone=len(gone.session_ids))


def summary(plan: PrunePlan) -> str:
    return (
        f"{plural(plan.conversations, 'conversation')} ({plural(plan.sessions, 'session')}, "
        f"{plural(plan.messages, 'message')}, {byte_size(plan.bytes)} of text)"
    )


def show_plan(context: Context, plan: PrunePlan) -> None:
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
        show_plan(context, plan)
        printer.line(f"Would prune {summary(plan)}. Nothing was changed.")
    else:
        printer.line("Nothing to prune.")
        _print_spared(context, plan)
    return 0
