"""Deleting while others use the sessions, and deletions that are broken off: nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.engines.base import Transaction
from hermes_store.errors import SessionInUse
from hermes_store.sessions import in_use
from hermes_store.trash import delete_from_database, sidecar_tables
from hermes_store.trash.restore import Restore
from tests.store import newer, processes
from tests.store.newer import Newer
from tests.store.trash_views import everything, later
from tests.support import LONG_AGO, add, add_chain, raw

# -- in use --------------------------------------------------------------------------------------


def test_a_session_in_use_is_protected(db: SessionDB) -> None:
    now = time.time()
    add(db, "live", "x", at=now - 200)
    add(db, "quiet", "x", at=now - 400)
    add(db, "ended", "x", at=now - 5, ended=now)
    for permanently in (False, True):
        with pytest.raises(SessionInUse, match="live has not ended"):
            db.store.trash.delete(["quiet", "live"], permanently=permanently)
    assert db.session_count() == 3
    assert db.store.trash.list() == ()
    assert db.store.trash.delete(["quiet", "ended"]).messages == 2
    assert db.store.trash.delete(["live"], force=True).session_ids == ("live",)


def test_locks_and_leases_of_a_newer_hermes_protect(path: Path) -> None:
    newer.make(path)
    theirs = Newer(path)
    for name in "abc":
        theirs.session(name, ended_at=LONG_AGO + 5, end_reason="user_exit")
    with raw(path) as con:
        con.execute(
            "CREATE TABLE session_turn_leases (conversation_id TEXT PRIMARY KEY, "
            "holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL)"
        )
    later = time.time() + 100
    theirs.put("compression_locks", session_id="a", holder="agent 1", expires_at=later)
    for name, holder in (("b", "gateway 7"), ("c", "")):
        theirs.put(
            "session_turn_leases",
            conversation_id=name,
            holder=holder,
            acquired_at=LONG_AGO,
            expires_at=later,
        )
    theirs.close()
    with SessionDB(path) as db:
        with pytest.raises(SessionInUse, match="compressed by agent 1"):
            db.store.trash.delete(["a"])
        with pytest.raises(SessionInUse, match="answered by gateway 7"):
            db.store.trash.delete(["b"])
        with db._db.read() as tx:
            assert in_use.in_use(tx, "a", later + 1) is None
        assert db.store.trash.delete(["c"]).session_ids == ("c",)


def _meddling(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch, steps: dict[int, Callable[[], Any]]
) -> None:
    """Do something in the name of others just before a numbered transaction of the deletion."""
    original, number = delete_from_database.delete_in_steps, 0

    def steps_with_company(write: delete_from_database.Write, *rest: Any) -> Iterator[Any]:
        def noticed() -> AbstractContextManager[Transaction]:
            nonlocal number
            number += 1
            steps.pop(number, lambda: None)()
            return write()

        return original(noticed, *rest)

    monkeypatch.setattr(delete_from_database, "delete_in_steps", steps_with_company)


def test_what_was_said_after_the_copy_is_not_lost(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(db, "a", "before", ended=LONG_AGO + 5)
    late = lambda: db.append_message("a", "user", "late", timestamp=LONG_AGO + 9)  # noqa: E731
    _meddling(db, monkeypatch, {1: late})
    assert db.store.trash.delete_conversation("a").messages == 2
    db.store.trash.restore()
    assert [message.content for message in db.store.messages.of("a")] == ["before", "late"]


def test_a_session_that_wakes_up_in_between_stays(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(db, "a", "before", ended=LONG_AGO + 5)
    add(db, "b", "before", ended=LONG_AGO + 5)

    def wake() -> None:
        db.reopen_session("a")
        db.append_message("a", "user", "here I am")

    _meddling(db, monkeypatch, {1: wake})
    assert db.store.trash.delete(["a", "b"]).session_ids == ("b",)
    assert db.message_count("a") == 2
    (batch,) = db.store.trash.list()
    assert batch.session_ids == ("b",)


def test_a_conversation_stays_whole_if_one_of_its_sessions_wakes_up(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_chain(db, ["a", "b", "c"])
    add(db, "other", "x", ended=LONG_AGO + 5)
    _meddling(db, monkeypatch, {1: lambda: db.reopen_session("b")})
    monkeypatch.setattr(in_use, "IN_USE_SECONDS", 1e12)
    assert db.store.trash.delete(["a", "b", "c", "other"]).session_ids == ("other",)
    assert db.session_count() == 3
    assert db.message_count() == 3
    (batch,) = db.store.trash.list()
    assert batch.session_ids == ("other",)


def test_a_copy_that_vanished_keeps_the_session(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(db, "a", "x", ended=LONG_AGO)

    def lose() -> None:
        with db.store._sidecar.write() as tx:
            tx.run("DELETE FROM trash_entries")

    _meddling(db, monkeypatch, dict.fromkeys((1, 2, 3), lose))
    assert db.store.trash.delete_conversation("a").session_ids == ()
    assert db.message_count() == 1


# -- crashes and company ---------------------------------------------------------------------

COPY_AND_WAIT = """
import sys
from hermes_store import SessionDB
from hermes_store.trash import delete_from_database as deletion
deletion.STEP_MESSAGES = 10
awaited = sys.argv[2]
def wait(what, done, total):
    if what == awaited:
        print("reached", flush=True)
        sys.stdin.readline()
db = SessionDB(sys.argv[1])
db.store.trash.delete(sys.argv[3:], progress=wait)
"""


def _killed_while(what: str, path: Path, *names: str) -> None:
    process = processes.start(COPY_AND_WAIT, path, what, *names)
    assert processes.heard(process) == "reached"
    processes.kill(process)


def test_killed_between_copy_and_deletion(db: SessionDB, path: Path) -> None:
    add(db, "a", "word", ended=LONG_AGO)
    add(db, "b", "word", ended=LONG_AGO)
    before = everything(db)
    _killed_while("Copying to the trash", path, "a", "b")
    assert everything(db) == before
    assert db.store.trash.list() == ()
    with db.store._sidecar.read() as tx:
        assert tx is not None and len(sidecar_tables.all_entries(tx)) == 2
    assert later(db).list() == ()
    with db.store._sidecar.read() as tx:
        assert tx is not None and sidecar_tables.all_entries(tx) == []
    assert db.store.trash.delete(["a", "b"]).messages == 2


def test_killed_right_after_the_deletion_it_is_in_the_trash_at_once(
    db: SessionDB, path: Path
) -> None:
    add(db, "long", *(f"word {number}" for number in range(45)), ended=LONG_AGO + 99)
    add(db, "child", "word", parent="long", at=LONG_AGO + 1, ended=LONG_AGO + 99)
    before = everything(db)
    _killed_while("Deleting", path, "long", "child")
    assert db.message_count() == 0
    (batch,) = db.store.trash.list()
    assert set(batch.session_ids) == {"long", "child"}
    assert db.store.trash.restore().messages == 46
    assert everything(db) == before
    assert db.store.trash.list() == ()


def test_restoring_that_was_broken_off_leaves_no_copy(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(db, "a", "word", ended=LONG_AGO, title="taken")
    db.store.trash.delete_conversation("a")
    add(db, "b", "word", title="taken")
    monkeypatch.setattr(Restore, "_drop", lambda *_: None)
    assert db.store.trash.restore().remarks  # it has another title now
    db.reopen_session("a")
    db.append_message("a", "user", "goes on")
    assert db.store.trash.list() == ()
    assert db.store.trash.size() == 0


def test_an_interrupted_deletion_can_be_repeated(db: SessionDB) -> None:
    add(db, "a", "word", ended=LONG_AGO)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.store.trash.delete(["a"], progress=stop)
    assert db.message_count() == 1
    assert db.store.trash.delete(["a"]).session_ids == ("a",)
    (batch,) = db.store.trash.list()
    assert batch.session_ids == ("a",)


def test_a_deletion_that_is_repeated_after_a_kill_is_in_the_trash_once(
    db: SessionDB, path: Path
) -> None:
    add(db, "a", "word", ended=LONG_AGO)
    _killed_while("Copying to the trash", path, "a")
    db.store.trash.delete(["a"])
    (batch,) = db.store.trash.list()
    assert batch.session_ids == ("a",)
    assert db.store.trash.restore().session_ids == ("a",)
    assert db.store.trash.list() == ()


DELETE = """
import sys
from hermes_store import SessionDB
db = SessionDB(sys.argv[1])
print(*db.store.trash.delete([f"s{number}" for number in range(40)]).session_ids)
"""


def test_two_processes_delete_the_same_sessions_at_once(db: SessionDB, path: Path) -> None:
    for number in range(40):
        parent = f"s{number - 1}" if number % 4 else None
        add(db, f"s{number}", "word", "word", at=LONG_AGO + number, parent=parent,
            ended=LONG_AGO + 99)  # fmt: skip
    before = everything(db)
    answers = [line.split() for line in processes.together(DELETE, [(path,)] * 3)]
    assert sorted(name for names in answers for name in names) == sorted(
        f"s{number}" for number in range(40)
    )
    assert db.session_count() == 0
    # On a busy machine, the trash may not be readable for a moment and appear empty.
    deadline = time.monotonic() + 60
    while sum(batch.sessions for batch in db.store.trash.list()) < 40:
        assert time.monotonic() < deadline, "sessions are missing in the trash"
        time.sleep(0.05)
    while db.session_count() < 40:
        assert time.monotonic() < deadline, "sessions did not come back"
        assert not db.store.trash.list() or db.store.trash.restore().skipped == ()
        time.sleep(0.05)
    assert db.store.trash.list() == ()
    after = everything(db)
    assert after["messages"] == before["messages"]
    assert {row[0] for row in after["sessions"]} == {row[0] for row in before["sessions"]}


def test_what_somebody_deletes_permanently_in_between_does_not_come_back(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(db, "a", "word", ended=LONG_AGO)
    add(db, "b", "word", ended=LONG_AGO)
    with SessionDB(path) as other:
        gone = lambda: other.store.trash.delete(["a"], permanently=True)  # noqa: E731
        _meddling(db, monkeypatch, {1: gone})
        assert db.store.trash.delete(["a", "b"]).session_ids == ("b",)
    (batch,) = later(db).list()
    assert batch.session_ids == ("b",)


def test_a_killed_deletion_of_what_is_deleted_permanently_then_leaves_nothing(
    db: SessionDB, path: Path
) -> None:
    add(db, "a", "word", ended=LONG_AGO)
    _killed_while("Copying to the trash", path, "a")
    assert db.store.trash.delete(["a"], permanently=True).session_ids == ("a",)
    assert later(db).list() == ()
