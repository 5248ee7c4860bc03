"""`hermes sessions push`: send sessions to a server that collects those of several machines."""

from __future__ import annotations

import argparse
import socket
import time
from dataclasses import asdict
from pathlib import Path

from hermes_store.config import paths
from hermes_store.config.database_address import configured_address, is_address, shown
from hermes_store.engines.opening import watch_of
from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.transfer import PushReport
from hermes_store.store import Store
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.output import complain
from hermes_tui.cli.common.progress import ProgressLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import plural

EVERY = 5.0
"""Seconds between two looks at a file that is watched."""


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="URL", help="address of the server: postgresql://…")
    parser.add_argument("--host", metavar="NAME", help="name of this machine, instead of its own")
    parser.add_argument(
        "--watch", action="store_true", help="go on, and send what is new until you press Ctrl+C"
    )
    parser.add_argument(
        "--full", action="store_true", help="compare every message, also of unchanged sessions"
    )
    parser.epilog = (
        "examples:\n  hermes sessions push --to postgresql://me@db.example/hermes\n"
        "  hermes sessions push --to postgresql://me@db.example/hermes --watch\n"
        "Sends what the server does not have yet and compares what it stored. The file is only\n"
        "read; what you delete in it later stays on the server. Without --to, the address is that\n"
        "of HERMES_DATABASE_URL or of database.url in config.yaml.\n"
        "A session counts as changed if it has other messages or another row. --full also finds\n"
        "messages that were edited in place."
    )


def run(options: argparse.Namespace, context: Context) -> int:
    address = server(options.to, "--to", context)
    file = local_file(context)
    host = _host(options.host)
    if not options.watch:
        _say(context, _push(file, address, host, full=options.full), address)
        return 0
    watch = watch_of(file, None)
    try:
        complain(f"Watching {plain(str(file))}; press Ctrl+C to end.")
        # What is wrong at the beginning, such as a password, does not mend itself.
        _say(context, _push(file, address, host, full=options.full), address)
        context.printer.flush()
        watch.changed()
        due, told = True, ""
        while True:
            time.sleep(EVERY)
            if watch.changed() or due:
                said = _pushed(context, file, address, host)
                due = said is not None
                if said is not None and said != told:
                    complain(f"{said} Trying again.")
                told = said or ""
    except KeyboardInterrupt:
        complain("\nNo longer watching.")
        return 0
    finally:
        watch.close()


def _host(given: str | None) -> str:
    """Return the name of this machine."""
    if given is not None and not given.strip():
        raise InvalidInput("--host needs a name for this machine.")
    return (given or socket.gethostname() or "unknown").strip()


def _pushed(context: Context, file: Path, address: str, host: str) -> str | None:
    """Send what is new; return what kept it from being sent, None if nothing did."""
    try:
        report = _push(file, address, host)
    except StoreError as error:
        return str(error)
    if report.messages or report.added or report.changed or report.removed:
        _say(context, report, address)
        context.printer.flush()
    return None


def _push(file: Path, address: str, host: str, *, full: bool = False) -> PushReport:
    with Store(file, read_only=True) as source, Store(address) as hub, ProgressLine() as line:
        return source.transfer.push(
            hub.database,
            host=host,
            full=full,
            progress=lambda done, total: line("Sending", done, total),
        )


def server(given: str | None, option: str, context: Context) -> str:
    """Return the address of the server that a command line or the settings name."""
    # A file that is named lies elsewhere, but the settings are still those of the home.
    address = given or context.address or configured_address(paths.hermes_home())
    if address is None:
        raise InvalidInput(f"Name a server with {option} postgresql://USER@HOST/DATABASE.")
    if not is_address(address):
        raise InvalidInput(
            f"'{plain(shown(address))}' is not the address of a server; it begins with "
            "postgresql://."
        )
    return address


def local_file(context: Context) -> Path:
    """Return the file of this machine, also where the settings name a server."""
    if context.address is None:
        return context.database
    if context.named:
        raise InvalidInput(
            "--db names the file of this machine here; name the server with --to or --from."
        )
    return paths.database_path(context.home)


def _say(context: Context, report: PushReport, address: str) -> None:
    if context.printer.as_json:
        context.printer.data("pushed", **asdict(report))
        return
    elsewhere = ""
    if report.elsewhere:
        there = plural(report.elsewhere, "session")
        elsewhere = f" It already has {there} from elsewhere; nothing was changed there."
    if not (report.messages or report.added or report.changed or report.removed):
        context.printer.say(f"{plain(shown(address))} has everything already.{elsewhere}")
        return
    gone = f", {plural(report.removed, 'message')} removed" if report.removed else ""
    context.printer.say(
        f"Sent {plural(report.messages, 'message')} to {plain(shown(address))}: "
        f"{plural(report.added, 'new session')}, {report.changed:,} changed{gone}. "
        f"The server has what was sent.{elsewhere}"
    )
