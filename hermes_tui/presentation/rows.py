"""From records to styled lines: the only place where stored text becomes something styled.

A line is a list of pieces, each a text and the name of a style. Every stored text passes
`text.clean` on its way here; nothing is ever parsed as markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from hermes_store.records.edge import Edge
from hermes_store.records.listing import Heading, ListRow, Status
from hermes_store.records.session import Lineage, LineageNode, Session
from hermes_store.records.sources import describe
from hermes_store.records.text import clean, local_day, one_line

if TYPE_CHECKING:
    from hermes_store.records.search import Snippet, Spans

Piece = tuple[str, str]
Line = list[Piece]

STATUS_SIGNS = {
    Status.LIVE: ("●", "live"),
    Status.DONE: ("○", "done"),
    Status.INTERRUPTED: ("◐", "interrupted"),
    Status.ERROR: ("✗", "error"),
    Status.EMPTY: ("·", "empty"),
}
EDGE_NAMES = {
    Edge.ROOT: "",
    Edge.COMPRESSION: "compression",
    Edge.BRANCH: "branch",
    Edge.AGENT: "sub-agent",
}
_NUMBERED = re.compile(r" #\d+$")
WIDE, MEDIUM = 52, 30
"""Columns from which a row shows its source, and its age in words."""


def safe(text: object) -> str:
    """Return stored text on one line, harmless to a terminal."""
    return clean(one_line(str(text)))


def fit(text: str, width: int) -> str:
    """Cut a text to a width in columns, marking the cut, and fill it up with spaces."""
    if width <= 0:
        return ""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return set_cell_size(text, width)


def fit_title(title: str, width: int) -> str:
    """Cut a title to a width; the number of a continuation, "name #3", is never what goes."""
    numbered = _NUMBERED.search(title)
    if numbered is None or cell_len(title) <= width or len(numbered[0]) + 6 > width:
        return fit(title, width)
    base = fit(title[: numbered.start()], width - len(numbered[0])).rstrip()
    return fit(base + numbered[0], width)


def width_of(line: Sequence[Piece]) -> int:
    """Return how many columns a line takes."""
    return sum(cell_len(text) for text, _ in line)


def age(moment: float, now: float, *, short: bool = False) -> str:
    """Return how long ago a moment was: 5m ago, yesterday, 12 Mar; short: 5m, 1d, 12 Mar."""
    ago = now - moment
    if ago < 60:
        return "now" if short else "just now"
    if ago < 7 * 86_400:
        for seconds, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
            if ago >= seconds:
                number = int(ago // seconds)
                if unit == "d" and number == 1 and not short:
                    return "yesterday"
                return f"{number}{unit}" if short else f"{number}{unit} ago"
    when = local_day(moment)
    this_year = when.year == local_day(now).year
    return f"{when.day} {when:%b}" if this_year else f"{when:%b} {when.year}"


def number(value: int) -> str:
    """Return a count in at most five columns."""
    if value < 10_000:
        return str(value)
    return f"{value / 1_000:.0f}k" if value < 1_000_000 else f"{value / 1_000_000:.1f}M"


# -- the list ----------------------------------------------------------------------------------


class RowState(NamedTuple):
    """What a list knows about a row beside the row itself."""

    now: float
    selected: bool = False
    unfolded: bool = False
    spans: Spans | None = None
    """Finds what is searched for in a title."""


def session_line(row: ListRow, width: int, state: RowState) -> Line:
    """Return a conversation as one line of a list."""
    sign, style = STATUS_SIGNS[row.status]
    fold = ("▾" if state.unfolded else "▸") if row.foldable else " "
    mark = "✓" if state.selected else "⚑" if row.pinned else " "
    right = _right_columns(row, width, state.now)
    left: Line = [(mark, "mark"), (sign, style), (f" {fold} ", "tree")]
    room = width - width_of(left) - width_of(right)
    return [*left, *_name(row, room, state.spans), *right]


def _name(row: ListRow, room: int, spans: Spans | None) -> Line:
    title, preview = safe(row.title or ""), safe(row.preview)
    tags = "".join(f" #{safe(tag)}" for tag in row.tags)
    if row.archived:
        tags += " archived"
    # What a short title leaves over is theirs, too.
    most = max(room // 3, room - cell_len(title) if title else 0)
    if cell_len(tags) > most:
        tags = fit(tags, most)
    if not title:
        shown = preview or "(no messages)"
        name = fit(shown, room - cell_len(tags))
        return [*_with_matches(name, "untitled", spans), (tags, "tag")]
    rest = room - cell_len(title) - cell_len(tags)
    if rest < 12 or not preview:
        name = fit_title(title, room - cell_len(tags))
        return [*_with_matches(name, "title", spans), (tags, "tag")]
    named = [*_with_matches(title, "title", spans), (tags, "tag")]
    return [*named, (fit(f"  {preview}", rest), "dim")]


def _with_matches(text: str, style: str, spans: Spans | None) -> Line:
    """Return a text with what is searched for marked in it."""
    pieces: Line = []
    place = 0
    for begin, end in spans.spans(text) if spans is not None else ():
        pieces += [(text[place:begin], style), (text[begin:end], "match")]
        place = end
    return [*pieces, (text[place:], style)]


def _right_columns(row: ListRow, width: int, now: float) -> Line:
    count = f"{number(row.message_count):>6}"
    if width < MEDIUM:
        return [(f"{age(row.last_active, now, short=True):>7}", "age")]
    if width < WIDE:
        return [(f"{age(row.last_active, now, short=True):>8}", "age"), (count, "count")]
    source = describe(row.source).short
    return [
        (f"{age(row.last_active, now):>11} ", "age"),
        (fit(safe(source), 6), "source"),
        (count, "count"),
    ]


def placeholder_line(width: int) -> Line:
    """Return a row whose content is still being read."""
    return [(fit("    …", width), "dim")]


def heading_line(heading: Heading, width: int) -> Line:
    """Return a heading of a group."""
    text = f" {safe(heading.text)} · {heading.count:,} "
    return [("──", "tree"), (text, "heading"), ("─" * max(0, width - cell_len(text) - 2), "tree")]


def snippet_line(snippet: Snippet | None, preview: str, width: int) -> Line:
    """Return what was found, with the matches marked, as the second line of a row."""
    lead: Line = [("     ", "")]
    room = width - 6
    if snippet is None or not snippet.marks:
        return [*lead, (fit(safe(preview), room), "dim")]
    return [*lead, *marked(snippet, room)]


def marked(snippet: Snippet, room: int) -> Line:
    """Return a snippet on one line with the first match in sight."""
    first = snippet.marks[0][0]
    # Short of room, what stands before the match is the part to leave out.
    start = max(0, first - max(8, room // 3))
    pieces: Line = [("…", "dim")] if start else []
    place = start
    for begin, end in snippet.marks:
        if end <= start:
            continue
        pieces += [(_flat(snippet.text[place:begin]), "snippet"),
                   (_flat(snippet.text[begin:end]), "match")]  # fmt: skip
        place = end
    pieces.append((_flat(snippet.text[place:]), "snippet"))
    return cut(pieces, room)


def _flat(text: str) -> str:
    """Fold white space into single spaces, also at the ends, where other pieces follow."""
    flat = safe(text)
    lead = " " if text[:1].isspace() and flat else ""
    tail = " " if text[-1:].isspace() else ""
    return f"{lead}{flat}{tail}"


def cut(pieces: Line, room: int) -> Line:
    """Cut a line to a width and fill it up."""
    kept: Line = []
    for text, style in pieces:
        wide = cell_len(text)
        if wide > room:
            kept.append((fit(text, room), style))
            return kept
        kept.append((text, style))
        room -= wide
    return [*kept, (" " * room, "")]


# -- trees -------------------------------------------------------------------------------------


class Branch(NamedTuple):
    """A session of a family tree with the lines that lead to it."""

    session: Session
    edge: Edge
    lead: str
    tip: bool = False
    current: bool = False


def branches(lineage: Lineage) -> list[Branch]:
    """Return a family tree from top to bottom. Without recursion: a chain may be very long."""
    found: list[Branch] = []
    waiting: list[tuple[LineageNode, str, str]] = [(lineage.root, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        session = node.session
        found.append(
            Branch(
                session,
                node.edge,
                lead,
                tip=session.id == lineage.tip_id,
                current=session.id == lineage.current_id,
            )
        )
        last = len(node.children) - 1
        for place, child in reversed(list(enumerate(node.children))):
            # A continuation stands below what it continues; only real forks go to the right.
            if last == 0 and child.edge is Edge.COMPRESSION:
                waiting.append((child, f"{indent}↓ ", indent))
                continue
            corner, bar = ("└ ", "  ") if place == last else ("├ ", "│ ")
            waiting.append((child, indent + corner, indent + bar))
    return found


def branch_line(branch: Branch, width: int, now: float, *, indent: str = "") -> Line:
    """Return a session of a family tree as one line."""
    session = branch.session
    name = safe(session.title or "") or safe(session.id)
    kind = EDGE_NAMES[branch.edge]
    notes = [kind] if kind else []
    if branch.tip:
        notes.append("newest")
    if branch.current:
        notes.append("this one")
    said = f" ({', '.join(notes)})" if notes else ""
    right = f" {number(session.message_count):>5} {age(session.started_at, now, short=True):>7}"
    lead = indent + branch.lead
    while cell_len(lead) > width // 2:
        lead = "…" + lead[3:]
    room = width - cell_len(lead) - cell_len(right)
    title = "title" if branch.current or branch.tip else "untitled"
    name_room = room - cell_len(said)
    if name_room < 8:
        said, name_room = "", room
    return [
        (lead, "tree"),
        (name if cell_len(name) <= name_room else fit_title(name, name_room).rstrip(), title),
        (said, "edge"),
        (" " * max(0, name_room - min(cell_len(name), name_room)), ""),
        (right, "age"),
    ]
