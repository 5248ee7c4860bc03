"""`hermes sessions doctor`: check the database and repair it."""

from __future__ import annotations

import argparse

from hermes_store.errors import DatabaseMissing
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.upkeep.doctor import examine
from hermes_store.upkeep.repair import repair
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import strong

_SIGNS = {Health.GOOD: "✓", Health.NOTE: "•", Health.BAD: "✗"}


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repair",
        action="store_true",
        help="repair a copy; swap it in if the database is not in use",
    )
    parser.epilog = (
        "examples:\n  hermes sessions doctor\n  hermes sessions doctor --repair\n"
        "A check changes nothing and takes no lock. A repair keeps the damaged file.\n"
        "exit code: 0 healthy, 1 damaged"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    if not context.database.exists():
        raise DatabaseMissing(f"There is no session database at {context.database}.")
    findings = examine(context.database)
    sick = [each for each in findings if each.health is not Health.GOOD and not each.beside]
    if options.repair and sick:
        return _repair(context)
    if context.printer.as_json:
        listed = [
            {"health": f.health.value, "what": f.what, "explanation": f.explanation}
            for f in findings
        ]
        context.printer.data("doctor", database=str(context.database), findings=listed)
    else:
        context.printer.line(strong(str(context.database)))
        for finding in findings:
            context.printer.line(_line(finding))
    return 1 if any(finding.health is Health.BAD for finding in findings) else 0


def _line(finding: Finding) -> str:
    return f"  {_SIGNS[finding.health]} {finding.what:<11} {finding.explanation}"


def _repair(context: Context) -> int:
    done = repair(context.database)
    if context.printer.as_json:
        context.printer.data(
            "repair",
            repaired=str(done.repaired),
            original=str(done.original),
            sessions=done.sessions,
            messages=done.messages,
            lost_places=done.lost_places,
            in_place=done.in_place,
        )
        return 0
    line = context.printer.line
    line(f"Recovered {done.sessions:,} sessions and {done.messages:,} messages.")
    if done.lost_places:
        line(f"{done.lost_places:,} places could not be read; the copy lacks their content.")
    if done.in_place:
        line(f"The repaired database is in place; the damaged file is kept as {done.original}.")
    else:
        line(f"Another program is using the database; the repaired copy is {done.repaired}.")
        line("Close that program, then run this again to put a repaired copy in place.")
    return 0
