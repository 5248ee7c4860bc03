"""List rows as styled lines: name on the left, columns on the right, as many as there is room for.

Every stored text passes `plain` on its way here; nothing is ever parsed as markup.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

from hermes_store.records.listing import Heading, Hidden, ListRow, Sort, Status
from hermes_store.records.sources import describe
from hermes_store.records.workspace import short_name
from hermes_tui.presentation.fit_text import cell_width, first_words, fit, fit_title, flat, plain
from hermes_tui.presentation.lineage_lines import EDGE_NAMES
from hermes_tui.presentation.numbers import money, short_number
from hermes_tui.presentation.styled_line import Line, cut, width_of
from hermes_tui.presentation.times import list_age
from hermes_tui.presentation.without_markdown import without_markdown

if TYPE_CHECKING:
    from hermes_store.records.search import Snippet, Spans
    from hermes_tui.presentation.lineage_lines import Branch

SIGNS = {
    Status.LIVE: ("●", "live"),
    Status.INTERRUPTED: ("◐", "interrupted"),
    Status.ERROR: ("✗", "error"),
    Status.EMPTY: ("·", "empty"),
}
"""What stands out; a conversation that is done has no sign."""
HIDDEN_WORDS = {
    Hidden.CRON: "Scheduled jobs",
    Hidden.ONESHOT: "One-shot runs",
    Hidden.KANBAN: "Kanban tasks",
    Hidden.AGENT: "Sub-agents",
    Hidden.ARCHIVED: "Archived",
    Hidden.HIDDEN: "Unlisted by Hermes Agent",
    Hidden.EMPTY: "Without messages",
}
"""What a list hides, in words."""
MOST, MORE, SOME, FEW = 96, 56, 44, 28
"""Columns needed for full names; for workspace and source; for the source; for the size."""
LEAD = 3
_LEVELS = "▁▂▃▄▅▆▇█"


class RowState(NamedTuple):
    """What a list knows about a row besides the row itself."""

    now: float
    selected: bool = False
    unfolded: bool = False
    spans: Spans | None = None
    """Finds matches in a title."""
    placed: bool = False
    """Whether to say where it took place."""
    by_day: bool = False
    """Whether headings say the day, so that the time of day is enough."""
    table: bool = False
    """Whether to show model, tokens and cost."""
    matched: float | None = None
    """When the match was written, by which results are sorted."""
    sort: Sort = Sort.ACTIVITY
    """By what the list is sorted."""


class _Cells(NamedTuple):
    """What stands in the columns of a row."""

    place: str
    source: str
    moment: float
    messages: int
    model: str = ""
    tokens: int = 0
    cost: float = 0.0


def _where(row: ListRow) -> str:
    """Return the workspace of a conversation, and the machine if it was sent from one."""
    workspace = row.place.workspace
    names = [row.host or "", "" if workspace is None else short_name(workspace)]
    return ":".join(plain(name) for name in names if name) or "—"


def session_line(row: ListRow, width: int, state: RowState) -> Line:
    """Return a conversation as one line of a list."""
    fold = ("▾" if state.unfolded else "▸") if row.foldable else " "
    cells = _Cells(
        _where(row),
        plain(describe(row.source).label),
        _moment(row, state),
        row.message_count,
        plain(row.model or "").rpartition("/")[2],
        row.tokens,
        row.cost,
    )
    left: Line = [_sign(row, state), (f"{fold} ", "tree")]
    right = _columns(cells, width, state)
    room = width - width_of(left) - width_of(right)
    return [*left, *_name(row, room, state.spans), *right]


def part_line(branch: Branch, width: int, state: RowState) -> Line:
    """Return a session below its conversation, in the same columns."""
    session = branch.session
    kind = EDGE_NAMES[branch.edge]
    name = plain(session.title or "") or kind.capitalize() or "First session"
    said = "" if name.lower() == kind else kind
    cells = _Cells(
        "",
        plain(describe(session.source).label),
        session.started_at,
        session.message_count,
        plain(session.model or "").rpartition("/")[2],
        session.total_tokens,
        session.actual_cost_usd or session.estimated_cost_usd or 0.0,
    )
    right = _columns(cells, width, state)
    lead = " " * LEAD + branch.lead
    while cell_width(lead) > width // 2:
        lead = "…" + lead[3:]
    room = max(0, width - cell_width(lead) - width_of(right))
    notes = f"  {said}" if said and room > cell_width(name) + cell_width(said) + 2 else ""
    shown = fit_title(name, room - cell_width(notes)).rstrip()
    gap = room - cell_width(shown) - cell_width(notes)
    style = "title" if branch.tip else "untitled"
    return [(lead, "tree"), (shown, style), (notes, "edge"), (" " * gap, ""), *right]


def _moment(row: ListRow, state: RowState) -> float:
    """Return the time to show: the one by which the list is sorted."""
    if state.matched is not None:
        return state.matched
    return row.started_at if state.sort is Sort.STARTED else row.last_active


def _sign(row: ListRow, state: RowState) -> tuple[str, str]:
    if state.selected:
        return ("✓", "mark")
    if row.status in SIGNS:
        return SIGNS[row.status]
    return ("⚑" if row.pinned else "•" if row.unread else " ", "mark")


def _name(row: ListRow, room: int, spans: Spans | None) -> Line:
    title, preview = plain(row.title or ""), first_words(row.preview)
    tags = "".join(f" #{plain(tag)}" for tag in row.tags)
    if row.archived:
        tags += " archived"
    # Tags use the room that a title leaves; beside other words they take a third.
    most = room - cell_width(title) if title else room // 3
    if cell_width(tags) > most:
        tags = fit(tags, most) if most > 4 else ""
    if not title:
        name = fit(preview or "(no messages)", room - cell_width(tags))
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


def _columns(cells: _Cells, width: int, state: RowState) -> Line:
    """Return what stands to the right of a name."""
    wide = width >= MOST
    age = (f"{list_age(cells.moment, state.now, by_day=state.by_day):>8}", "age")
    size: Line = [(f" {size_bar(cells.messages)}", "size")]
    size.append((f"{short_number(cells.messages):>4}", "count"))
    if width < FEW:
        return [age]
    columns: Line = []
    table = state.table and width >= FEW + 4
    if not table and state.sort in (Sort.COST, Sort.TOKENS):
        shown = money(cells.cost) if state.sort is Sort.COST else short_number(cells.tokens)
        size = [(f"{shown:>9}", "count")]
    if state.placed and (wide or (width >= MORE and not table)):
        columns += [(" ", ""), (fit(cells.place, 16 if wide else 10), "place")]
    if wide or (width >= SOME and not table):
        columns += [(" ", ""), (fit(cells.source, 14 if wide else 9), "source")]
    if table:
        model = 20 if wide else 14 if width >= MORE else 0
        columns += [(" ", ""), (fit(cells.model, model), "source")] if model else []
        columns.append((f"{short_number(cells.tokens) if cells.tokens else '–':>7}", "count"))
        columns.append((f"{money(cells.cost) if cells.cost else '–':>8}", "count"))
        if width < SOME:
            return columns
    return [*columns, age, *size]


def size_bar(messages: int) -> str:
    """Return a block as high as a conversation is long."""
    return _LEVELS[max(0, min(7, round(1.1 * log2(messages + 1)) - 1))] if messages > 0 else " "


def placeholder_line(width: int) -> Line:
    """Return a row whose content is still being read."""
    return [(fit(" " * LEAD + "…", width), "dim")]


def heading_line(heading: Heading, width: int, *, counted: bool = True) -> Line:
    """Return the heading of a group."""
    number = f" · {heading.count:,}" if counted and heading.count else ""
    text = f" {plain(heading.text)}{number} "
    return [("──", "tree"), (text, "heading"), ("─" * max(0, width - cell_width(text) - 2), "tree")]


def last_line(row: ListRow, width: int) -> Line:
    """Return the second line of a row: its last message."""
    said = plain(without_markdown(row.last_text)) or first_words(row.preview)
    return [(" " * LEAD, ""), (fit(said, width - LEAD), "dim")]


def snippet_line(snippet: Snippet | None, preview: str, width: int) -> Line:
    """Return the second line of a row: the match in its context, highlighted."""
    lead: Line = [(" " * LEAD, "")]
    room = width - LEAD - 1
    if snippet is None or not snippet.marks:
        return [*lead, (fit(first_words(preview), room), "dim")]
    return [*lead, *marked(snippet, room)]


def marked(snippet: Snippet, room: int) -> Line:
    """Return a snippet on one line with the first match visible."""
    # Arguments of tools are stored as JSON: as many characters, but easier to read.
    text = snippet.text.replace("\\n", "  ").replace('\\"', ' "')
    begin = 3 if text.startswith("...") else 0
    end = len(text) - 3 if text.endswith("...") and len(text) > 6 else len(text)
    first = max(begin, snippet.marks[0][0])
    # If room is short, cut what comes before the match.
    start = max(begin, first - max(8, room // 3)) if end - begin > room else begin
    pieces: Line = [("…", "dim")] if start else []
    place = start
    for low, high in snippet.marks:
        if high <= start or low >= end:
            continue
        pieces += [(flat(text[place : max(place, low)]), "snippet"),
                   (flat(text[max(place, low) : min(high, end)]), "match")]  # fmt: skip
        place = min(high, end)
    pieces.append((flat(text[place:end]) + ("…" if end < len(text) else ""), "snippet"))
    return cut(pieces, room)
