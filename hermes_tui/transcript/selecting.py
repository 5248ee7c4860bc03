"""Selecting text of a conversation with the mouse."""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

MOST_LINES = 20_000
MARGIN = 3
"""Columns before the text of a message, which are not copied."""


def highlighted(strip: Strip, selection: Selection, line: int, style: Style) -> Strip:
    """Return a line with its selected part in a style."""
    span = selection.get_span(line)
    if span is None:
        return strip
    start, end = span
    end = len(strip.text) if end == -1 else end
    first, last = (strip.index_to_cell_position(each) for each in (start, end))
    pieces = list(strip.divide([first, last, strip.cell_length]))
    if len(pieces) > 1:
        pieces[1] = Strip(
            [type(each)(each.text, (each.style or Style.null()) + style) for each in pieces[1]]
        )
    return Strip.join(pieces)


def text(selection: Selection, total: int, line: Callable[[int], str]) -> str:
    """Return the selected text; `line` returns what is on a line."""
    first, start = (selection.start.y, selection.start.x) if selection.start else (0, 0)
    last, end = (selection.end.y, selection.end.x) if selection.end else (total - 1, None)
    found: list[str] = []
    for number in range(max(0, first), min(last, total - 1, first + MOST_LINES) + 1):
        whole = line(number)
        begin = start if number == first else 0
        until = end if number == last else None
        kept = whole[begin:until]
        margin = max(0, MARGIN - begin)
        lead = len(kept[:margin]) - len(kept[:margin].lstrip())
        found.append(kept[lead:].rstrip())
    return "\n".join(found)
