"""`hermes sessions recall`: answer a question from earlier conversations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hermes_store.errors import ConfigError
from hermes_store.records.recall import Recalled, RecalledSession
from hermes_store.records.safe_text import clean
from hermes_store.records.sources import describe as source_names
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import complain, dim, strong, width, wrapped
from hermes_tui.presentation.fit_text import cell_width, fit, plain
from hermes_tui.presentation.numbers import plural
from hermes_tui.presentation.times import age

if TYPE_CHECKING:
    from hermes_store.search.recall.recall import Summarise

NOTHING_FOUND = 1
EXCERPT = 900
"""Characters of an excerpt in the terminal."""


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUESTION", help="your question")
    parser.add_argument("--limit", type=int, default=3, help="number of conversations (default: 3)")
    parser.add_argument("--raw", action="store_true", help="print full text, not summaries")
    parser.epilog = (
        "examples:\n"
        "  hermes sessions recall what did we decide about the docker deploy?\n"
        "  hermes sessions recall 'nginx OR caddy' --raw --limit 1\n"
        "exit code: 0 something found, 1 nothing found"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--limit", options.limit, least=1)
    summarise = None if options.raw else _summariser(context)
    with context.store() as store:
        found = store.recall.about(
            " ".join(options.query), limit=options.limit, summarise=summarise, now=context.now
        )
    if context.printer.as_json:
        _print_json(context, found)
    else:
        _print(context, found, raw=options.raw)
    return 0 if found.sessions else NOTHING_FOUND


def _summariser(context: Context) -> Summarise | None:
    try:
        from hermes_tui.chat.endpoint_settings import environment
        from hermes_tui.chat.summaries import summariser
    except ImportError:
        return None  # the chat extra is not installed
    try:
        return summariser(context.config(), environment(context.home))
    except ConfigError as error:
        complain(str(error))
        return None


def _print_json(context: Context, found: Recalled) -> None:
    context.printer.data(
        "recall",
        question=found.question,
        summarised=found.summarised,
        partial=found.partial,
        relaxations=[{"kind": r.kind, "explanation": r.explanation} for r in found.relaxations],
        sessions=[_session(each) for each in found.sessions],
    )


def _session(session: RecalledSession) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "root_id": session.root_id,
        "title": session.title,
        "source": session.source,
        "model": session.model,
        "started_at": session.started_at,
        "last_active": session.last_active,
        "messages": session.messages,
        "matches": session.matches,
        "summary": session.summary,
        "trouble": session.trouble,
        "text": session.window,
        "start_cut": session.start_cut,
        "end_cut": session.end_cut,
    }


def _print(context: Context, found: Recalled, *, raw: bool) -> None:
    for step in found.relaxations:
        complain(step.explanation)
    if found.partial:
        complain("The search ran out of time; there may be more results.")
    if not found.sessions:
        complain("Nothing matches.")
        return
    if not found.summarised and not raw:
        complain("No model is configured for summaries, so these are excerpts. --raw shows more.")
    printer = context.printer
    for place, session in enumerate(found.sessions):
        if place:
            printer.line()
        when = age(session.last_active, context.now, dates=True)
        figures = f"{session.matches:,} of {plural(session.messages, 'message')}"
        room = max(12, width() - cell_width(session.session_id) - 2)
        title = fit(plain(session.title or "—"), room, pad=False)
        printer.line(strong(title), "  ", dim(session.session_id))
        printer.say(f"  {source_names(session.source).label} · {when} · {figures}", dim)
        if session.trouble is not None:
            complain(f"{session.session_id}: {session.trouble}")
        for line in _lines(session, raw=raw):
            printer.line(line)


def _lines(session: RecalledSession, *, raw: bool) -> list[str]:
    """Return a summary or an excerpt, indented and wrapped at a readable width."""
    if raw:
        before, after = ["…"] if session.start_cut else [], ["…"] if session.end_cut else []
        return [*before, *session.window.splitlines(), *after]
    text = session.summary if session.summary is not None else session.excerpt(EXCERPT)
    return [
        piece
        for line in clean(text).splitlines()
        for piece in wrapped(f"  {line.strip()}", indent="    ").split("\n")
    ]
