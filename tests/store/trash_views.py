"""What tests of the trash compare: everything a store holds and says."""

from __future__ import annotations

import time
from typing import Any

from hermes_store import SessionDB
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.records.search import Request
from hermes_store.trash.api import Trash
from hermes_store.trash.move_to_trash import LEASE

ACTIVITY = "session_id, root_id, edge, listed, source, last_active, spoken, preview_id, preview"


def everything(db: SessionDB) -> dict[str, Any]:
    """Return all rows of a store, and what its indexes and its lists say about them."""
    with db._db.read() as tx:
        found: dict[str, Any] = {
            table: list(tx.rows(f"SELECT * FROM {table} ORDER BY 1, 2"))
            for table in ("sessions", "messages", "session_model_usage")
            if table in tx.caps.tables
        }
        if tx.caps.activity:
            found["activity"] = list(tx.rows(f"SELECT {ACTIVITY} FROM session_activity ORDER BY 1"))
            chains = "SELECT session_id, chain_active FROM session_activity WHERE listed = TRUE"
            found["chains"] = sorted(tx.rows(chains))
        if isinstance(tx, SqliteTransaction):
            found["words"] = sorted(
                tx.rows("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'word'")
            )
    found["found"] = [
        hit.message_id for hit in db.store.search.run(Request("word", limit=100)).hits
    ]
    found["list"] = [
        (each.root_id, each.preview) for each in db.store.lists.conversations(limit=-1)
    ]
    found["trees"] = {row[0]: db.store.lineage.tree(row[0]) for row in found["sessions"]}
    return found


def later(db: SessionDB) -> Trash:
    """Return the same trash after a deletion that was broken off no longer counts as at work."""
    return Trash(db._db, db.store._sidecar, clock=lambda: time.time() + LEASE + 1)
