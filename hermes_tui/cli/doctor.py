"""`hermes sessions doctor`: is the file well, and mending it if not."""

from __future__ import annotations

import argparse

from hermes_store.errors import DatabaseMissing
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.upkeep.doctor import examine
from hermes_store.upkeep.repair import repair
from hermes_tui.cli.common.context import Context

_SIGNS = {Health.GOOD: "✓", Health.NOTE: "•", Health.BAD: "✗"}


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.add_argument(
        "--repair", action="store_true", help="mend a copy, and put it in place if nobody uses it"
    )
    parser.epilog = (
        "examples:\n  hermes sessions doctor\n  hermes sessions doctor --repair\n"
        "Looking changes nothing and takes no lock. A repair keeps the damaged file.\n"
        "exit code: 0 all is well, 1 something is not"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    """Examine a database, and repair it if asked to."""
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
        context.printer.line(context.printer.strong(str(context.database)))
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
    line(f"Saved {done.sessions:,} sessions and {done.messages:,} messages.")
    if done.lost_places:
        line(f"{done.lost_places:,} places could not be read and are lost to the copy.")
    if done.in_place:
        line(f"The mended file is in place; the damaged one is kept as {done.original}.")
    else:
        line(f"Another program has the file open, so the mended copy lies at {done.repaired}.")
        line("End that program, then run this again to put a copy in place.")
    return 0
