"""Pruning: which old sessions would go, then letting them go a few at a time.

Age is counted from the last activity of the whole conversation. A session that has not ended,
or one whose conversation goes on in a newer session, is in use and never touched; neither are
archived and pinned ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hermes_store import deletion, lineage, sessions
from hermes_store.database.transaction import Transaction
from hermes_store.models import Deleted

_LAST = "COALESCE((SELECT MAX(timestamp) FROM messages WHERE session_id = {id}), {started})"


def _candidates(tx: Transaction, cutoff: float, source: str | None) -> tuple[str, list[Any]]:
    conditions: list[str] = ["s.ended_at IS NOT NULL"]
    values: list[Any] = []
    if tx.caps.activity:
        origin = "session_activity a CROSS JOIN sessions s ON s.id = a.session_id"
        conditions.append("a.last_active < ?")
    else:
        origin = "sessions s"
        conditions.append(f"{_LAST.format(id='s.id', started='s.started_at')} < ?")
    values.append(cutoff)
    if source is not None:
        conditions.append("s.source = ?")
        values.append(source)
    conditions += [f"NOT {kept}" for kept in _kept(tx)]
    return f"FROM {origin} WHERE {' AND '.join(conditions)}", values


def _kept(tx: Transaction) -> list[str]:
    """Return the SQL conditions under which a session is kept however old it is."""
    present = (name for name in ("archived", "pinned") if tx.caps.has_session(name))
    return [f"COALESCE(s.{name}, 0)" for name in present]


def plan(tx: Transaction, cutoff: float, source: str | None = None) -> tuple[str, ...]:
    """Return the sessions whose conversation was last active before a moment and has ended."""
    clause, values = _candidates(tx, cutoff, source)
    found = tx.rows(f"SELECT s.id, s.parent_session_id, s.end_reason {clause}", values)
    return tuple(
        session_id
        for session_id, parent, reason in list(found)
        if (parent is None and reason != "compression") or _is_over(tx, session_id, cutoff)
    )


def _is_over(tx: Transaction, session_id: str, cutoff: float) -> bool:
    """Tell whether every session of a chain has ended, was last active before the moment, and
    none of them is to be kept.
    """
    kept = " OR ".join(_kept(tx)) or "0"
    for member in lineage.chain(tx, session_id):
        session = sessions.get(tx, member)
        last = tx.value(
            f"SELECT {_LAST.format(id='?1', started='?2')}", (member, session.started_at)
        )
        if session.ended_at is None or last >= cutoff:
            return False
        if tx.value(f"SELECT {kept} FROM sessions s WHERE s.id = ?", (member,)):
            return False
    return True


def apply(write: deletion.Write, session_ids: tuple[str, ...], cutoff: float) -> Iterator[Deleted]:
    """Delete planned sessions in short transactions, each one looked at again first."""

    def in_use(tx: Transaction, session_id: str) -> bool:
        return not _is_over(tx, session_id, cutoff)

    return deletion.delete_in_steps(write, session_ids, in_use)
