"""The repairs that Hermes Agent runs on its own sessions when it starts."""

from __future__ import annotations

import time
from pathlib import Path

from hermes_store import SessionDB
from tests.support import LONG_AGO, add


def test_ghosts_are_removed_with_their_files(db: SessionDB, tmp_path: Path) -> None:
    now = time.time()
    add(db, "ghost", source="tui", ended=LONG_AGO + 9)
    add(db, "open", source="tui")
    add(db, "titled", source="tui", ended=LONG_AGO + 9, title="mine")
    add(db, "said", "hello", source="tui", ended=LONG_AGO + 9)
    add(db, "terminal", source="cli", ended=LONG_AGO + 9)
    add(db, "recent", source="tui", at=now - 3_600, ended=now)
    add(db, "child", "hello", parent="ghost")
    file = tmp_path / "ghost.jsonl"
    file.touch()
    assert db.prune_empty_ghost_sessions(tmp_path) == 1
    assert db.get_session("ghost") is None
    assert not file.exists()
    assert db.session_count() == 6
    assert db.prune_empty_ghost_sessions() == 0


def test_orphaned_continuations_are_ended(db: SessionDB) -> None:
    now = time.time()
    add(db, "root", "hello", ended=LONG_AGO + 9, reason="compression")
    add(db, "orphan", "kept", parent="root", at=LONG_AGO + 10)
    add(db, "empty", parent="root", at=LONG_AGO + 10)
    add(db, "recent", "hello", parent="root", at=now - 86_400)
    add(db, "used", "hello", parent="root", at=LONG_AGO + 10)
    db.update_token_counts("used", api_call_count=1)
    add(db, "other", "hello", ended=LONG_AGO + 9)
    add(db, "branch", "hello", parent="other", at=LONG_AGO + 10)
    assert db.finalize_orphaned_compression_sessions() == 1
    row = db.get_session("orphan") or {}
    assert row["end_reason"] == "orphaned_compression"
    assert row["ended_at"] >= now
    assert db.message_count("orphan") == 1
    assert db.finalize_orphaned_compression_sessions() == 0
