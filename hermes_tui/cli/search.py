"""`hermes sessions search`: search messages and titles, grouped by session."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from hermes_store.errors import DatabaseMissing, InvalidInput
from hermes_store.records.listing import ListRow
from hermes_store.records.search import Hit, Looked, Order, Request, SearchResult, Snippet
from hermes_store.search import query_language
from hermes_tui.cli.common import workspace_option
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Part, complain, dim, match, strong
from hermes_tui.cli.list import profile_contexts
from hermes_tui.presentation.fit_text import flat, plain
from hermes_tui.presentation.times import age, local_time

NOTHING_FOUND = 1


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="words, phrases and fields; see the examples")
    parser.add_argument("--limit", type=int, default=20, help="number of messages (default: 20)")
    workspace_option.add(parser, "search")
    parser.add_argument("--sort", choices=[o.value for o in Order], help="order of the results")
    parser.add_argument("--exact", action="store_true", help="do not relax the search")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit (default: 10)")
    parser.add_argument("--all-profiles", action="store_true", help="search all profiles")
    parser.epilog = (
        "examples:\n"
        "  hermes sessions search docker deploy\n"
        "  hermes sessions search '\"exit code\" source:telegram after:7d'\n"
        "  hermes sessions search 'C:\\Users' OR src/main.py\n"
        "fields: source role model tool title id after before on has is tag workspace branch sort\n"
        "exit code: 0 something found, 1 nothing found"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    check_number("--limit", options.limit, least=1)
    check_number("--seconds", options.seconds, least=0)
    text = " ".join(options.query)
    if query_language.parse(text).root is None:
        raise InvalidInput(f"'{text}' has no words to search for. Quote punctuation: '\"(\"'.")
    request = Request(
        text,
        order=Order(options.sort) if options.sort else None,
        limit=options.limit,
        workspace=options.workspace,
        titles=True,
        relax=not options.exact,
        seconds=options.seconds,
        now=context.now,
    )
    places = list(profile_contexts(context)) if options.all_profiles else [("", context)]
    found = 0
    for profile, place in places:
        try:
            with place.store() as store:
                result = store.search.run(request)
                titles = {hit.session_id: store.sessions.get(hit.session_id).title
                          for hit in result.hits}  # fmt: skip
                titled = store.lists.rows(result.titled, now=context.now)
        except DatabaseMissing:
            continue
        found += len(result.hits) + len(titled)
        if context.printer.as_json:
            _print_json(context, result, titles, titled, profile)
        else:
            _print(context, result, titles, titled, profile)
    if not found and not context.printer.as_json:
        complain("Nothing found.")
    return 0 if found else NOTHING_FOUND


def _print_json(
    context: Context,
    result: SearchResult,
    titles: dict[str, str | None],
    titled: list[ListRow],
    profile: str,
) -> None:
    context.printer.data(
        "search",
        **({"profile": profile} if profile else {}),
        order=result.order.value,
        messages={"count": result.messages.number, "exact": result.messages.exact},
        partial=result.partial,
        searched_back_to=result.looked.back_to if result.looked is not None else None,
        same_words={"count": result.weaker.number, "exact": result.weaker.exact},
        relaxations=[{"kind": r.kind, "explanation": r.explanation} for r in result.relaxations],
        diagnostics=[d.message for d in result.diagnostics],
        titles=[
            {
                "session_id": row.tip_id,
                "title": row.title,
                "source": row.source,
                "last_active": row.last_active,
            }
            for row in titled
        ],
        hits=[_hit(hit, titles[hit.session_id]) for hit in result.hits],
    )


def _hit(hit: Hit, title: str | None) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "title": title,
        "message_id": hit.message_id,
        "role": hit.role,
        "timestamp": hit.timestamp,
        "source": hit.source,
        "tool_name": hit.tool_name,
        "strength": hit.strength.name.lower(),
        "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
    }


def _print(
    context: Context,
    result: SearchResult,
    titles: dict[str, str | None],
    titled: list[ListRow],
    profile: str,
) -> None:
    for message in dict.fromkeys(note.message for note in result.diagnostics):
        complain(message)
    for step in result.relaxations:
        complain(step.explanation)
    printer = context.printer
    for row in titled:
        _print_head(context, row.title, row.tip_id, row.source, profile)
        spans = result.highlighter.spans(row.title or "") if result.highlighter else []
        _print_line(context, row.last_active, "title", Snippet(row.title or "", tuple(spans)))
    session = None
    for hit in result.hits:
        if hit.session_id != session:
            session = hit.session_id
            _print_head(context, titles[session], session, hit.source, profile)
        _print_line(context, hit.timestamp, hit.role, hit.snippet)
    if result.hits:
        one = result.messages.number == 1 and result.messages.exact
        matching = "message matches" if one else "messages match"
        weaker = f", {result.weaker.number:,} with the same words" if result.weaker.number else ""
        printer.line(dim(f"{result.messages} {matching}{weaker}, {result.order.value} first"))
    if result.partial:
        complain(_stopped(result.looked))


def _stopped(looked: Looked | None) -> str:
    """Return what a search that ran out of time has not looked at."""
    if looked is None or looked.back_to is None:
        return "The time was up before everything was searched; use --seconds for more."
    return (
        f"The time was up: messages before {local_time(looked.back_to)} were not searched "
        f"({looked.share:.0%} were). Use --seconds for more."
    )


def _print_head(
    context: Context, title: str | None, session_id: str, source: str, profile: str
) -> None:
    name = f"{profile}: " if profile else ""
    name += plain(title or "—")
    context.printer.line(strong(name), "  ", dim(session_id), "  ", dim(plain(source)))


def _print_line(context: Context, moment: float, role: str, snippet: Snippet) -> None:
    when = age(moment, context.now, dates=True)
    context.printer.line("  ", dim(f"{when:<11}"), f" {plain(role):<9} ", *_marked(snippet))


def _marked(snippet: Snippet) -> Iterator[Part]:
    """Yield the excerpt on one line, with its matches highlighted."""
    place = 0
    for first, last in snippet.marks:
        yield flat(snippet.text[place:first])
        yield match(flat(snippet.text[first:last]))
        place = last
    yield flat(snippet.text[place:])
