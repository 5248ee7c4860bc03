"""`hermes sessions show`: print a session from start to end, in a pager on a terminal."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys

from hermes_store.records import tool_calls
from hermes_store.records.message import Message
from hermes_store.records.message_content import readable
from hermes_store.records.safe_text import clean
from hermes_store.records.session import Session
from hermes_tui.cli.common.context import Context
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.times import local_time


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="id, id prefix, or title")
    parser.add_argument("--format", choices=("plain", "md", "json"), default="plain")
    parser.add_argument("--no-pager", action="store_true", help="print without a pager")
    parser.add_argument("--full", action="store_true", help="print tool output in full")
    parser.epilog = 'example:\n  hermes sessions show "my project" --format md > project.md'


def run(options: argparse.Namespace, context: Context) -> int:
    with context.store() as store:
        session = store.sessions.find(options.session)
        if context.printer.as_json or options.format == "json":
            context.printer.data("session", session=store.transfer.as_dictionary(session.id))
            return 0
        page = io.StringIO()
        if options.format == "md":
            store.transfer.export(page, "markdown", [session.id])
        else:
            for piece in _plain(session, store.messages.of(session.id), full=options.full):
                page.write(piece)
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
    for message in messages:
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
