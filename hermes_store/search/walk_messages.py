"""Walks through all messages in steps, for what no index can find; and those of few sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_store.engines.base import Transaction
from hermes_store.records import stored_values
from hermes_store.records.search import Looked
from hermes_store.search.field_conditions import Condition

FIRST_READ = 500
"""Messages to read in one statement: few at first, so that the newest matches come at once."""
FEW_SESSIONS = 50
FEW_MESSAGES = 2_000


def steps(
    tx: Transaction, low: int, high: int, *, oldest_first: bool, longest: int
) -> Iterator[tuple[int, int, Looked]]:
    """Yield ranges of ids to read, ever larger ones, and how far one has come after each."""
    first, last = _next(tx, ">=", low), _next(tx, "<=", high)
    if first is None or last is None:
        return
    size = min(FIRST_READ, longest)
    at: int | None = first if oldest_first else last
    while at is not None and first <= at <= last:
        begin, end = (at, at + size - 1) if oldest_first else (at - size + 1, at)
        bounds = max(begin, first), min(end, last)
        done = bounds[1] - first if oldest_first else last - bounds[0]
        read_to = bounds[1] if oldest_first else bounds[0]
        yield *bounds, Looked(_moment(tx, read_to), (done + 1) / (last - first + 1))
        at = _next(tx, ">", end) if oldest_first else _next(tx, "<", begin)
        size = min(2 * size, longest)


def _next(tx: Transaction, sign: str, message_id: int) -> int | None:
    """Return the id nearest to another in one direction; ids may have large gaps."""
    edge = "MIN" if ">" in sign else "MAX"
    found = tx.value(f"SELECT {edge}(id) FROM messages WHERE id {sign} ?", (message_id,))
    return None if found is None else int(found)


def _moment(tx: Transaction, message_id: int) -> float | None:
    found = tx.value(
        "SELECT timestamp FROM messages WHERE id >= ? ORDER BY id LIMIT 1", (message_id,)
    )
    return stored_values.optional_moment(found)


def of_few_sessions(tx: Transaction, conditions: Sequence[Condition]) -> list[int] | None:
    """Return the messages of the sessions that meet the conditions; None if there are many.

    Reading a handful of sessions beats walking all matches of a common word.
    """
    chosen = [each for each in conditions if each.session]
    if not chosen:
        return None
    where = " AND ".join(each.sql for each in chosen)
    values = [value for each in chosen for value in each.values]
    sessions = list(
        tx.rows(
            f"SELECT s.id, s.message_count FROM sessions s WHERE {where} LIMIT {FEW_SESSIONS + 1}",
            values,
        )
    )
    number = sum(max(0, stored_values.count(count)) for _, count in sessions)
    if len(sessions) > FEW_SESSIONS or number > FEW_MESSAGES:
        return None
    listed = "SELECT id FROM messages WHERE session_id = ?"
    return [row[0] for session_id, _ in sessions for row in tx.rows(listed, (session_id,))]
