"""A file of a newer Hermes that is at work on it: used, and left the way it is."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import View
from hermes_store.records.workspace import Place
from tests.peer.conftest import Peer
from tests.peer.living import APPEND, assert_sound, living, schema_of
from tests.store import processes

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


def test_everything_works_while_the_newer_hermes_writes(tmp_path: Path, hermes19: str) -> None:
    path = tmp_path / "state.db"
    with living(hermes19, path) as peer:
        for name in ("talk", "other"):
            peer("create_session", name, "cli", cwd="/src/shop")
            for number in range(4):
                peer("append_message", name, "user", f"kettle {number} of {name}")
        kept = peer("get_messages_as_conversation", "talk")[-1:]
        summary = {"role": "user", "content": "a summary"}
        peer("archive_and_compact", "talk", [summary, *kept])
        peer.leave()
    before = schema_of(path)
    with processes.running(APPEND, path, "real", "busy", 1_000, python=hermes19) as writer:
        processes.tell(writer, "go")
        rounds = 0
        while writer.poll() is None or rounds < 3:
            rounds += 1
            with SessionDB(path, read_only=True) as db:
                listed = list(db.store.lists.entries(View(), now=time.time()))
                assert {"talk", "other", "busy"} <= set(listed)
                assert len(db.store.search.run('"kettle 1 of talk"').hits) == 1
                read = [each.text for each in db.store.messages.of("talk")]
                assert read == [*(f"kettle {n} of talk" for n in range(4)), "a summary"]
                sink = io.StringIO()
                assert db.store.transfer.export(sink, "markdown", ["talk"]) == 1
                assert listed_in(db, "shop") == {"talk", "other"}
            with SessionDB(path) as db:
                assert db.set_session_title("talk", f"round {rounds}")
                db.store.trash.delete_conversation("other", force=True)
                assert not db.store.trash.restore().skipped
        assert processes.finish(writer) is not None
    with SessionDB(path, read_only=True) as db:
        assert db.message_count("busy") == 1_000
        assert db.message_count("other") == 4
    assert schema_of(path) == before
    assert_sound(path)


def listed_in(db: SessionDB, workspace: str) -> set[str]:
    """Return the sessions of a workspace."""
    return set(db.store.lists.recent_ids(workspace=workspace))


@pytest.mark.parametrize("version", ["0.13.0", "0.19.0", "0.20.4"])
def test_a_file_of_ours_is_opened_used_and_upgraded(
    tmp_path: Path, peers: Callable[[str], Peer], version: str
) -> None:
    path = tmp_path / "state.db"
    place = Place("/src/shop/ci", "/src/shop", "main")
    with SessionDB(path) as db:
        db.store.sessions.start("ours", "cli", place=place)
        db.append_message("ours", "user", "a kettle of ours")
    script = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
for _ in range(2):
    db = SessionDB(db_path=Path(sys.argv[1]))
    assert [row["id"] for row in db.list_sessions_rich()] == ["ours"]
    assert len(db.search_messages("kettle")) >= 1
    db.append_message("ours", "user", "a kettle of theirs")
    db.close()
print(json.dumps(len(db.db_path.name)))
"""
    peers(version).run(script, path)
    with SessionDB(path) as db:
        assert db.store.sessions.get("ours").place == place
        assert len(db.search_messages("kettle")) == 3
        expected = {"0.13.0": 11, "0.19.0": 22, "0.20.4": 26}[version]
        assert db.store.capabilities().version == expected
        assert listed_in(db, "shop") == {"ours"}
    assert_sound(path)
