"""Printing: aligned tables, color only on a terminal, one documented form of JSON.

Stored text reaches the terminal only through `text.clean`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from hermes_store.records.safe_text import clean
from hermes_tui.presentation.fit_text import cell_width, fit, plain

JSON_VERSION = 1
LAST_COLUMN = 24
"""Usual width of the last column, an id."""
MIN_COLUMN = 8


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; a width of 0 means the last one, which is never cut."""

    heading: str
    width: int


class Printer:
    """Prints the output of a command."""

    def __init__(self, out: TextIO | None = None, *, as_json: bool = False) -> None:
        # Python has no sys.stdout if it was closed before the start.
        self._out = out or sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        self.as_json = as_json
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = self._out.isatty() and wanted and not as_json

    def line(self, text: str = "") -> None:
        self._out.write(text + "\n")

    def dim(self, text: str) -> str:
        """Return text that is dimmed on a terminal."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def strong(self, text: str) -> str:
        """Return text that is bold on a terminal."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Print a table with a rule below the headings."""
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
        """Return columns that fit the terminal; the widest shrink first."""
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
        """Print JSON: {"version": 1, "kind": …, …}."""
        answer = {"version": JSON_VERSION, "kind": kind, **content}
        json.dump(answer, self._out, ensure_ascii=False, indent=2, default=str)
        self._out.write("\n")

    def flush(self) -> None:
        """Flush the output, so that a broken pipe is noticed here."""
        self._out.flush()


def complain(sentence: str) -> None:
    """Print a message to standard error."""
    print(f"hermes: {clean(sentence)}", file=sys.stderr)


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; anything but yes means no, and so does end of input."""
    try:
        answer = input(f"{clean(question)} [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")
