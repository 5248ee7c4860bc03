"""A file of this store's own layout, shared with the real Hermes, old and new."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext
from tests.peer.living import APPEND, assert_sound, living, looking
from tests.store import processes

pytestmark = pytest.mark.peer
APPENDS = 1_000


def test_ours_and_theirs_write_at_once(tmp_path: Path, hermes13: str, hermes19: str) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    kinds = [("ours", sys.executable)] * 4 + [("real", hermes13), ("real", hermes19)]
    writers = [
        processes.start(APPEND, path, kind, f"writer{place}", APPENDS, python=python)
        for place, (kind, python) in enumerate(kinds)
    ]
    try:
        for writer in writers:
            assert processes.heard(writer) == "ready"
        for writer in writers:
            processes.tell(writer)
        for writer in writers:
            processes.finish(writer)
    finally:
        for writer in writers:
            if writer.poll() is None:
                processes.kill(writer)
    with SessionDB(path) as db:
        for place in range(len(kinds)):
            said = [m["content"].split()[1] for m in db.get_messages(f"writer{place}")]
            assert said == [str(number) for number in range(APPENDS)]
            row = db.get_session(f"writer{place}")
            assert row is not None
            assert row["message_count"] == APPENDS
            assert len(db.search_messages(f"writer{place}", limit=APPENDS + 1)) == APPENDS
    assert_sound(path)


SECOND_LIBRARY = """
import os, signal, sqlite3, sys
from hermes_store import SessionDB

db = SessionDB(sys.argv[1])
db.create_session("s", "cli")
db.append_message("s", "user", "0")
print("ready", flush=True)
for turn in range(1, 21):
    sys.stdin.readline()
    other = sqlite3.connect(sys.argv[1])
    other.execute("SELECT COUNT(*) FROM messages").fetchall()
    other.close()
    db.append_message("s", "user", str(turn))
    print("done", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("peer_version", ["0.13.0", "0.19.0"])
def test_python_s_sqlite3_in_our_process_costs_nobody_a_message(
    tmp_path: Path, peer_version: str, request: pytest.FixtureRequest
) -> None:
    python = request.getfixturevalue({"0.13.0": "hermes13", "0.19.0": "hermes19"}[peer_version])
    path = tmp_path / "state.db"
    SessionDB(path).close()
    writer = processes.start(APPEND, path, "real", "real", 50, python=python)
    with processes.running(SECOND_LIBRARY, path) as ours:
        assert processes.heard(writer) == "ready"
        processes.tell(writer)
        for _ in range(20):
            processes.tell(ours)
            assert processes.heard(ours) == "done"
        ours.wait(processes.PATIENCE)
    processes.finish(writer)
    with SessionDB(path) as db:
        assert db.message_count("s") == 21
        assert db.message_count("real") == 50
    assert_sound(path)


@pytest.mark.parametrize("peer_version", ["0.13.0", "0.19.0"])
def test_a_real_hermes_is_at_home_in_our_layout(
    tmp_path: Path, peer_version: str, request: pytest.FixtureRequest
) -> None:
    python = request.getfixturevalue({"0.13.0": "hermes13", "0.19.0": "hermes19"}[peer_version])
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        for name in ("kept", "changed", "gone"):
            db.create_session(name, "cli")
            db.set_session_title(name, f"Title of {name}")
            for number in range(20):
                db.append_message(name, "user", f"kettle {name}{number} 前回の設定を確認")
        db.append_message("kept", "tool", "result", tool_name="browser")
    with living(python, path) as peer:
        assert len(peer.found("kettle")) == 60
        assert len(peer.found("前回の設定")) == 60
        assert len(peer.found("browser")) == 1
        theirs = peer("append_message", "kept", "user", "kettle of theirs 前回の設定を確認")
        assert peer.found("theirs") == [theirs]
        peer(
            "replace_messages", "changed", [{"role": "user", "content": "teapot 前回の予定を確認"}]
        )
        assert len(peer.found("teapot")) == 1
        assert peer("delete_session", "gone") is True
        assert len(peer.found("kettle")) == 21
        assert len(peer.found("前回の設定")) == 21
        if peer_version == "0.19.0":
            peer("optimize_fts")
            peer("rebuild_fts")
            assert len(peer.found("kettle")) == 21
            assert len(peer.found("前回の予定")) == 1
        peer("vacuum")
        assert len(peer.found("kettle")) == 21
        peer.leave()
    with SessionDB(path) as db:
        assert [m["id"] for m in db.get_messages("kept")][-1] == theirs
        assert {row["id"] for row in db.list_sessions_rich()} == {"kept", "changed"}
        assert len(db.search_messages("kettle", limit=99)) == 21
        assert len(db.search_messages("前回の予定")) == 1
        assert len(db.search_messages("teapot")) == 1
        assert db.get_session("gone") is None
        row = db.list_sessions_rich(order_by_last_active=True)[0]
        assert row["id"] == "changed"
        assert row["preview"].startswith("teapot")
    assert_sound(path)
    with looking(path) as con:
        assert fulltext.is_external(con)
        assert fulltext.is_intact(con)


def test_both_real_ones_and_ours_take_turns(tmp_path: Path, hermes13: str, hermes19: str) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
    expected = 0
    for _ in range(3):
        for python in (hermes13, hermes19):
            with living(python, path) as peer, SessionDB(path) as db:
                db.append_message("s", "user", "kettle of ours 前回の設定")
                peer("append_message", "s", "user", "kettle of theirs 前回の設定")
                expected += 2
                assert len(peer.found("kettle")) == expected
                assert len(peer.found("前回の設定")) == expected
                assert len(db.search_messages("kettle", limit=99)) == expected
                peer.leave()
    assert_sound(path)
