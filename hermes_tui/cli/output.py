"""Printing: columns that line up, colour only on a terminal, JSON in one documented form.

Nothing stored reaches the terminal without `text.clean`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO

from hermes_store.text import clean, one_line

JSON_VERSION = 1
LAST_COLUMN = 24
"""What the last column of a table, an id, usually takes."""
MIN_COLUMN = 8


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
    return f"{datetime.fromtimestamp(moment):%Y-%m-%d}"


def local_time(moment: float | None) -> str:
    """Return a moment as local date and time."""
    return "–" if moment is None else f"{datetime.fromtimestamp(moment):%Y-%m-%d %H:%M}"


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


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading and its width; 0 for the last one, never cut."""

    heading: str
    width: int


class Printer:
    """Where a command prints to, and how."""

    def __init__(self, out: TextIO | None = None, *, as_json: bool = False) -> None:
        # Python has no standard output at all when it was closed before the start.
        self._out = out or sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        self.as_json = as_json
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = self._out.isatty() and wanted and not as_json

    def line(self, text: str = "") -> None:
        """Print a line."""
        self._out.write(text + "\n")

    def dim(self, text: str) -> str:
        """Return text that stands back, on a terminal."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def strong(self, text: str) -> str:
        """Return text that stands out, on a terminal."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Print a table with a rule below its headings."""
        columns = self._fitted(columns)
        heading = " ".join(
            fit(column.heading, column.width) if column.width else column.heading
            for column in columns
        )
        self.line(self.strong(heading.rstrip()))
        used = sum(column.width + 1 for column in columns if column.width)
        self.line(self.dim("─" * (used + max(12, cell_width(columns[-1].heading)))))
        for row in rows:
            cells = [
                fit(plain(cell), column.width) if column.width else plain(cell)
                for column, cell in zip(columns, row, strict=True)
            ]
            self.line(" ".join(cells).rstrip())

    def _fitted(self, columns: Sequence[Column]) -> list[Column]:
        """Return columns narrow enough for the terminal, the widest giving way first."""
        fitted = list(columns)
        if not self._out.isatty():
            return fitted
        room = shutil.get_terminal_size().columns - LAST_COLUMN
        while sum(column.width + 1 for column in fitted) > room:
            widest = max(range(len(fitted)), key=lambda place: fitted[place].width)
            if fitted[widest].width <= MIN_COLUMN:
                break
            fitted[widest] = Column(fitted[widest].heading, fitted[widest].width - 1)
        return fitted

    def data(self, kind: str, **content: Any) -> None:
        """Print an answer as JSON: {"version": 1, "kind": …, …}."""
        answer = {"version": JSON_VERSION, "kind": kind, **content}
        json.dump(answer, self._out, ensure_ascii=False, indent=2, default=str)
        self._out.write("\n")

    def flush(self) -> None:
        """Push out what is waiting, so that a broken pipe is noticed here."""
        self._out.flush()


def complain(sentence: str) -> None:
    """Print a diagnostic to standard error."""
    print(f"hermes: {clean(sentence)}", file=sys.stderr)


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; anything but yes, and no answer at all, is no."""
    try:
        answer = input(f"{clean(question)} [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")
