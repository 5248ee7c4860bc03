"""A line of styled text: a list of pieces, each a text and a style name."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.presentation.fit_text import cell_width, fit

Piece = tuple[str, str]
Line = list[Piece]


def width_of(line: Sequence[Piece]) -> int:
    """Return how many columns a line takes."""
    return sum(cell_width(text) for text, _ in line)


def cut(pieces: Line, room: int) -> Line:
    """Cut or pad a line to a width."""
    kept: Line = []
    for text, style in pieces:
        wide = cell_width(text)
        if wide > room:
            kept.append((fit(text, room), style))
            return kept
        kept.append((text, style))
        room -= wide
    return [*kept, (" " * room, "")]
