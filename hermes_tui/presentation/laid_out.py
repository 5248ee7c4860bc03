"""What every part of a message is laid out with: the look, lines of pieces, plain text, matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_store.records.safe_text import clean
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.wrap_text import wrapped

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

SHOWN_LIMIT = 6_000
"""Characters laid out before a message is opened."""
OPEN_LIMIT = 200_000
SHOWN_LINES = 120
OPEN_LINES = 20_000
LEAD = 1_000
"""Characters shown before a match deep in a long message."""
INDENT = 2
OPENS = "Enter opens"
"""What a line says that stands for more than is shown."""


@dataclass(frozen=True, slots=True)
class Look:
    """How to lay a message out."""

    width: int
    opened: bool
    dark: bool
    style: Callable[[str], Style]
    spans: Spans | None = None
    ansi: bool = False
    """Whether only the terminal's own colours are used, so that no background shows."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a message that keys lead to."""

    kind: str
    """tool, output, code, diff or thought."""
    first: int
    count: int
    text: str
    """What copying it copies."""


@dataclass(slots=True)
class Laid:
    """The lines of a message, and the parts of it that keys lead to."""

    strips: list[Strip] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


def one_line(name: str, style: str, rest: str, look: Look) -> Strip:
    """Return a name, and as much of the rest as there is room for."""
    lead = " " * INDENT
    room = look.width - INDENT - cell_len(name) - 3
    shown = fit(rest, room).rstrip() if room > 4 else ""
    return line_of([(lead, ""), (name, style), ("  ", ""), (shown, "dim")], look)


def line_of(pieces: Iterable[tuple[str, str]], look: Look) -> Strip:
    """Return pieces of text, each with the name of its style, as a line with its matches."""
    return mark(Strip([Segment(text, look.style(style)) for text, style in pieces if text]), look)


def mark(strip: Strip, look: Look) -> Strip:
    """Highlight the matches of a line."""
    if look.spans is None:
        return strip
    found = look.spans.spans(strip.text)
    if not found:
        return strip
    style = look.style("match")
    places = [strip.index_to_cell_position(place) for span in found for place in span]
    pieces: list[Segment] = []
    for number, piece in enumerate(strip.divide([*places, strip.cell_length])):
        for segment in piece:
            over = (segment.style or Style.null()) + style if number % 2 else segment.style
            pieces.append(Segment(segment.text, over))
    return Strip(pieces)


def window(text: str, look: Look) -> tuple[str, int, int]:
    """Return the part of a text to lay out, and the number of characters before and after it."""
    limit = OPEN_LIMIT if look.opened else SHOWN_LIMIT
    if len(text) <= limit:
        return text, 0, 0
    start = 0
    if look.spans is not None:
        found = look.spans.spans(text)
        if found and found[0][0] > limit - LEAD:
            start = found[0][0] - LEAD
    return text[start : start + limit], start, max(0, len(text) - start - limit)


def plain_lines(text: str, look: Look, style: str, indent: int, lead: str = "") -> list[Strip]:
    """Return a text as it is, wrapped; `lead` stands before every line."""
    shown, before, after = window(text, look)
    room = max(1, look.width - indent - cell_len(lead) - 1)
    limit = OPEN_LINES if look.opened else SHOWN_LINES
    lines = list(wrapped(clean(shown), room))
    left_out = len(lines) - limit
    margin = " " * indent
    strips = [line_of([(margin, ""), (lead, "dim"), (line, style)], look) for line in lines[:limit]]
    return with_notes(strips, before, after, max(0, left_out), look)


def with_notes(
    lines: list[Strip], before: int, after: int, lines_left: int, look: Look
) -> list[Strip]:
    """Say above and below some lines how much is not shown."""
    how = "" if look.opened else f" · {OPENS}"
    if before:
        lines.insert(0, line_of([(f"  … {before:,} earlier characters", "note")], look))
    if lines_left:
        lines.append(line_of([(f"  … {lines_left:,} more lines{how}", "note")], look))
    elif after:
        lines.append(line_of([(f"  … {after:,} more characters{how}", "note")], look))
    return lines


def found_in(text: str, look: Look, shown: str = "") -> list[Strip]:
    """Return a line around the first match in what is folded, unless a match is visible."""
    if look.spans is None or not text or (shown and look.spans.spans(shown)):
        return []
    found = look.spans.spans(text[:OPEN_LIMIT])
    if not found:
        return []
    lead = " " * INDENT
    room = max(1, look.width - INDENT - 3)
    around = ("… " if found[0][0] > 20 else "") + plain(
        text[max(0, found[0][0] - 20) : found[0][0] + 400]
    )
    return [line_of([(lead, ""), ("│ ", "dim"), (fit(around, room, pad=False), "dim")], look)]
