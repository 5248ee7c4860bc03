"""`hermes sessions postgres`: index messages on a server, and print statements for roles."""

from __future__ import annotations

import argparse
import re

from hermes_store.engines.opening import require_driver
from hermes_store.errors import InvalidInput
from hermes_store.store import Store
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.cli.push import server

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$-]{0,62}")


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=("index", "grant"),
        help="index: add new messages to the index of words; grant: print statements for a role",
    )
    parser.add_argument("role", nargs="?", help="the role that gets rights")
    parser.add_argument("--write", action="store_true", help="let the role change sessions, too")
    parser.epilog = (
        "examples:\n  hermes sessions postgres index --db postgresql://me@db.example/hermes\n"
        "  hermes sessions postgres grant ann | psql postgresql://me@db.example/hermes\n"
        "Every program that has the store open indexes in the background; 'index' is for cron.\n"
        "'grant' prints what an owner runs: reading, or with --write also changing."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    address = server(None, "--db", context)
    if options.what == "grant":
        return _grant(options, context, address)
    if options.role is not None:
        raise InvalidInput("'index' takes no role.")
    with Store(address) as store, ProgressLine() as line:
        complete = store.search.prepare(lambda done, total: line("Indexing", done, total))
    if context.printer.as_json:
        context.printer.data("indexed", complete=complete)
    else:
        context.printer.say(
            "All messages are indexed."
            if complete
            else "Another program is indexing; searches read what is left."
        )
    return 0


def _grant(options: argparse.Namespace, context: Context, address: str) -> int:
    require_driver()
    from hermes_store.engines.postgres.address import Address
    from hermes_store.engines.postgres.roles import statements

    if options.role is None or not _ROLE.fullmatch(options.role):
        raise InvalidInput("Name a role, such as: hermes sessions postgres grant ann")
    schema = Address.parse(address).schema
    for each in statements(schema, options.role, write=options.write):
        context.printer.line(each)
    return 0
