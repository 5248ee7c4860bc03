"""How numbers, moments and stored text read to a person, and how wide they are on screen."""

from __future__ import annotations

import unicodedata

from hermes_store.records.text import clean, local_day, one_line


def cell_width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_character_width(char) for char in text)


def _character_width(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200b\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, columns: int, *, pad: bool = True) -> str:
    """Cut a text to so many columns, marking the cut, and fill it up with spaces."""
    if cell_width(text) > columns:
        kept, used = [], 0
        for char in text:
            used += _character_width(char)
            if used > columns - 1:
                break
            kept.append(char)
        text = "".join(kept).rstrip() + "…"
    return text + " " * (columns - cell_width(text)) if pad else text


def relative_time(moment: float | None, now: float) -> str:
    """Return how long ago a moment was, in the words people use."""
    if not moment:
        return "?"
    ago = now - moment
    if ago < 60:
        return "just now"
    if ago < 3_600:
        return f"{int(ago // 60)}m ago"
    if ago < 86_400:
        return f"{int(ago // 3_600)}h ago"
    if ago < 2 * 86_400:
        return "yesterday"
    if ago < 7 * 86_400:
        return f"{int(ago // 86_400)}d ago"
    return f"{local_day(moment):%Y-%m-%d}"


def local_time(moment: float | None) -> str:
    """Return a moment as local date and time."""
    return "–" if moment is None else f"{local_day(moment):%Y-%m-%d %H:%M}"


def plain(value: object) -> str:
    """Return stored text on one line, harmless to a terminal."""
    return clean(one_line(str(value)))


def byte_size(number: float) -> str:
    """Return a number of bytes in the unit that fits."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1_000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1_000
    return f"{number:.1f} GB"


def plural(number: int, thing: str) -> str:
    """Return "1 session" or "2 sessions"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
