"""Matches by time, where ids do not follow it: on a server to which several machines send theirs.

The newest messages by time lie in few blocks of ids, so that looking only there is as quick as
where ids follow time. Older ones come in ever larger steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.postgres.lexemes import BLOCK_BITS, block_of, quoted
from hermes_store.records.search import Cursor
from hermes_store.search.on_postgres.by_id import MANY

NEWEST, MORE = 2_048, 32_768
"""How many of the newest messages to look at first, and next where there are many; then all."""
MOST_BLOCKS = 500
"""Looking only there helps no more if they are scattered over so many blocks of ids."""
FIRST_PAGE, LARGEST_PAGE = 64, 4_096
_SESSION = "JOIN sessions s ON s.id = m.session_id"

Row = tuple[Any, ...]


class ByTime:
    """Looks up messages in order of time."""

    def __init__(self, tx: Transaction, *, newest: int, oldest_first: bool) -> None:
        self._tx = tx
        self._sizes = () if oldest_first else (NEWEST, MORE) if newest > MANY else (NEWEST,)
        self._windows: dict[int, tuple[float, str] | None] = {}
        self._direction = "ASC" if oldest_first else "DESC"
        self._beyond = ">" if oldest_first else "<"

    def rows(
        self,
        query: str,
        selected: tuple[str, list[Any]],
        where: tuple[str, list[Any]],
        after: Cursor | None,
    ) -> Iterator[Row]:
        """Yield time, id and what is selected of the messages that a tsquery finds."""
        at = None if after is None else (after.moment, after.message_id)
        for since, blocks in self._steps():
            size = FIRST_PAGE
            while True:
                page = self._page(query, selected, where, at, since, blocks, size)
                yield from page
                if page:
                    at = page[-1][0], page[-1][1]
                if len(page) < size:
                    break
                size = min(4 * size, LARGEST_PAGE)

    def _steps(self) -> Iterator[tuple[float | None, str | None]]:
        """Yield since when to look, and the lexemes of the blocks where that is."""
        for number in self._sizes:
            if number not in self._windows:
                self._windows[number] = self._window(number)
            window = self._windows[number]
            if window is None:
                break
            yield window
        yield None, None

    def _window(self, number: int) -> tuple[float, str] | None:
        """Return since when the newest messages are, and their blocks; None if of no help."""
        since = self._tx.value(
            "SELECT timestamp FROM messages ORDER BY timestamp DESC, id DESC LIMIT 1 OFFSET ?",
            (number,),
        )
        if since is None:
            return None
        blocks = list(
            self._tx.rows(
                f"SELECT DISTINCT id >> {BLOCK_BITS} FROM messages WHERE timestamp >= ?", (since,)
            )
        )
        if len(blocks) > MOST_BLOCKS:
            return None
        return since, " | ".join(quoted(block_of(each << BLOCK_BITS)) for (each,) in blocks)

    def _page(
        self,
        query: str,
        selected: tuple[str, list[Any]],
        where: tuple[str, list[Any]],
        at: tuple[float, int] | None,
        since: float | None,
        blocks: str | None,
        size: int,
    ) -> Sequence[Row]:
        window = " AND w.tsv @@ CAST(? AS tsquery)" if blocks else ""
        bounds, values = [], []
        if since is not None:
            bounds.append("p.timestamp >= ?")
            values.append(since)
        if at is not None:
            bounds.append(
                f"(p.timestamp, p.id) {self._beyond} (CAST(? AS float8), CAST(? AS int8))"
            )
            values += at
        return list(
            self._tx.rows(
                "WITH k AS MATERIALIZED (SELECT w.id FROM message_words w "
                f"WHERE w.tsv @@ CAST(? AS tsquery){window}) "
                "SELECT t.timestamp, t.id, y.* FROM (SELECT p.id, p.timestamp FROM k "
                f"JOIN messages p ON p.id = k.id WHERE {' AND '.join(bounds) or 'TRUE'} "
                f"ORDER BY p.timestamp {self._direction}, p.id {self._direction} OFFSET 0) t "
                f"INNER JOIN LATERAL (SELECT {selected[0]} FROM messages m {_SESSION} "
                f"WHERE m.id = t.id AND {where[0]} LIMIT 1) y ON TRUE "
                f"ORDER BY t.timestamp {self._direction}, t.id {self._direction} LIMIT ?",
                [query, *([blocks] if blocks else []), *values, *selected[1], *where[1], size],
            )
        )
