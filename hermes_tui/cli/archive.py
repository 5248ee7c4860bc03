"""`hermes sessions archive`: hide conversations from lists, by name or by conditions."""

from __future__ import annotations

import argparse
from dataclasses import replace

from hermes_store.errors import InvalidInput
from hermes_tui.cli import prune
from hermes_tui.cli.common import filter_options, mark_options, source_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import confirm
from hermes_tui.presentation.numbers import plural


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="*", help="id, id prefix, or title")
    filter_options.describe(parser, "archive")
    parser.add_argument("--dry-run", action="store_true", help="show what would be archived")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.epilog = (
        'examples:\n  hermes sessions archive "my project"\n'
        "  hermes sessions archive --older-than 60d --source telegram\n"
        "Archived conversations are hidden from lists. Search for is:archived to find them.\n"
        "With conditions instead of names, conversations that have not ended are left alone."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    wanted = filter_options.chosen(options, context.now)
    if options.session:
        if not filter_options.is_empty(wanted):
            raise InvalidInput("Give conversations or conditions, not both.")
        if options.dry_run:
            return _only_say(options, context)
        return mark_options.run(
            options, context, lambda store, session_id: store.marks.archive(session_id)
        )
    if filter_options.is_empty(wanted):
        raise InvalidInput(
            "Say what to archive: conversations by name, or a condition such as --older-than 60d."
        )
    with context.store() as store:
        source = source_option.chosen(store, wanted.source)
        wanted = replace(wanted, source=source, include_pinned=True)
        plan = store.upkeep.plan_prune(wanted, context.now)
        names = prune.names_in(store, plan, context.now)
    printer = context.printer
    ids = [row.root_id for row in plan.rows]
    if options.dry_run or not ids:
        if printer.as_json:
            printer.data("archive", dry_run=options.dry_run, archived=0, sessions=ids)
        elif ids:
            prune.show_plan(context, plan, names)
            printer.line(f"Would archive {plural(len(ids), 'conversation')}. Nothing was changed.")
        else:
            printer.line("Nothing to archive.")
        return 0
    if not options.yes:
        prune.show_plan(context, plan, names)
        if not confirm(f"Archive {plural(len(ids), 'conversation')}?"):
            printer.line("Cancelled.")
            return 1
    with context.store(read_only=False) as store:
        store.marks.archive(*ids)
    if printer.as_json:
        printer.data("archive", dry_run=False, archived=len(ids), sessions=ids)
    else:
        printer.say(
            f"Archived {plural(len(ids), 'conversation')}. 'hermes sessions unarchive' shows one "
            "again."
        )
    return 0


def _only_say(options: argparse.Namespace, context: Context) -> int:
    """Say what naming conversations would archive."""
    with context.store() as store:
        ids = [store.sessions.find(each).id for each in options.session]
    if context.printer.as_json:
        context.printer.data("archive", dry_run=True, archived=0, sessions=ids)
    else:
        for session_id in ids:
            context.printer.line(f"Would archive {session_id}. Nothing was changed.")
    return 0
