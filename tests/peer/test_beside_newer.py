"""A file of a newer Hermes that is at work on it: used, and left the way it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.peer.living import assert_sound, living, schema_of

pytestmark = pytest.mark.peer


def test_a_file_of_a_living_newer_hermes(tmp_path: Path, hermes19: str) -> None:
    path = tmp_path / "state.db"
    log = tmp_path / "state.db-wal"
    with living(hermes19, path) as peer:
        for name in ("plain", "chain", "away", "shelved"):
            peer("create_session", name, "cli")
            peer("append_message", name, "user", f"kettle of {name}")
        peer("end_session", "chain", "compression")
        peer("create_session", "chain2", "cli", parent_session_id="chain")
        peer("append_message", "chain2", "user", "kettle goes on")
        undone = peer("append_message", "plain", "user", "regrettable kettle")
        peer("rewind_to_message", "plain", undone)
        peer("set_session_archived", "shelved", True)
        before, inode = schema_of(path), log.stat().st_ino
        counted = peer("get_session", "plain")["message_count"]
        assert before[-1] == (22,)

        with SessionDB(path, read_only=True) as db:
            # Newest first, the chain by its newest part, what is archived not at all.
            assert [row["id"] for row in db.list_sessions_rich()] == ["away", "chain2", "plain"]
            shown = [row["id"] for row in db.list_sessions_rich(order_by_last_active=True)]
            theirs = peer("list_sessions_rich", order_by_last_active=True)
            assert shown == [row["id"] for row in theirs]
            assert [m["content"] for m in db.get_messages("plain")] == ["kettle of plain"]
            hits = {row["session_id"] for row in db.search_messages("kettle")}
            assert hits == {"plain", "chain", "chain2", "away", "shelved"}
            assert db.search_messages("regrettable") == []
        assert log.stat().st_ino == inode

        with SessionDB(path) as db:
            assert db.set_session_title("plain", "A new name")
            ours = db.append_message("plain", "user", "kettle from next door")
            db.create_session("ours", "cli")
            db.append_message("ours", "user", "kettle of ours")
            db.set_session_title("ours", "Our own")
            assert db.delete_session("away")
            db.store.trash.delete_conversation("chain2", force=True)
        assert log.stat().st_ino == inode
        assert schema_of(path) == before

        assert peer("get_session", "plain")["title"] == "A new name"
        assert peer("get_session", "plain")["message_count"] == counted + 1
        assert peer("get_session", "chain") is None
        assert peer("get_messages", "away") == []
        listed = {row["id"] for row in peer("list_sessions_rich")}
        assert listed == {"plain", "ours"}
        latest = peer("append_message", "ours", "user", "kettle by the living one")
        assert ours in peer.found("kettle")
        assert latest in peer.found("kettle")
        with SessionDB(path, read_only=True) as db:
            assert latest in {row["id"] for row in db.search_messages("living")}
        assert log.stat().st_ino == inode
        peer.leave()
    assert schema_of(path) == before
    assert_sound(path)


def test_closing_many_times_never_pulls_the_log_away(tmp_path: Path, hermes19: str) -> None:
    path = tmp_path / "state.db"
    with living(hermes19, path) as peer:
        peer("create_session", "s", "cli")
        inode = (tmp_path / "state.db-wal").stat().st_ino
        for number in range(20):
            with SessionDB(path, read_only=number % 2 == 0) as db:
                assert db.message_count("s") == number
            peer("append_message", "s", "user", f"word{number}")
            assert len(peer.found(f"word{number}")) == 1
        assert (tmp_path / "state.db-wal").stat().st_ino == inode
