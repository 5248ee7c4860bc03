"""Handing a session to a messaging platform, as Hermes Agent records it.

A terminal requests the handoff; the gateway claims it and says how it ended. The state of a
session is one of pending, running, completed and failed, or NULL if none was ever requested.
"""

from __future__ import annotations

from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.hermes_state.holds_store import HoldsStore
from hermes_store.sessions import session_rows

MAX_ERROR_LENGTH = 500


def request_handoff(self: HoldsStore, session_id: str, platform: str) -> bool:
    """Ask for a session to be handed over; False if it is unknown or already under way."""
    with self.store.database.write() as tx:
        changed = tx.run(
            "UPDATE sessions SET handoff_state = 'pending', handoff_platform = ?, "
            "handoff_error = NULL WHERE id = ? "
            "AND COALESCE(handoff_state, 'completed') IN ('completed', 'failed')",
            (platform, session_id),
        )
    return changed > 0


def get_handoff_state(self: HoldsStore, session_id: str) -> dict[str, Any] | None:
    """Return state, platform and error of a session's handoff; None if there is no session."""
    with self.store.database.read() as tx:
        if not _recorded(tx):
            return None
        found = tx.one(
            "SELECT handoff_state, handoff_platform, handoff_error FROM sessions WHERE id = ?",
            (session_id,),
        )
    return None if found is None else dict(zip(("state", "platform", "error"), found, strict=True))


def list_pending_handoffs(self: HoldsStore) -> list[dict[str, Any]]:
    """Return the sessions that wait to be handed over, the oldest first."""
    with self.store.database.read() as tx:
        if not _recorded(tx):
            return []
        names, selected = session_rows.all_columns(tx, "s")
        rows = tx.rows(
            f"SELECT {selected} FROM sessions s WHERE s.handoff_state = 'pending' "
            "ORDER BY s.started_at"
        )
        return [dict(zip(names, row, strict=True)) for row in rows]


def claim_handoff(self: HoldsStore, session_id: str) -> bool:
    """Start a pending handoff; False if another process was faster."""
    with self.store.database.write() as tx:
        changed = tx.run(
            "UPDATE sessions SET handoff_state = 'running' "
            "WHERE id = ? AND handoff_state = 'pending'",
            (session_id,),
        )
    return changed > 0


def complete_handoff(self: HoldsStore, session_id: str) -> None:
    """Record that a handoff has succeeded."""
    with self.store.database.write() as tx:
        tx.run(
            "UPDATE sessions SET handoff_state = 'completed', handoff_error = NULL WHERE id = ?",
            (session_id,),
        )


def fail_handoff(self: HoldsStore, session_id: str, error: str) -> None:
    """Record that a handoff has failed, and why."""
    with self.store.database.write() as tx:
        tx.run(
            "UPDATE sessions SET handoff_state = 'failed', handoff_error = ? WHERE id = ?",
            (error[:MAX_ERROR_LENGTH], session_id),
        )


def _recorded(tx: Transaction) -> bool:
    """Return whether the database has the columns; an old one opened read-only lacks them."""
    return tx.caps.has_session("handoff_state")
