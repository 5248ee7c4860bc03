"""Printing: the only way to the terminal, with tables, color and one documented form of JSON.

Whatever is printed is cleaned here, so no stored text, id or number can control a terminal. Styles
are named, not written: only a `Printer` adds escape sequences.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

from hermes_store.records.safe_text import clean, clean_line, escape_json
from hermes_store.records.stored_values import for_json, text
from hermes_tui.presentation.fit_text import cell_width, fit, plain

JSON_VERSION = 1
_WORD = re.compile(r"\s*\S+")
MIN_COLUMN = 8
MAX_TEXT = 100
"""Columns of a line of prose; longer lines are hard to read on the widest terminal."""


@dataclass(frozen=True, slots=True)
class Column:
    """A table column, at most so wide; a width of 0 means the last one, which is never cut."""

    heading: str
    width: int
    right: bool = False
    """Whether its cells are numbers, which end in one line."""


def width() -> int:
    """Return how many columns a line may take: those of the terminal, else of $COLUMNS or 80."""
    return max(20, shutil.get_terminal_size().columns)


def wrapped(sentence: str, *, indent: str = "") -> str:
    """Return prose as lines that fit, broken between words; all but the first are indented."""
    return "\n".join("\n".join(_lines(line, indent)) for line in sentence.split("\n"))


def _lines(text: str, indent: str) -> list[str]:
    room = min(width(), MAX_TEXT)
    lines: list[str] = []
    line = ""
    for spaced in _WORD.findall(text):
        if cell_width(line + spaced) <= room:
            line += spaced
            continue
        word = spaced.lstrip()
        if line.strip():
            lines.append(line)
            line = indent
        else:
            line = spaced[: len(spaced) - len(word)]
        # Chinese has no spaces. A path stays whole, however long it is.
        while cell_width(line + word) > room and not word.isascii():
            place = _fitting(word, room - cell_width(line))
            lines.append(line + word[:place])
            line, word = indent, word[place:]
        line += word
    return [*lines, line]


def _fitting(word: str, columns: int) -> int:
    """Return how many characters of a word fit, at least one."""
    place = 1
    while place < len(word) and cell_width(word[: place + 1]) <= columns:
        place += 1
    return place


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
        self.colours = self._out.isatty() and wanted and not as_json

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
        if self.colours:
            return f"{part.style}{text}\x1b[0m"
        return f"»{text}«" if part.style == _MATCH else text

    def say(self, sentence: str, style: Callable[[str], Part] = str, *, indent: str = "") -> None:
        """Print a sentence, wrapped between words on a terminal."""
        shown = clean_line(sentence)
        for line in wrapped(shown, indent=indent).split("\n") if self.is_terminal else [shown]:
            self.line(style(line))

    def write(self, text: str) -> int:
        """Print text of any number of lines."""
        return self._out.write(clean(text))

    def value(self, text: str) -> None:
        """Print a value for another program: unchanged, unless it goes to a terminal."""
        self._out.write((clean_line(text) if self._out.isatty() else text) + "\n")

    def table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, heading: bool = True
    ) -> None:
        """Print a table that fits the terminal, with a rule below the headings."""
        cells = [[plain(cell) for cell in row] for row in rows]
        columns = _fitted(columns, cells)
        if heading:
            self.line(strong(_row(columns, [column.heading for column in columns]).rstrip()))
            self.line(dim("─" * (sum(column.width + 1 for column in columns) - 1)))
        for row in cells:
            self.line(_row(columns, row))

    def data(self, kind: str, **content: Any) -> None:
        """Print JSON: {"version": 1, "kind": …, …}; control characters are escaped."""
        answer = {"version": JSON_VERSION, "kind": kind, **content}
        # Where the locale has not all characters, JSON has escapes for them.
        narrow = "utf" not in (self._out.encoding or "utf-8").lower()
        try:
            dumped = _dumped(answer, narrow=narrow)
        except (ValueError, TypeError, RecursionError):
            dumped = _dumped(for_json(answer), narrow=narrow)
        self._out.write(escape_json(dumped) + "\n")

    def flush(self) -> None:
        """Flush the output, so that a broken pipe is noticed here."""
        self._out.flush()


def _row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    return " ".join(
        cell.rjust(column.width) if column.right else fit(cell, column.width)
        for column, cell in zip(columns, cells, strict=True)
    )


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[Column]:
    """Return columns as wide as their cells, as far as there is room; the widest shrink first."""
    widths = []
    for place, column in enumerate(columns):
        needed = max(map(cell_width, (column.heading, *(row[place] for row in rows))))
        widths.append(min(needed, column.width) if column.width else needed)
    while sum(widths) + len(widths) - 1 > width():
        cut = [place for place in range(len(widths)) if columns[place].width]
        widest = max(cut, key=lambda place: widths[place], default=-1)
        if widest < 0 or widths[widest] <= MIN_COLUMN:
            break
        widths[widest] -= 1
    return [
        Column(column.heading, wide, column.right)
        for column, wide in zip(columns, widths, strict=True)
    ]


def _dumped(answer: Any, *, narrow: bool) -> str:
    return json.dumps(answer, ensure_ascii=narrow, indent=2, allow_nan=False, default=text)


def complain(sentence: str) -> None:
    """Print a message to standard error; lines after the first are indented."""
    shown = clean(sentence).replace("\n", "\n  ")
    said = f"hermes: {shown}"
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    print(wrapped(said, indent="  ") if on_terminal else said, file=sys.stderr)


def can_ask() -> bool:
    """Return whether there is somebody at a terminal to ask."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """Ask a question on standard error; return the answer in lower case, "" at end of input."""
    said = clean_line(question)
    print(wrapped(said) if can_ask() else said, end=" ", file=sys.stderr, flush=True)
    try:
        return input().strip().lower()
    except EOFError:
        print(file=sys.stderr)
        return ""
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise


def confirm(question: str) -> bool:
    """Ask a yes-or-no question; anything but yes means no, and so does end of input."""
    return ask(f"{question} [y/N]") in ("y", "yes")


class ComplainingHandler(logging.Handler):
    """Prints the warnings of the store as messages, without a traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        complain(record.getMessage())
