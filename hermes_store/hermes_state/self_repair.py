"""The repairs that Hermes Agent runs on its own sessions when it starts."""

from __future__ import annotations

import time
from pathlib import Path

from hermes_store.engines.base import Transaction
from hermes_store.hermes_state.holds_store import HoldsStore
from hermes_store.sessions import session_files
from hermes_store.trash import delete_from_database
from hermes_store.trash.delete_from_database import Group

DAY_SECONDS = 24 * 60 * 60
GHOST_AGE_SECONDS = DAY_SECONDS
ORPHAN_AGE_SECONDS = 7 * DAY_SECONDS

_GHOST = (
    "s.source = 'tui' AND s.title IS NULL AND s.ended_at IS NOT NULL AND s.started_at < ? "
    "AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)"
)


def prune_empty_ghost_sessions(self: HoldsStore, sessions_dir: Path | None = None) -> int:
    """Delete the agent's ended terminal sessions without title or messages, a day old or more."""
    before = time.time() - GHOST_AGE_SECONDS
    database = self.store.database
    with database.read() as tx:
        ghosts = [
            row[0] for row in tx.rows(f"SELECT s.id FROM sessions s WHERE {_GHOST}", (before,))
        ]

    def came_into_use(tx: Transaction, group: Group) -> bool:
        still = f"SELECT 1 FROM sessions s WHERE s.id = ? AND {_GHOST}"
        return any(tx.one(still, (session_id, before)) is None for session_id in group)

    groups = [(session_id,) for session_id in ghosts]
    deleted = delete_from_database.total(
        delete_from_database.delete_in_steps(database.write, groups, came_into_use)
    )
    session_files.remove_session_files(sessions_dir, deleted.session_ids)
    return len(deleted.session_ids)


def finalize_orphaned_compression_sessions(self: HoldsStore) -> int:
    """End continuations of a week or more ago that no model was ever asked for; return how many.

    Their messages stay.
    """
    now = time.time()
    with self.store.database.write() as tx:
        return tx.run(
            "UPDATE sessions SET ended_at = ?, end_reason = 'orphaned_compression' "
            "WHERE api_call_count = 0 AND end_reason IS NULL AND ended_at IS NULL "
            "AND started_at < ? AND EXISTS (SELECT 1 FROM sessions p "
            "WHERE p.id = sessions.parent_session_id AND p.end_reason = 'compression' "
            "AND p.ended_at IS NOT NULL) "
            "AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id)",
            (now, now - ORPHAN_AGE_SECONDS),
        )
