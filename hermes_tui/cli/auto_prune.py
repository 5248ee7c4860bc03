"""`hermes sessions auto-prune`: prune as config.yaml says, if it is due. For cron."""

from __future__ import annotations

import argparse

from hermes_store.config import paths
from hermes_store.errors import StoreError
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.numbers import plural
from hermes_tui.presentation.times import local_time


def describe(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example:\n  0 5 * * *  hermes sessions auto-prune      (a line for crontab)\n"
        "Does nothing unless sessions.auto_prune is on in config.yaml and the last run is at\n"
        "least sessions.min_interval_hours ago. Conversations inactive for\n"
        "sessions.retention_days move to trash; 'hermes sessions restore --last' restores them.\n"
        "The browser and bots do the same while they run."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    config = context.config()
    printer = context.printer
    if not config.sessions.auto_prune:
        if printer.as_json:
            printer.data("auto-prune", on=False, skipped=True, pruned=0, purged=0, vacuumed=False)
        else:
            printer.say("Automatic pruning is off. Turn it on with sessions.auto_prune: true.")
        return 0
    with context.store(read_only=False) as store:
        before = store.upkeep.last_auto_prune()
        report = store.upkeep.auto_prune(config, paths.sessions_dir(context.home))
    if report.error is not None:
        raise StoreError(report.error)
    if printer.as_json:
        printer.data(
            "auto-prune",
            on=True,
            skipped=report.skipped,
            pruned=report.pruned,
            purged=report.purged,
            vacuumed=report.vacuumed,
        )
    elif report.skipped:
        when = "recently" if before is None else local_time(before)
        printer.say(f"Not due yet: the last run was {when}.")
    else:
        back = " Restore with 'hermes sessions restore --last'." if report.pruned else ""
        printer.say(f"Moved {plural(report.pruned, 'session')} to trash.{back}")
        if report.purged:
            printer.say(f"Permanently deleted {plural(report.purged, 'session')} from the trash.")
    return 0
