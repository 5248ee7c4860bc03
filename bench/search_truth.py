"""The plain scan and the bare statement of the index: what a search is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from bench.search_queries import Query

PAGE = 20
_COLUMNS = ("content", "tool_name", "tool_calls")
_BARE = "SELECT rowid FROM {0} WHERE {0} MATCH ? ORDER BY rowid DESC LIMIT ?"


def _escaped(text: str) -> str:
    for sign in "\\%_":
        text = text.replace(sign, "\\" + sign)
    return f"%{text}%"


def _condition(part: str) -> tuple[str, str]:
    """Return the condition that a message contains a part, and its value for each column."""
    if part.isascii():
        return " OR ".join(f"{name} LIKE ? ESCAPE '\\'" for name in _COLUMNS), _escaped(part)
    return " OR ".join(f"instr({name}, ?)" for name in _COLUMNS), part


class Bare:
    """A read-only connection that answers without any of the store's code."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def close(self) -> None:
        self.connection.close()

    def scan(self, query: Query, limit: int = PAGE) -> list[int]:
        """Read messages newest first until so many are found."""
        conditions, values = [], list[str]()
        for part in query.parts:
            condition, value = _condition(part)
            conditions.append(f"({condition})")
            values += [value] * len(_COLUMNS)
        statement = f"SELECT id FROM messages WHERE {' AND '.join(conditions)} "
        rows = self.connection.execute(f"{statement} ORDER BY id DESC LIMIT ?", (*values, limit))
        return [number for (number,) in rows]

    def index(self, query: Query, trigram: bool = False, limit: int = PAGE) -> list[int]:
        """Ask the file's own index in one statement."""
        table = "messages_fts_trigram" if trigram else "messages_fts"
        rows = self.connection.execute(_BARE.format(table), (query.match, limit))
        return [number for (number,) in rows]

    def has(self, query: Query) -> bool:
        """Tell whether any message has it, literally or as words in a row."""
        return bool(self.scan(query, 1)) or bool(self.index(query, limit=1))


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - started


@dataclass(slots=True)
class Truth:
    """What must be found for a query and what may be found besides."""

    must: list[int]
    """Newest first."""
    may: set[int]

    @classmethod
    def of(cls, bare: Bare, query: Query) -> Truth:
        """Ask a v22 file, whose word index holds every message whole."""
        words, text = bare.index(query, limit=-1), bare.scan(query, -1)
        return cls(words if query.prefix else text, {*text, *words})


@dataclass(slots=True)
class Verdict:
    """What is wrong with the answers of one side."""

    wrong: list[str] = field(default_factory=list)
    other_order: list[str] = field(default_factory=list)
    """Complete, but a page of other messages than the newest that contain the text."""

    def judge(
        self, query: Query, truth: Truth, page: Sequence[int], every: Sequence[int] | None
    ) -> None:
        """Compare a page, and all that is found if that is known, with the plain scan."""
        named = str(query)
        found = truth.may if every is None else set(every)
        if missing := set(truth.must) - found:
            lacking = f"{len(missing):,} of {len(truth.must):,} not found"
            self.wrong.append(f"{named}: {lacking}, such as {max(missing)}")
        if extra := found - truth.may:
            self.wrong.append(f"{named}: {len(extra):,} found without reason, such as {max(extra)}")
        if len(page) < min(PAGE, len(truth.must)):
            self.wrong.append(f"{named}: a page of {len(page)} of {len(truth.must):,}")
        if strange := set(page) - truth.may:
            self.wrong.append(f"{named}: on the page without reason: {max(strange)}")
        if list(page[: len(truth.must)]) != truth.must[:PAGE]:
            self.other_order.append(named)
