"""`hermes sessions doctor`: check the database and repair it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hermes_store.errors import DatabaseMissing, InvalidInput
from hermes_store.records.upkeep_reports import Finding, Health
from hermes_store.upkeep.doctor import examine
from hermes_store.upkeep.doctor_server import examine_server
from hermes_store.upkeep.repair import repair
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import strong

INDENT = 16
"""Columns before an explanation."""
_SIGNS = {Health.GOOD: "✓", Health.NOTE: "•", Health.BAD: "✗"}


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repair",
        action="store_true",
        help="mend what is broken, with the least change that mends it",
    )
    parser.epilog = (
        "examples:\n  hermes sessions doctor\n  hermes sessions doctor --repair\n"
        "A check changes nothing and takes no lock. A repair touches only what is broken, and\n"
        "keeps a copy of the database as it was.\n"
        "exit code: 0 healthy, 1 damaged"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    if context.address is not None:
        return _check_server(options, context)
    if not context.database.exists():
        raise DatabaseMissing(f"There is no session database at {context.database}.")
    return _repair(context) if options.repair else _check(context)


def _check_server(options: argparse.Namespace, context: Context) -> int:
    if options.repair:
        raise InvalidInput(
            f"{context.place} is on a PostgreSQL server, which repairs itself after a crash. "
            "Damage on its disk is a case for its backups."
        )
    with context.store() as store:
        findings = examine_server(store.database)
    if context.printer.as_json:
        context.printer.data("doctor", database=context.place, findings=_listed(findings))
    else:
        _show(context, findings)
    return _health(findings)


def _check(context: Context) -> int:
    findings = examine(context.database, context.home)
    if context.printer.as_json:
        path = str(context.database)
        context.printer.data("doctor", database=path, findings=_listed(findings))
    else:
        _show(context, findings)
    return _health(findings)


def _listed(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [
        {"health": f.health.value, "what": f.what, "explanation": f.explanation} for f in findings
    ]


def _show(context: Context, findings: Sequence[Finding]) -> None:
    context.printer.line(strong(context.place))
    for finding in findings:
        context.printer.say(_line(finding), indent=" " * INDENT)


def _health(findings: Sequence[Finding]) -> int:
    return 1 if any(finding.health is Health.BAD for finding in findings) else 0


def _line(finding: Finding) -> str:
    return f"  {_SIGNS[finding.health]} {finding.what:<11} {finding.explanation}"


def _repair(context: Context) -> int:
    done = repair(context.database)
    findings = examine(context.database)
    printer = context.printer
    code = 1 if done.beside is not None else _health(findings)
    if printer.as_json:
        printer.data(
            "repair",
            steps=list(done.steps),
            lost=list(done.lost),
            original=None if done.original is None else str(done.original),
            beside=None if done.beside is None else str(done.beside),
            findings=_listed(findings),
        )
        return code
    for sentence in (*done.steps, *done.lost):
        printer.say(sentence)
    if done.original is not None:
        printer.say(f"The database as it was is kept as {done.original}.")
    if done.beside is not None:
        printer.say(
            f"Another program is using the database, so it was not replaced; the repaired copy is "
            f"{done.beside}. Close that program and run this again."
        )
        return code
    if not done.steps:
        printer.say("There was nothing to repair, so nothing was changed.")
    _show(context, findings)
    return code
