"""List rows as styled lines.

Every stored text passes `text.clean` on its way here; nothing is ever parsed as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_store.records.listing import Heading, ListRow, Status
from hermes_store.records.sources import describe
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.fit_text import cell_width, fit, fit_title, flat, plain
from hermes_tui.presentation.numbers import short_number
from hermes_tui.presentation.styled_line import Line, cut, width_of
from hermes_tui.presentation.times import age

if TYPE_CHECKING:
    from hermes_store.records.search import Snippet, Spans


STATUS_SIGNS = {
    Status.LIVE: ("●", "live"),
    Status.DONE: ("○", "done"),
    Status.INTERRUPTED: ("◐", "interrupted"),
    Status.ERROR: ("✗", "error"),
    Status.EMPTY: ("·", "empty"),
}
PLACED, PLACE_WIDTH = 60, 10
"""Columns needed to show the workspace, and those it takes."""
WIDE, MEDIUM = 52, 30
"""Columns needed to show the source, and the message count, of a row."""


# -- the list ----------------------------------------------------------------------------------


class RowState(NamedTuple):
    """What a list knows about a row besides the row itself."""

    now: float
    selected: bool = False
    unfolded: bool = False
    spans: Spans | None = None
    """Finds matches in a title."""
    placed: bool = False
    """Whether to say where it took place."""


def session_line(row: ListRow, width: int, state: RowState) -> Line:
    """Return a conversation as one line of a list."""
    sign, style = STATUS_SIGNS[row.status]
    fold = ("▾" if state.unfolded else "▸") if row.foldable else " "
    mark = "✓" if state.selected else "⚑" if row.pinned else "•" if row.unread else " "
    right = _right_columns(row, width, state)
    left: Line = [(mark, "mark"), (sign, style), (f" {fold} ", "tree")]
    room = width - width_of(left) - width_of(right)
    return [*left, *_name(row, room, state.spans), *right]


def _name(row: ListRow, room: int, spans: Spans | None) -> Line:
    title, preview = plain(row.title or ""), plain(row.preview)
    tags = "".join(f" #{plain(tag)}" for tag in row.tags)
    if row.archived:
        tags += " archived"
    # Tags may also use the room a short title leaves.
    most = max(room // 3, room - cell_width(title) if title else 0)
    if cell_width(tags) > most:
        tags = fit(tags, most)
    if not title:
        shown = preview or "(no messages)"
        name = fit(shown, room - cell_width(tags))
        return [*_with_matches(name, "untitled", spans), (tags, "tag")]
    rest = room - cell_width(title) - cell_width(tags)
    if rest < 12 or not preview:
        name = fit_title(title, room - cell_width(tags))
        return [*_with_matches(name, "title", spans), (tags, "tag")]
    named = [*_with_matches(title, "title", spans), (tags, "tag")]
    return [*named, (fit(f"  {preview}", rest), "dim")]


def _with_matches(text: str, style: str, spans: Spans | None) -> Line:
    pieces: Line = []
    place = 0
    for begin, end in spans.spans(text) if spans is not None else ():
        pieces += [(text[place:begin], style), (text[begin:end], "match")]
        place = end
    return [*pieces, (text[place:], style)]


def _right_columns(row: ListRow, width: int, state: RowState) -> Line:
    now = state.now
    count = f"{short_number(row.message_count):>6}"
    if width < MEDIUM:
        return [(f"{age(row.last_active, now, short=True):>7}", "age")]
    if width < WIDE:
        return [(f"{age(row.last_active, now, short=True):>8}", "age"), (count, "count")]
    source = describe(row.source).short
    place: Line = []
    if state.placed and width >= PLACED:
        where = row.place.workspace
        name = "—" if where is None else plain(short_name(where))
        place = [(" ", ""), (fit(name, PLACE_WIDTH), "place")]
    return [
        *place,
        (f"{age(row.last_active, now):>11} ", "age"),
        (fit(plain(source), 6), "source"),
        (count, "count"),
    ]


def placeholder_line(width: int) -> Line:
    """Return a row whose content is still being read."""
    return [(fit("    …", width), "dim")]


def heading_line(heading: Heading, width: int) -> Line:
    """Return the heading of a group."""
    text = f" {plain(heading.text)} · {heading.count:,} "
    return [("──", "tree"), (text, "heading"), ("─" * max(0, width - cell_width(text) - 2), "tree")]


def snippet_line(snippet: Snippet | None, preview: str, width: int) -> Line:
    """Return the second line of a row: the match in its context, highlighted."""
    lead: Line = [("     ", "")]
    room = width - 6
    if snippet is None or not snippet.marks:
        return [*lead, (fit(plain(preview), room), "dim")]
    return [*lead, *marked(snippet, room)]


def marked(snippet: Snippet, room: int) -> Line:
    """Return a snippet on one line with the first match visible."""
    first = snippet.marks[0][0]
    # If room is short, cut what comes before the match.
    start = max(0, first - max(8, room // 3))
    pieces: Line = [("…", "dim")] if start else []
    place = start
    for begin, end in snippet.marks:
        if end <= start:
            continue
        pieces += [(flat(snippet.text[place:begin]), "snippet"),
                   (flat(snippet.text[begin:end]), "match")]  # fmt: skip
        place = end
    pieces.append((flat(snippet.text[place:]), "snippet"))
    return cut(pieces, room)
