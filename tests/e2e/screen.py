"""A small screen: what a terminal would show after the bytes that a program has written.

It knows what full-screen programs use: moving, erasing, scrolling, the alternate screen, modes.
Colours are not kept. Whatever acts on the terminal beyond the picture is noted: OSC strings and
the modes that are on.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from rich.cells import cell_len

_TOKEN = re.compile(
    r"\x1b\[(?P<args>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
)
ALTERNATE, CURSOR, WRAP, PASTE, FOCUS = 1049, 25, 7, 2004, 1004
MOUSE = frozenset({9, 1000, 1002, 1003, 1005, 1006, 1015, 1016})
_AT_FIRST = frozenset({CURSOR, WRAP})

Grid = list[list[str]]


class Screen:
    """Characters in rows and columns; a wide character is followed by an empty cell."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.modes = set(_AT_FIRST)
        self.osc: list[str] = []
        """What came as operating system commands: titles, clipboard, and the like."""
        self._grid = self._blank()
        self._main: Grid | None = None
        self._saved = (0, 0)
        self._x = self._y = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._moves: dict[str, Callable[[list[int]], None]] = {
            "H": self._go_to, "f": self._go_to, "J": self._erase_screen, "K": self._erase_line,
            "A": lambda n: self._move(0, -(n[0] or 1)), "B": lambda n: self._move(0, n[0] or 1),
            "C": lambda n: self._move(n[0] or 1, 0), "D": lambda n: self._move(-(n[0] or 1), 0),
            "G": lambda n: self._place((n[0] or 1) - 1, self._y),
            "d": lambda n: self._place(self._x, (n[0] or 1) - 1),
            "X": lambda n: self._clear(self._y, self._x, self._x + (n[0] or 1)),
        }  # fmt: skip

    def _blank(self) -> Grid:
        return [[" "] * self.columns for _ in range(self.rows)]

    # -- reading ---------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        """The rows as text, without the spaces at their ends."""
        return ["".join(row).rstrip() for row in self._grid]

    @property
    def text(self) -> str:
        """The whole picture."""
        return "\n".join(self.lines)

    @property
    def is_clean(self) -> bool:
        """Whether every mode is as a shell needs it."""
        return self.modes == _AT_FIRST

    # -- writing ---------------------------------------------------------------------------

    def resize(self, columns: int, rows: int) -> None:
        """Take another size; what does not fit is cut off."""
        self.columns, self.rows = columns, rows
        old, self._grid = self._grid, self._blank()
        for into, row in zip(self._grid, old, strict=False):
            into[: len(row[:columns])] = row[:columns]
        self._main = None if self._main is None else self._blank()
        self._place(self._x, self._y)

    def feed(self, data: bytes) -> None:
        """Take what a program has written."""
        text = self._rest + self._decode(data)
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                if len(text) - place > 100_000:
                    raise AssertionError(f"no terminal understands {text[place : place + 40]!r}")
                break
            place = found.end()
            self._take(found)
        self._rest = text[place:]

    def _take(self, found: re.Match[str]) -> None:
        if (text := found["text"]) is not None:
            self._print(text)
        elif (final := found["final"]) is not None:
            self._sequence(found["args"], found["between"], final)
        elif (osc := found["osc"]) is not None:
            self.osc.append(osc)
        elif (control := found["control"]) is not None:
            self._control(control)
        elif found["escape"] == "7":
            self._saved = (self._x, self._y)
        elif found["escape"] == "8":
            self._place(*self._saved)

    def _print(self, text: str) -> None:
        for character in text:
            wide = cell_len(character)
            if not wide:
                self._join(character)
                continue
            if self._x + wide > self.columns:
                if WRAP in self.modes:
                    self._x = 0
                    self._line_feed()
                else:
                    self._x = max(0, self.columns - wide)
            row = self._grid[self._y]
            row[self._x] = character
            if wide > 1 and self._x + 1 < self.columns:
                row[self._x + 1] = ""
            self._x += wide

    def _join(self, character: str) -> None:
        row = self._grid[self._y]
        place = min(self._x, self.columns) - 1
        while place > 0 and not row[place]:
            place -= 1
        if place >= 0:
            row[place] += character

    def _control(self, control: str) -> None:
        if control == "\r":
            self._x = 0
        elif control == "\n":
            self._line_feed()
        elif control == "\b":
            self._x = max(0, self._x - 1)
        elif control == "\t":
            self._x = min(self.columns - 1, self._x // 8 * 8 + 8)

    def _line_feed(self) -> None:
        if self._y + 1 < self.rows:
            self._y += 1
        else:
            self._grid = [*self._grid[1:], [" "] * self.columns]

    def _sequence(self, args: str, between: str, final: str) -> None:
        if args[:1] == "?" and final in "hl" and not between:
            for mode in args[1:].split(";"):
                self._mode(int(mode), on=final == "h")
        elif args[:1] not in ("?", "<", "=", ">") and not between and final in self._moves:
            self._moves[final]([int(each or 0) for each in args.split(";")])

    def _mode(self, mode: int, *, on: bool) -> None:
        if mode == ALTERNATE and on and self._main is None:
            self._main, self._grid = self._grid, self._blank()
            self._saved = (self._x, self._y)
        elif mode == ALTERNATE and not on and self._main is not None:
            self._grid, self._main = self._main, None
            self._place(*self._saved)
        (self.modes.add if on else self.modes.discard)(mode)

    def _place(self, x: int, y: int) -> None:
        self._x = max(0, min(x, self.columns - 1))
        self._y = max(0, min(y, self.rows - 1))

    def _move(self, right: int, down: int) -> None:
        self._place(self._x + right, self._y + down)

    def _go_to(self, numbers: list[int]) -> None:
        row, column = ([*numbers, 0])[:2]
        self._place((column or 1) - 1, (row or 1) - 1)

    def _clear(self, row: int, start: int, end: int) -> None:
        for place in range(start, min(end, self.columns)):
            self._grid[row][place] = " "

    def _erase_line(self, numbers: list[int]) -> None:
        start = self._x if numbers[0] == 0 else 0
        end = self._x + 1 if numbers[0] == 1 else self.columns
        self._clear(self._y, start, end)

    def _erase_screen(self, numbers: list[int]) -> None:
        self._erase_line(numbers)
        whole = {0: range(self._y + 1, self.rows), 1: range(self._y)}
        for row in whole.get(numbers[0], range(self.rows)):
            self._clear(row, 0, self.columns)
