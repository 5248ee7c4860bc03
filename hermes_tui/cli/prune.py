"""`hermes sessions prune`: move old conversations to trash, after showing which."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_store.config import paths
from hermes_store.errors import DatabaseMissing
from hermes_store.records.prune import PruneFilter, PrunePlan
from hermes_store.records.sources import describe as source_names
from hermes_tui.cli.common import filter_options, source_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import Column, confirm, dim, width
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import cell_width, first_words, fit, plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.times import age

if TYPE_CHECKING:
    from hermes_store.store import Store

DEFAULT_DAYS = 90.0
SHOWN = 15
NARROW, WIDE = 60, 100
"""Below the first, a terminal has no room for ids; from the second on, it has for everything."""
NEVER_ACTIVE_DAYS = 30.0


def describe(parser: argparse.ArgumentParser) -> None:
    filter_options.describe(parser, "prune")
    parser.add_argument("--include-archived", action="store_true", help="include archived ones")
    parser.add_argument("--include-pinned", action="store_true", help="include pinned ones")
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
        "examples:\n  hermes sessions prune --dry-run\n"
        "  hermes sessions prune --older-than 30 --source telegram\n"
        "  hermes sessions prune --dry-run --where 'source:cron before:2026-01-01'\n"
        "  hermes sessions prune --max-messages 2 --older-than 1w\n"
        "  hermes sessions prune --workspace old-project --newer-than 2d\n"
        "Age counts from the last activity; without any condition it is 90 days. Pinned, archived "
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
            wanted = replace(wanted, source=source_option.chosen(store, wanted.source))
            plan = store.upkeep.plan_prune(wanted, context.now)
            names = names_in(store, plan, context.now)
    except DatabaseMissing:
        context.printer.line("Nothing to prune: there is no database yet.")
        return 0
    if options.dry_run or not plan.rows:
        return _report(options, context, plan, names, gone=None)
    if not options.yes:
        show_plan(context, plan, names)
        how = "Permanently delete" if options.permanently else "Move to trash:"
        question = f"{how} {summary(plan)}?"
        if not confirm(question):
            context.printer.line("Cancelled.")
            return 1
    with context.store(read_only=False) as store, ProgressLine() as line:
        gone = store.upkeep.prune(
            plan, paths.sessions_dir(context.home), permanently=options.permanently, progress=line
        )
    return _report(options, context, plan, names, gone=len(gone.session_ids))


def summary(plan: PrunePlan) -> str:
    return (
        f"{plural(plan.conversations, 'conversation')} ({plural(plan.sessions, 'session')}, "
        f"{plural(plan.messages, 'message')}, {byte_size(plan.bytes)} of text)"
    )


def names_in(store: Store, plan: PrunePlan, now: float) -> dict[str, str]:
    """Return the titles or first words of the conversations that a plan is shown with."""
    ids = [row.root_id for row in plan.rows[:SHOWN]]
    ids += [remark.session_id for remark in plan.spared[:SHOWN]]
    rows = store.lists.rows(ids, now=now)
    return {row.id: plain(row.title or first_words(row.preview) or "—") for row in rows}


def show_plan(context: Context, plan: PrunePlan, names: Mapping[str, str]) -> None:
    rows = plan.rows[:SHOWN]
    columns = {
        Column("Title", 200): [names.get(row.root_id, "—") for row in rows],
        Column("Active", 11): [age(row.last_active, context.now, dates=True) for row in rows],
        Column("Messages", 9, right=True): [f"{row.messages:,}" for row in rows],
    }
    if width() >= WIDE:
        columns[Column("Source", 14)] = [source_names(row.source).label for row in rows]
        columns[Column("Text", 10, right=True)] = [byte_size(row.bytes) for row in rows]
    if width() >= NARROW:
        columns[Column("ID", 0)] = [row.root_id for row in rows]
    context.printer.table(list(columns), zip(*columns.values(), strict=True))
    if plan.conversations > SHOWN:
        context.printer.line(f"… and {plan.conversations - SHOWN:,} more")
    _print_spared(context, plan, names)


def _print_spared(context: Context, plan: PrunePlan, names: Mapping[str, str]) -> None:
    """Print which matching conversations are kept, under the reason why."""
    by_reason: dict[str, list[str]] = {}
    for remark in plan.spared:
        by_reason.setdefault(plain(remark.text), []).append(remark.session_id)
    for reason, ids in by_reason.items():
        context.printer.say(f"Kept {plural(len(ids), 'conversation')}: {reason}")
        shown = [each for each in ids if each in names]
        for session_id in shown:
            shown_id = f"  {plain(session_id)}"
            room = max(12, width() - cell_width(shown_id) - 2)
            context.printer.line("  ", fit(names[session_id], room, pad=False), dim(shown_id))
        if len(ids) > len(shown):
            context.printer.line(dim(f"  … and {len(ids) - len(shown):,} more"))


def _report(
    options: argparse.Namespace,
    context: Context,
    plan: PrunePlan,
    names: Mapping[str, str],
    gone: int | None,
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
        printer.say(f"Pruned {plural(gone, 'session')}.{back}{space}")
        if options.yes:  # otherwise they were shown before the question
            _print_spared(context, plan, names)
    elif plan.rows:
        show_plan(context, plan, names)
        printer.say(f"Would prune {summary(plan)}. Nothing was changed.")
    else:
        printer.line("Nothing to prune.")
        _print_spared(context, plan, names)
    return 0
