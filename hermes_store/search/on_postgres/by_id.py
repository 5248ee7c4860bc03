"""Matches by id, where ids follow time: of one host, or of many that write to the server itself.

The newest blocks of ids are looked at first, so that a common word costs no more than a rare one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.postgres.lexemes import BLOCK_BITS, block_of, quoted

NEWEST_BLOCKS, MORE_BLOCKS = 2, 32
MANY = 500_000
"""Where ids go further than that, there is a step between the newest blocks and all others."""
FIRST_PAGE, LARGEST_PAGE = 64, 4_096
_SESSION = "JOIN sessions s ON s.id = m.session_id"

Row = tuple[Any, ...]
Sql = tuple[str, list[Any]]


class ById:
    """Looks up messages in order of their ids."""

    def __init__(self, tx: Transaction, *, newest: int, oldest_first: bool) -> None:
        self._tx = tx
        self._newest = newest
        self._oldest_first = oldest_first
        self._direction = "ASC" if oldest_first else "DESC"

    def rows(self, query: str, selected: Sql, where: Sql, low: int, high: int) -> Iterator[Row]:
        """Yield the id and what is selected of the messages that a tsquery finds in a range."""
        size = FIRST_PAGE
        high = min(high, self._newest)
        while low <= high:
            page = self._page(query, selected, where, list(self._ranges(low, high)), size)
            yield from page
            if len(page) < size:
                return
            last = page[-1][0]
            low, high = (last + 1, high) if self._oldest_first else (low, last - 1)
            size = min(8 * size, LARGEST_PAGE)

    def _ranges(self, low: int, high: int) -> Iterator[tuple[int, int, str | None]]:
        """Yield ranges of ids in their order, with the lexemes of their blocks if they are few."""
        if not self._oldest_first:
            widths = (NEWEST_BLOCKS, MORE_BLOCKS) if self._newest > MANY else (NEWEST_BLOCKS,)
            for width in widths:
                block = high >> BLOCK_BITS
                bottom = max(low, (block - width + 1) << BLOCK_BITS)
                blocks = range(bottom >> BLOCK_BITS, block + 1)
                yield bottom, high, " | ".join(quoted(block_of(b << BLOCK_BITS)) for b in blocks)
                high = bottom - 1
                if high < low:
                    return
        yield low, high, None

    def _page(
        self,
        query: str,
        selected: Sql,
        where: Sql,
        ranges: list[tuple[int, int, str | None]],
        size: int,
    ) -> list[Row]:
        """Return the first matches of the ranges; a range is looked at only if those before it do
        not fill the page.

        This shape leaves the planner no choice but to look up all ids of a range first, and to test
        them one by one until the page is full.
        """
        found, looked_up, values, later = [], [], list[Any](), list[Any]()
        for number, (low, high, blocks) in enumerate(ranges):
            # A condition of its own: inside of the query, it would not narrow it down.
            window = " AND w.tsv @@ CAST(? AS tsquery)" if blocks else ""
            looked_up.append(
                f"k{number} AS MATERIALIZED (SELECT w.id FROM message_words w "
                f"WHERE w.tsv @@ CAST(? AS tsquery){window})"
            )
            values += [query, *([blocks] if blocks else [])]
            found.append(
                f"(SELECT k.id AS id, y.* FROM (SELECT id FROM k{number} WHERE id BETWEEN ? AND ? "
                f"ORDER BY id {self._direction} OFFSET 0) k "
                f"INNER JOIN LATERAL (SELECT {selected[0]} FROM messages m {_SESSION} "
                f"WHERE m.id = k.id AND {where[0]} LIMIT 1) y ON TRUE "
                f"ORDER BY k.id {self._direction})"
            )
            later += [low, high, *selected[1], *where[1]]
        return list(
            self._tx.rows(
                f"WITH {', '.join(looked_up)} {' UNION ALL '.join(found)} LIMIT ?",
                [*values, *later, size],
            )
        )
