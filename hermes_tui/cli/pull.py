"""`hermes sessions pull`: bring sessions from a server into a file."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from hermes_store.config.database_address import shown
from hermes_store.errors import InvalidInput
from hermes_store.records.search import Request
from hermes_store.store import Store
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.cli.push import local_file, server
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import plural

MOST = 10_000


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="*", help="ids, prefixes or titles of sessions")
    parser.add_argument(
        "--from", dest="from_", metavar="URL", help="address of the server: postgresql://…"
    )
    parser.add_argument("--query", metavar="TEXT", help="all sessions that a search finds")
    parser.add_argument("--all", action="store_true", help="all sessions of the server")
    parser.epilog = (
        "examples:\n  hermes sessions pull --from postgresql://me@db.example/hermes 20260305_0915\n"
        "  hermes sessions pull --query 'host:laptop after:7d'\n"
        "A session that the file has gets what was said on the server since. What was brought is\n"
        "compared with the server."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    address = server(options.from_, "--from", context)
    chosen = (bool(options.session), bool(options.query), options.all)
    if sum(chosen) != 1:
        raise InvalidInput("Name sessions, or use --query or --all, and only one of these.")
    path = local_file(context)
    with Store(address, read_only=True) as hub, Store(path) as file:
        ids = _chosen(hub, options)
        with ProgressLine() as line:
            report = file.transfer.pull(
                hub.database, ids, lambda done, total: line("Fetching", done, total)
            )
    if context.printer.as_json:
        context.printer.data("pulled", **asdict(report))
        return 0
    there = report.sessions - report.added - report.extended - len(report.skipped)
    parts = [f"added {plural(report.added, 'session')}"]
    if report.extended:
        parts.append(f"continued {report.extended:,}")
    rest = f" {there:,} {'was' if there == 1 else 'were'} there already." if there else ""
    context.printer.say(
        f"From {plain(shown(address))}: {' and '.join(parts)} with "
        f"{plural(report.messages, 'message')} in {plain(str(path))}.{rest}"
    )
    for reason in report.skipped:
        complain(f"Not brought: {reason}")
    return 1 if report.skipped else 0


def _chosen(hub: Store, options: argparse.Namespace) -> list[str]:
    if options.session:
        return [hub.sessions.find(name).id for name in options.session]
    with hub.snapshot() as tx:
        if options.all:
            return [row[0] for row in tx.rows("SELECT id FROM sessions ORDER BY started_at, id")]
    result = hub.search.run(Request(options.query, limit=MOST, grouped=True, titles=True))
    roots = dict.fromkeys([group.root_id for group in result.groups])
    found = (each for root in roots for each in hub.lineage.members(root))
    return list(dict.fromkeys(found))
