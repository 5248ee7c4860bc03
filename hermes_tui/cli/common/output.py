"""Printing: the only way to the terminal, with tables, color and one documented form of JSON.

Whatever is printed is cleaned here, so no stored text, id or number can control a terminal. Styles
are named, not written: only a `Printer` adds escape sequences.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TextIO

from hermes_store.records.safe_text import clean, clean_line, escape_json
from hermes_store.records.stored_values import for_json, text
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


class Styled(NamedTuple):
    """Text with a style that the printer applies."""

    text: str
    style: str


def dim(text: str) -> Styled:
    """Return text that is dimmed on a terminal."""
    return Styled(text, "\x1b[2m")


def strong(text: str) -> Styled:
    """Return text that is bold on a terminal."""
    return Styled(text, "\x1b[1m")


def match(text: str) -> Styled:
    """Return a search match: highlighted on a terminal, in angle quotes elsewhere."""
    return Styled(text, _MATCH)


_MATCH = "\x1b[1;33m"
Part = str | Styled


class Printer:
    """Prints the output of a command."""

    def __init__(self, out: TextIO | None = None, *, as_json: bool = False) -> None:
        # Python has no sys.stdout if it was closed before the start.
        self._out = out or sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        self.as_json = as_json
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._colour = self._out.isatty() and wanted and not as_json

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the output."""
        return self._out.isatty()

    def line(self, *parts: Part) -> None:
        """Print one line; a line break inside a part cannot start another one."""
        self._out.write("".join(map(self._shown, parts)).rstrip(" ") + "\n")

    def _shown(self, part: Part) -> str:
        if not isinstance(part, Styled):
            return clean_line(part)
        text = clean_line(part.text)
        if self._colour:
            return f"{part.style}{text}\x1b[0m"
        return f"»{text}«" if part.style == _MATCH else text

    def write(self, text: str) -> int:
        """Print text of any number of lines."""
        return self._out.write(clean(text))

    def value(self, text: str) -> None:
        """Print a value for another program: unchanged, unless it goes to a terminal."""
        self._out.write((clean_line(text) if self._out.isatty() else text) + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Print a table with a rule below the headings."""
        columns = self._fitted(columns)
        heading = " ".join(
            fit(column.heading, column.width) if column.width else column.heading
            for column in columns
        )
        self.line(strong(heading.rstrip()))
        used = sum(column.width + 1 for column in columns if column.width)
        self.line(dim("─" * (used + max(12, cell_width(columns[-1].heading)))))
        for row in rows:
            cells = [
                fit(plain(cell), column.width) if column.width else plain(cell)
                for column, cell in zip(columns, row, strict=True)
            ]
            self.line(" ".join(cells))

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
        """Print JSON: {"version": 1, "kind": …, …}; control characters are escaped."""
        answer = {"version": JSON_VERSION, "kind": kind, **content}
        try:
            dumped = _dumped(answer)
        except (ValueError, TypeError, RecursionError):
            dumped = _dumped(for_json(answer))
        self._out.write(escape_json(dumped) + "\n")

    def flush(self) -> None:
        """Flush the output, so that a broken pipe is noticed here."""
        self._out.flush()


def _dumped(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False, default=text)


def complain(sentence: str) -> None:
    """Print a message to standard error; lines after the first are indented."""
    shown = clean(sentence).replace("\n", "\n  ")
    print(f"hermes: {shown}", file=sys.stderr)


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; anything but yes means no, and so does end of input."""
    try:
        answer = input(f"{clean_line(question)} [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


class Parser(argparse.ArgumentParser):
    """Parses a command line; its errors quote what was typed, but never send it raw."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error to standard error, and exit with 2."""
        super().error(clean_line(message))


class ComplainingHandler(logging.Handler):
    """Prints the warnings of the store as messages, without a traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        complain(record.getMessage())
