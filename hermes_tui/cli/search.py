"""`hermes sessions search`: search messages and titles, grouped by conversation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_store.errors import DatabaseMissing, InvalidInput
from hermes_store.records.listing import ListRow
from hermes_store.records.search import (
    Hit,
    Looked,
    Order,
    Request,
    SearchResult,
    Snippet,
    Strength,
)
from hermes_store.records.sources import describe as source_names
from hermes_store.search import query_language
from hermes_tui.cli.common import search_options
from hermes_tui.cli.common.context import Context
from hermes_tui.cli.common.number_options import check_number
from hermes_tui.cli.common.output import Part, complain, dim, match, strong, width
from hermes_tui.cli.list import NARROW, profile_contexts
from hermes_tui.presentation.fit_text import cell_width, first_words, fit, flat, plain
from hermes_tui.presentation.numbers import plural
from hermes_tui.presentation.times import age, local_time

if TYPE_CHECKING:
    from hermes_store.store import Store

NOTHING_FOUND = 1
ORDERS = {
    Order.NEWEST: "newest first",
    Order.OLDEST: "oldest first",
    Order.RELEVANCE: "most relevant first",
}
WEAKER = {
    Strength.PART: "Inside of words:",
    Strength.ROW: "The same words with other signs between them:",
}
"""What stands above conversations that match less well."""
LEAD = 24
"""Columns before an excerpt: its time and who wrote it."""


@dataclass(slots=True)
class _Group:
    """A conversation to print."""

    row: ListRow
    named: bool
    hits: list[Hit]

    @property
    def strength(self) -> Strength:
        return min((hit.strength for hit in self.hits), default=Strength.WHOLE)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found in one database."""

    result: SearchResult
    titles: dict[str, str | None]
    """The title of each session with a hit."""
    titled: list[ListRow]
    groups: list[_Group]


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="words, phrases and fields; see the examples")
    search_options.add(parser)
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="number of matches (default: 20)"
    )
    parser.add_argument("--sort", choices=[o.value for o in Order], help="order of the results")
    parser.add_argument("--exact", action="store_true", help="do not relax the search")
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="N", help="time limit (default: 10)"
    )
    parser.add_argument("--all-profiles", action="store_true", help="search all profiles")
    parser.epilog = (
        "examples:\n"
        "  hermes sessions search docker deploy --source telegram\n"
        "  hermes sessions search docker -compose after:7d\n"
        "  hermes sessions search '\"exit code\" OR timeout' --limit 5\n"
        "  hermes sessions search -- --force\n"
        "-compose leaves out what has this word. After --, nothing is an option. Conversations "
        "with a matching title come first, then the newest.\n"
        "\nfields:\n  source role model tool title id after before on has is tag\n"
        "  workspace branch sort\n"
        "\nexit codes:\n  0 something found, 1 nothing found, 2 a filter that makes no sense"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    request = _request(options, context)
    places = list(profile_contexts(context)) if options.all_profiles else [("", context)]
    found = 0
    refused: list[InvalidInput] = []
    for profile, place in places:
        try:
            with place.store() as store:
                search_options.check(store, request)
                answer = _search(store, request)
        except DatabaseMissing:
            continue
        except InvalidInput as error:
            refused.append(error)  # such as a source that only another profile has
            continue
        found += len(answer.result.hits) + len(answer.titled)
        if context.printer.as_json:
            _print_json(context, answer, profile)
        else:
            _print(context, answer, profile, options.limit)
    if refused and len(refused) == len(places):
        raise refused[0]
    if not found and not context.printer.as_json:
        complain("Nothing matches.")
    return 0 if found else NOTHING_FOUND


def _request(options: argparse.Namespace, context: Context) -> Request:
    check_number("--limit", options.limit, least=1)
    check_number("--seconds", options.seconds, least=0)
    text = " ".join(options.query)
    fields = search_options.chosen(options)
    query = query_language.parse(text)
    if not text.strip() and not fields:
        raise InvalidInput("Say what to search for, such as 'hermes sessions search docker'.")
    if query.root is None and text.strip() and not query.sort:
        raise InvalidInput(f"'{text}' has no words to search for. Quote punctuation: '\"(\"'.")
    return Request(
        text,
        order=Order(options.sort) if options.sort else None,
        limit=options.limit,
        fields=fields,
        titles=True,
        relax=not options.exact,
        seconds=options.seconds,
        now=context.now,
    )


def _search(store: Store, request: Request) -> _Found:
    result = store.search.run(request)
    now = request.now or 0.0
    titles = {hit.session_id: store.sessions.get(hit.session_id).title for hit in result.hits}
    roots = store.lineage.roots(list(titles))
    ids = dict.fromkeys((*result.named, *(roots[hit.session_id] for hit in result.hits)))
    rows = {row.id: row for row in store.lists.rows(list(ids), now=now)}
    groups = {each: _Group(rows[each], each in result.named, []) for each in ids if each in rows}
    for hit in result.hits:
        if roots[hit.session_id] in groups:
            groups[roots[hit.session_id]].hits.append(hit)
    titled = [rows[each] for each in result.titled if each in rows]
    return _Found(result, titles, titled, _in_order(list(groups.values()), result.order))


def _in_order(groups: list[_Group], order: Order) -> list[_Group]:
    """Return conversations with a matching title first, then the best, each by time."""
    if order is Order.RELEVANCE:
        return sorted(groups, key=lambda group: not group.named)
    sign = 1 if order is Order.OLDEST else -1
    for group in groups:
        group.hits.sort(key=lambda hit: (sign * hit.timestamp, sign * hit.message_id))

    def place(group: _Group) -> tuple[bool, Strength, float]:
        when = group.hits[0].timestamp if group.hits else group.row.last_active
        return not group.named, Strength.WHOLE if group.named else group.strength, sign * when

    return sorted(groups, key=place)


# -- JSON ----------------------------------------------------------------------------------------


def _print_json(context: Context, found: _Found, profile: str) -> None:
    result = found.result
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
            for row in found.titled
        ],
        hits=[_hit(hit, found.titles[hit.session_id]) for hit in result.hits],
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


# -- lines ---------------------------------------------------------------------------------------


def _print(context: Context, found: _Found, profile: str, limit: int) -> None:
    result = found.result
    for message in dict.fromkeys(note.message for note in result.diagnostics):
        complain(message)
    for step in result.relaxations:
        complain(step.explanation)
    left = limit
    strength = Strength.WHOLE
    for group in found.groups:
        if left <= 0:
            break
        if not group.named and group.strength is not strength:
            strength = group.strength
            context.printer.say(WEAKER[strength], dim)
        _print_head(context, group, result, profile)
        for hit, times in _once(group.hits[:left]):
            _print_line(context, hit, times)
        left -= max(1, len(group.hits))
    if found.groups:
        shown = min(limit, sum(max(1, len(group.hits)) for group in found.groups))
        _print_summary(context, result, shown)
    if result.partial:
        complain(_stopped(result.looked))


def _once(hits: Sequence[Hit]) -> list[tuple[Hit, int]]:
    """Return hits that read differently, each with how often it is there."""
    found: dict[tuple[str, str], tuple[Hit, int]] = {}
    for hit in hits:
        key = hit.role, hit.snippet.text
        first, times = found.get(key, (hit, 0))
        found[key] = first, times + 1
    return list(found.values())


def _print_summary(context: Context, result: SearchResult, shown: int) -> None:
    titles = len(result.titled)
    counts = []
    if result.messages.number or not titles:
        one = result.messages.number == 1 and result.messages.exact
        counts.append(f"{result.messages} message{'' if one else 's'}")
    if titles:
        counts.append(plural(titles, "title"))
    what = " and ".join(counts)
    if result.weaker.number:
        what += f" (and {result.weaker.number:,} with the same words)"
    if result.messages.number + titles > shown or not result.messages.exact:
        said = f"{shown:,} of {what}, {ORDERS[result.order]}; --limit shows more"
    else:
        matches = "matches" if what.startswith("1 ") and len(counts) == 1 else "match"
        said = f"{what} {matches}, {ORDERS[result.order]}"
    context.printer.say(said, dim)


def _stopped(looked: Looked | None) -> str:
    """Return what a search that ran out of time has not looked at."""
    if looked is None or looked.back_to is None:
        return "The time was up before everything was searched; use --seconds for more."
    return (
        f"The time was up: messages before {local_time(looked.back_to)} were not searched "
        f"({looked.share:.0%} were). Use --seconds for more."
    )


def _print_head(context: Context, group: _Group, result: SearchResult, profile: str) -> None:
    row = group.row
    lead = f"{profile}: " if profile else ""
    label = fit(plain(source_names(row.source).label), 16, pad=False)
    label += f"  {plain(row.host)}" if row.host else ""
    source = f"  {label}" if width() >= NARROW else ""
    room = max(12, width() - cell_width(f"{lead}  {row.tip_id}{source}"))
    title = plain(row.title or first_words(row.preview) or "—")
    if group.named and result.highlighter is not None:
        spans = tuple(result.highlighter.spans(title))
        shown = fitted(Snippet(title, spans), room, marks=not context.printer.colours)
        parts = list(_marked(shown))
    else:
        parts = [strong(fit(title, room, pad=False))]
    context.printer.line(lead, *parts, "  ", dim(row.tip_id), dim(source))


def _print_line(context: Context, hit: Hit, times: int) -> None:
    when = age(hit.timestamp, context.now, dates=True)
    again = f" (×{times})" if times > 1 else ""
    room = max(12, width() - LEAD - len(again))
    excerpt = fitted(hit.snippet, room, marks=not context.printer.colours)
    context.printer.line(
        "  ", dim(f"{when:<11}"), f" {fit(plain(hit.role), 9)} ", *_marked(excerpt), dim(again)
    )


def fitted(snippet: Snippet, columns: int, *, marks: bool) -> Snippet:
    """Return an excerpt on one line that fits, with its first match in view.

    With `marks`, every match takes two columns more, for the quotes around it.
    """
    text, spans = _flat(snippet)
    if marks:
        columns -= 2 * len(spans)
    if cell_width(text) <= columns:
        return Snippet(text, spans)
    first = spans[0][0] if spans else 0
    start = 0
    # A third of the room stands before the match.
    while start < first and cell_width(text[start:first]) > columns // 3:
        start += 1
    lead = "…" if start else ""
    shown = lead + fit(text[start:], columns - len(lead), pad=False)
    shift = len(lead) - start
    kept = tuple(
        (begin + shift, min(end + shift, len(shown)))
        for begin, end in spans
        if len(lead) <= begin + shift < len(shown)
    )
    return Snippet(shown, kept)


def _flat(snippet: Snippet) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return an excerpt on one line, and where its matches are in it."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    place = length = 0
    for first, last in snippet.marks:
        before, inside = flat(snippet.text[place:first]), flat(snippet.text[first:last])
        spans.append((length + len(before), length + len(before) + len(inside)))
        pieces += [before, inside]
        length += len(before) + len(inside)
        place = last
    return "".join([*pieces, flat(snippet.text[place:])]).rstrip(), tuple(spans)


def _marked(snippet: Snippet) -> Iterator[Part]:
    """Yield an excerpt with its matches highlighted."""
    place = 0
    for first, last in snippet.marks:
        yield snippet.text[place:first]
        yield match(snippet.text[first:last])
        place = last
    yield snippet.text[place:]
