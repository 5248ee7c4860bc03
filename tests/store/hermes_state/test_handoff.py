"""Handing a session to a messaging platform."""

from __future__ import annotations

from pathlib import Path

from hermes_store import SessionDB
from tests.store import old_files


def test_a_handoff_from_request_to_completion(db: SessionDB) -> None:
    db.create_session("s", "cli")
    assert db.get_handoff_state("s") == {"state": None, "platform": None, "error": None}
    assert db.request_handoff("s", "telegram")
    assert not db.request_handoff("s", "discord"), "it is under way"
    assert [row["id"] for row in db.list_pending_handoffs()] == ["s"]
    assert db.claim_handoff("s")
    assert not db.claim_handoff("s"), "another process has it"
    assert not db.request_handoff("s", "discord")
    assert db.list_pending_handoffs() == []
    db.complete_handoff("s")
    assert db.get_handoff_state("s") == {
        "state": "completed", "platform": "telegram", "error": None
    }  # fmt: skip


def test_a_failed_handoff_can_be_requested_again(db: SessionDB) -> None:
    db.create_session("s", "cli")
    db.request_handoff("s", "telegram")
    db.fail_handoff("s", "x" * 600)
    assert db.get_handoff_state("s") == {
        "state": "failed", "platform": "telegram", "error": "x" * 500
    }  # fmt: skip
    assert db.request_handoff("s", "slack")
    assert db.get_handoff_state("s") == {"state": "pending", "platform": "slack", "error": None}


def test_an_unknown_session_has_none(db: SessionDB) -> None:
    assert db.get_handoff_state("nobody") is None
    assert not db.request_handoff("nobody", "telegram")
    assert not db.claim_handoff("nobody")
    db.complete_handoff("nobody")
    db.fail_handoff("nobody", "why")


def test_pending_sessions_come_oldest_first(db: SessionDB) -> None:
    for name in ("first", "second", "third"):
        db.create_session(name, "cli")
    for name in ("third", "first"):
        db.request_handoff(name, "telegram")
    rows = db.list_pending_handoffs()
    assert [row["id"] for row in rows] == ["first", "third"]
    assert rows[0].keys() == (db.get_session("first") or {}).keys()


def test_an_old_file_opened_read_only_has_none(path: Path) -> None:
    old_files.build(path, 10)
    with SessionDB(path, read_only=True) as db:
        assert db.get_handoff_state("s0") is None
        assert db.list_pending_handoffs() == []
