"""Reading matches out of a database: through an index, or newest first through the messages.

Every test is part of the statement, so only matches leave SQLite.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

from hermes_store.engines.sqlite.fulltext import TRIGRAM, WORDS, indexed_text
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.records import stored_values
from hermes_store.records.search import Looked, Strength
from hermes_store.search import walk_messages
from hermes_store.search.field_conditions import Condition
from hermes_store.search.index_lookups import Lookup
from hermes_store.search.matcher import Found
from hermes_store.search.plan import Step

LONGEST_READ = 16_000
"""The most messages to read in one statement."""
LONGEST_SPLIT = 2_000
"""The same if their words must be split."""
SPLIT = "split_words"
"""A temporary index of the messages that no index holds, a few at a time."""

_SESSION = "CROSS JOIN sessions s ON s.id = m.session_id"


class Rows:
    """The messages of a database that meet conditions, in one direction of ids."""

    def __init__(
        self, tx: SqliteTransaction, conditions: Sequence[Condition], *, oldest_first: bool
    ) -> None:
        self._tx = tx
        self._conditions = [each for each in conditions if each.sql != "TRUE"]
        self._oldest_first = oldest_first
        self._direction = "ASC" if oldest_first else "DESC"

    @property
    def conditions(self) -> Sequence[Condition]:
        """What all matches meet."""
        return self._conditions

    def _where(self, *more: Condition, words: str = WORDS) -> tuple[str, list[Any]]:
        chosen = [*more, *self._conditions]
        sql = " AND ".join(each.sql for each in chosen if each.sql != "TRUE") or "TRUE"
        values = [value for each in chosen for value in each.values]
        return sql.replace("{words}", words), values

    # -- through an index ------------------------------------------------------------------

    def look_up(self, step: Step, low: int, high: int) -> Iterator[Found]:
        """Yield what the indexes find between two ids."""
        assert step.lookup is not None
        low, high = max(low, step.low), high if step.high is None else min(high, step.high)
        wanted = ((WORDS, step.lookup.words), (TRIGRAM, step.lookup.trigram))
        streams = [
            self._from_index(table, expression, step, low, high)
            for table, expression in wanted
            if expression and low <= high
        ]
        if len(streams) < 2:
            yield from streams[0] if streams else ()
            return
        sign = 1 if self._oldest_first else -1
        yield from merge(*streams, key=lambda row: sign * row.message_id)

    def _from_index(
        self, table: str, expression: str, step: Step, low: int, high: int
    ) -> Iterator[Found]:
        where, values = self._where(step.test)
        rows = self._tx.rows(
            f"SELECT f.rowid, m.session_id FROM {table} f "
            f"CROSS JOIN messages m ON m.id = f.rowid {_SESSION} "
            f"WHERE {table} MATCH ? AND f.rowid BETWEEN ? AND ? AND {where} "
            f"ORDER BY f.rowid {self._direction}",
            (expression, low, high, *values),
        )
        for message_id, session_id in rows:
            yield Found(message_id, stored_values.text(session_id), step.strength)

    def count(self, lookups: Sequence[Lookup], up_to: int) -> int:
        """Count what look-ups find together; more than `up_to` is not exact."""
        where, values = self._where()
        joined = f"CROSS JOIN messages m ON m.id = f.rowid {_SESSION}" if self._conditions else ""
        parts: list[str] = []
        bound: list[Any] = []
        for table, expression in dict.fromkeys(
            pair
            for each in lookups
            for pair in ((WORDS, each.words), (TRIGRAM, each.trigram))
            if pair[1]
        ):
            parts.append(
                f"SELECT * FROM (SELECT f.rowid FROM {table} f {joined} "
                f"WHERE {table} MATCH ? AND {where} LIMIT ?)"
            )
            bound += [expression, *values, up_to + 1]
        if not parts:
            return 0
        return int(self._tx.value(f"SELECT COUNT(*) FROM ({' UNION '.join(parts)})", bound))

    def scored(
        self, table: str, expression: str, test: Condition, score: str, *, window: int, limit: int
    ) -> list[Found]:
        """Return the best of the newest matches in an index by an SQL score, the best first."""
        where, values = self._where(test)
        ranked = self._tx.rows(
            f"SELECT id, session_id FROM (SELECT f.rowid AS id, m.session_id AS session_id, "
            f"{score} AS score FROM {table} f "
            f"CROSS JOIN messages m ON m.id = f.rowid {_SESSION} "
            f"WHERE {table} MATCH ? AND {where} ORDER BY f.rowid DESC LIMIT {window}) "
            "ORDER BY score DESC, id LIMIT ?",
            (expression, *values, limit),
        )
        return [Found(each, stored_values.text(home), Strength.WHOLE) for each, home in ranked]

    # -- through the messages --------------------------------------------------------------

    def read(self, step: Step, low: int, high: int) -> Iterator[Found | Looked]:
        """Read messages between two ids in steps; yield matches, and after each step how far."""
        if step.ids is not None:
            chosen = [each for each in step.ids if low <= each <= high]
            yield from self._read_some(step, sorted(chosen, reverse=not self._oldest_first))
            return
        low, high = max(low, step.low), high if step.high is None else min(high, step.high)
        longest = LONGEST_READ if step.words is None else LONGEST_SPLIT
        for begin, end, looked in walk_messages.steps(
            self._tx, low, high, oldest_first=self._oldest_first, longest=longest
        ):
            yield from self._read_between(step, begin, end)
            yield looked

    def _read_some(self, step: Step, ids: Sequence[int]) -> Iterator[Found]:
        size = LONGEST_SPLIT
        for place in range(0, len(ids), size):
            listed = json.dumps(ids[place : place + size])
            chosen = Condition("m.id IN (SELECT value FROM json_each(?))", (listed,), False)
            yield from self._read(step, chosen)

    def _read_between(self, step: Step, low: int, high: int) -> Iterator[Found]:
        yield from self._read(step, Condition("m.id BETWEEN ? AND ?", (low, high), False))

    def _read(self, step: Step, chosen: Condition) -> Iterator[Found]:
        words = WORDS
        if step.words is not None:
            words = SPLIT
            if not self._split(chosen, step.left, step.words):
                return
        where, values = self._where(chosen, step.left, step.test, words=words)
        rows = self._tx.rows(
            f"SELECT m.id, m.session_id FROM messages m {_SESSION} "
            f"WHERE {where} ORDER BY m.id {self._direction}",
            values,
        )
        for message_id, session_id in rows:
            yield Found(message_id, stored_values.text(session_id), step.strength)

    def _split(self, *chosen: Condition) -> bool:
        """Let SQLite split messages into words, in a temporary index; tell whether any."""
        con = self._tx.connection
        con.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{SPLIT} USING fts5(content, content='')"
        )
        con.execute(f"INSERT INTO temp.{SPLIT}({SPLIT}) VALUES('delete-all')")
        where, values = self._where(*chosen)
        added = self._tx.run(
            f"INSERT INTO temp.{SPLIT}(rowid, content) SELECT m.id, {indexed_text('m')} "
            f"FROM messages m {_SESSION} WHERE {where}",
            values,
        )
        return added > 0
