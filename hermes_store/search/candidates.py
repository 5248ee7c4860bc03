"""Reading candidates: messages with their sessions, by index, by id or by scan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records import stored_values
from hermes_store.search.field_conditions import Condition

SCAN_STEP = 2_000
FEW_SESSIONS = 50
FEW_MESSAGES = 2_000

_COLUMNS = "m.id, m.session_id, m.role, m.timestamp, m.tool_name, s.source, s.model, s.started_at"
_TEXTS = "m.content, m.tool_calls"
_SESSION = "CROSS JOIN sessions s ON s.id = m.session_id"


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate message with its text."""

    read: bool
    """Whether content and tool calls were read."""
    flags: tuple[Any, ...]
    """The values of the fields that are not conditions on all results."""
    message_id: int
    session_id: str
    role: str
    timestamp: float
    tool_name: str | None
    source: str
    model: str | None
    session_started: float
    content: str | None
    tool_calls: str | None

    @property
    def text(self) -> str:
        """The text that is searched: content, tool name and tool calls."""
        return f"{self.content or ''} {self.tool_name or ''} {self.tool_calls or ''}"


_READERS: tuple[Callable[[Any], Any], ...] = (
    stored_values.count,
    stored_values.text,
    stored_values.text,
    stored_values.moment,
    stored_values.optional_text,
    stored_values.text,
    stored_values.optional_text,
    stored_values.moment,
    stored_values.optional_text,
    stored_values.optional_text,
)


class Rows:
    """The messages of a database that meet conditions, in one direction of time."""

    def __init__(
        self,
        tx: Transaction,
        conditions: Sequence[Condition],
        flags: Sequence[Condition],
        *,
        oldest_first: bool,
        texts: bool,
    ) -> None:
        self._tx = tx
        self._conditions = [each for each in conditions if each.sql != "1"]
        self._flags = flags
        self._oldest_first = oldest_first
        self._texts = texts
        self.scanned_back_to: float | None = None

    def _where(self, *, sessions_only: bool = False) -> tuple[str, list[Any]]:
        chosen = [each for each in self._conditions if each.session or not sessions_only]
        sql = " AND ".join(condition.sql for condition in chosen) or "1"
        return sql, [value for condition in chosen for value in condition.values]

    def session_conditions(self) -> tuple[str, list[Any]]:
        """Return the conditions on sessions only, as SQL with values."""
        return self._where(sessions_only=True)

    # -- streams ---------------------------------------------------------------------------

    def _read(
        self, origin: str, where: str, values: Sequence[Any], order: str, *, texts: bool = True
    ) -> Iterator[Found]:
        flags = "".join(f", {condition.sql}" for condition in self._flags)
        flag_values = [value for each in self._flags for value in each.values]
        conditions, condition_values = self._where()
        direction = "ASC" if self._oldest_first else "DESC"
        rows = self._tx.rows(
            f"SELECT {_COLUMNS}, {_TEXTS if texts else 'NULL, NULL'}{flags} FROM {origin} "
            f"{_SESSION} WHERE {where} AND {conditions} ORDER BY {order} {direction}",
            (*flag_values, *values, *condition_values),
        )
        for row in rows:
            told = (read(value) for read, value in zip(_READERS, row, strict=False))
            yield Found(texts, row[10:], *told)

    def lookup(
        self, table: str, expression: str, low: int, high: int, *, exact: bool
    ) -> Iterator[Found]:
        """Yield what an index finds for an expression between two message ids."""
        return self._read(
            f"{table} f CROSS JOIN messages m ON m.id = f.rowid",
            f"{table} MATCH ? AND f.rowid BETWEEN ? AND ?",
            (expression, low, high),
            "f.rowid",
            texts=self._texts or not exact,
        )

    def since(self, message_id: int) -> Iterator[Found]:
        """Yield the messages from an id onward."""
        return self._read("messages m", "m.id >= ?", (message_id,), "m.id")

    def with_ids(self, ids: Sequence[int]) -> Iterator[Found]:
        """Yield the messages with these ids."""
        for message_id in sorted(ids, reverse=not self._oldest_first):
            yield from self._read("messages m", "m.id = ?", (message_id,), "m.id")

    def scan(self, low: int, high: int, test: str, values: Sequence[Any]) -> Iterator[Found]:
        """Scan messages in steps, and record how far back the scan went."""
        where = f"m.id BETWEEN ? AND ? AND {test}"
        if self._oldest_first:
            yield from self._read("messages m", where, (low, high, *values), "m.id")
            return
        top = self._tx.value("SELECT MAX(id) FROM messages WHERE id <= ?", (high,))
        while top is not None and top >= low:
            bottom = max(low, top - SCAN_STEP + 1)
            yield from self._read("messages m", where, (bottom, top, *values), "m.id")
            moment = self._tx.value(
                "SELECT timestamp FROM messages WHERE id >= ? ORDER BY id LIMIT 1", (bottom,)
            )
            self.scanned_back_to = stored_values.optional_moment(moment)
            top = self._tx.value("SELECT MAX(id) FROM messages WHERE id < ?", (bottom,))

    def of_few_sessions(self) -> list[int] | None:
        """Return the messages of the sessions that meet the conditions; None if there are many.

        Reading a handful of sessions beats walking all matches of a common word.
        """
        if not any(each.session for each in self._conditions):
            return None
        where, values = self.session_conditions()
        sessions = list(
            self._tx.rows(
                f"SELECT s.id, s.message_count FROM sessions s WHERE {where} "
                f"LIMIT {FEW_SESSIONS + 1}",
                values,
            )
        )
        if (
            len(sessions) > FEW_SESSIONS
            or sum(max(0, stored_values.count(n)) for _, n in sessions) > FEW_MESSAGES
        ):
            return None
        listed = "SELECT id FROM messages WHERE session_id = ?"
        return [
            row[0] for session_id, _ in sessions for row in self._tx.rows(listed, (session_id,))
        ]

    # -- counts and scores -----------------------------------------------------------------

    def exceeds(self, table: str, expression: str, number: int) -> bool:
        """Tell whether an index has more than `number` entries for an expression."""
        beyond = self._tx.one(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (expression, number),
        )
        return beyond is not None

    def count(self, table: str, expression: str, up_to: int) -> int:
        """Count what an index finds for an expression, up to one beyond a limit."""
        conditions, values = self._where()
        joined = f"CROSS JOIN messages m ON m.id = f.rowid {_SESSION}" if self._conditions else ""
        counted = self._tx.value(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} f {joined} "
            f"WHERE {table} MATCH ? AND {conditions} LIMIT ?)",
            (expression, *values, up_to + 1),
        )
        return int(counted)

    def scored(
        self, table: str, expression: str, score: str, *, window: int, limit: int
    ) -> Iterator[Found]:
        """Yield the best of the newest matches by an SQL score, the best first."""
        conditions, values = self._where()
        needed = self._conditions or "m." in score
        joined = f"CROSS JOIN messages m ON m.id = f.rowid {_SESSION}" if needed else ""
        ranked = self._tx.rows(
            f"SELECT id FROM (SELECT f.rowid AS id, {score} AS score FROM {table} f {joined} "
            f"WHERE {table} MATCH ? AND {conditions} ORDER BY f.rowid DESC LIMIT {window}) "
            "ORDER BY score DESC, id LIMIT ?",
            (expression, *values, limit),
        )
        ids = json.dumps([message_id for (message_id,) in ranked])
        # All at once: one statement each would take half as long as the search.
        origin = "json_each(?) best CROSS JOIN messages m ON m.id = best.value"
        yield from self._read(origin, "1", (ids,), "best.key ASC, m.id")
