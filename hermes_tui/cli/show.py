"""`hermes sessions show`: print a session from start to end, in a pager on a terminal."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from hermes_store.records import tool_calls
from hermes_store.records.message import DIVIDERS, Message, State
from hermes_store.records.message_content import readable
from hermes_store.records.safe_text import clean
from hermes_store.records.session import Session
from hermes_store.sessions.messages import Which
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import left_out
from hermes_tui.presentation.times import local_time


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or title")
    parser.add_argument("--format", choices=("plain", "md", "json"), default="plain")
    parser.add_argument("--no-pager", action="store_true", help="print without a pager")
    parser.add_argument("--full", action="store_true", help="print tool output in full")
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="include messages that were taken back or are hidden",
    )
    parser.epilog = 'example:\n  hermes sessions show "my project" --format md > project.md'


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store() as store:
        session = store.sessions.find(options.session)
        if context.printer.as_json or options.format == "json":
            which = Which.ALL if options.everything else Which.READ
            found = store.transfer.as_dictionary(session.id, which)
            context.printer.data("session", session=found)
            return 0
        page = io.StringIO()
        if options.format == "md":
            store.transfer.export(page, "markdown", [session.id], everything=options.everything)
        else:
            said = store.messages.of(session.id, everything=options.everything)
            for piece in _plain(session, said, full=options.full):
                page.write(piece)
            if not options.everything:
                page.write(_left_out(store.messages.left_out(session.id)))
    pager = "" if options.no_pager or not sys.stdout.isatty() else _pager()
    if pager:
        _page(clean(page.getvalue()), pager)
    else:
        context.printer.write(page.getvalue())
    return 0


TOOL_LINES = 10


def _plain(session: Session, messages: list[Message], *, full: bool) -> list[str]:
    title = plain(session.title or session.id)
    facts = f"{plain(session.id)} · {plain(session.source)} · {local_time(session.started_at)}"
    pieces = [f"{title}\n{facts}\n\n"]
    state = State.SENT
    for message in messages:
        if message.state is not state:
            state = message.state
            pieces.append(f"┄┄ {DIVIDERS[state]} ┄┄\n\n")
        who = {"user": "You", "assistant": "Hermes"}.get(message.role, plain(message.role))
        if message.role == "tool":
            who = f"Tool {plain(message.tool_name or '')}".rstrip()
        pieces.append(f"── {who} · {local_time(message.timestamp)}\n")
        text = clean(readable(message.content))
        if message.role == "tool" and not full:
            text = _shortened(text)
        calls = clean(tool_calls.summary(message.tool_calls))
        pieces.append("\n".join(filter(None, (text, calls))) + "\n\n")
    return pieces


def _left_out(numbers: Mapping[State, int]) -> str:
    said = left_out(numbers)
    return f"┄┄ left out: {', '.join(said)}; --all shows them ┄┄\n" if said else ""


def _shortened(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= TOOL_LINES:
        return text
    left = len(lines) - TOOL_LINES
    return "\n".join([*lines[:TOOL_LINES], f"… {left} more lines (--full shows them)"])


def _pager() -> str:
    return os.environ.get("PAGER") or ("less" if shutil.which("less") else "")


def _page(text: str, pager: str) -> None:
    environment = os.environ | {"LESS": os.environ.get("LESS", "FRX"), "LESSCHARSET": "utf-8"}
    with subprocess.Popen(
        pager, shell=True, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    ) as process:
        try:
            process.communicate(text)
        except (BrokenPipeError, KeyboardInterrupt):
            process.wait()
