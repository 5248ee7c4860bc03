"""Wrapping text to a number of columns: between words where possible, never before a comma."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

CLOSING = frozenset(",.;:!?)]}%»”’…、。，．；：！？）】」』》〉ー々")
"""Signs that must not begin a line."""


def _ahead(line: str, place: int, room: int) -> str:
    """Return enough of a line to fill a screen line, or what is left of it.

    A line may have millions of characters, and some characters take no column.
    """
    signs = room + 1
    while place + signs < len(line) and cell_len(line[place : place + signs]) <= room:
        signs *= 2
    return line[place : place + signs]


def pieces(line: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield where each screen line of a line begins and ends; a space at a break is left out."""
    place = 0
    while cell_len(ahead := _ahead(line, place, room)) > room:
        end = place + max(1, len(chop_cells(ahead, room)[0]))
        if line[end : end + 1] not in ("", " "):
            end = _break(line, place, end, room)
        yield place, end
        place = end
        if line[place : place + 1] == " " and line[place - 1] != " ":
            place += 1
    yield place, len(line)


def _break(line: str, place: int, end: int, room: int) -> int:
    """Return where to break a line that could be filled up to `end`."""
    space = line.rfind(" ", place, end) + 1
    if space > place and line[place:space].strip():
        word = line[space : space + room + 1].split(" ", 1)[0]
        if space - place > room // 2 or (cell_len(word) <= room and word.isascii()):
            return space
    back = end
    while back > place + 1 and line[back] in CLOSING:
        back -= 1
    return back if end - back <= 4 else end


def wrapped(text: str, room: int) -> Iterator[str]:
    """Yield the lines of a text, wrapped to a number of columns."""
    for line in text.expandtabs(4).split("\n"):
        for start, end in pieces(line, room):
            yield line[start:end]
