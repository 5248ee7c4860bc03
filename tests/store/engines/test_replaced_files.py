"""Logs and files that others remove, replace or leave behind while a store has them open.

What the store has acknowledged is in the file that is there now, or an error says otherwise.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import lasting_locks, lock_waiting, sqlite_file
from hermes_store.engines.sqlite.sqlite_file import SqliteFile
from hermes_store.engines.sqlite.watch import SqliteWatch
from hermes_store.errors import (
    ChangeUncertain,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseReplaced,
    DatabaseUnreadable,
    StoreError,
)
from tests.sqlite_parts import sqlite
from tests.store import processes
from tests.support import raw

LOCKS = pytest.mark.parametrize("locks", [True, False], ids=["lasting locks", "own locks only"])

SECOND_LIBRARY = """
import os, signal, sqlite3, sys
from hermes_store import SessionDB
from hermes_store.engines.sqlite import lasting_locks

lasting_locks.OFFERED = lasting_locks.OFFERED and sys.argv[2] == "True"
db = SessionDB(sys.argv[1])
db.create_session("s", "cli")
db.append_message("s", "user", "first")
for turn in range(4):
    other = sqlite3.connect(sys.argv[1])
    other.execute("SELECT COUNT(*) FROM messages").fetchall()
    other.close()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(5):
        db.append_message("s", "user", f"{turn} {number}")
print("acknowledged", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

WRITER = """
import sys
from hermes_store import SessionDB

with SessionDB(sys.argv[1]) as db:
    db.ensure_session("beside", "cli")
    for number in range(5):
        db.append_message("beside", "user", f"beside {number}")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a database with one session and one message."""
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "hello")
    return path


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    with SessionDB(path) as db:
        yield db


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _texts(path: Path, session_id: str = "s") -> list[str]:
    with SessionDB(path, read_only=True) as db:
        return [message["content"] for message in db.get_messages(session_id)]


def _is_sound(path: Path) -> bool:
    with raw(path) as con:
        con.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)")
        return bool(con.execute("PRAGMA integrity_check").get == "ok")


# -- Python's own sqlite3 in the same process ----------------------------------------------------


@LOCKS
def test_python_s_sqlite3_in_the_same_process_loses_nothing(tmp_path: Path, locks: bool) -> None:
    path = tmp_path / "state.db"
    with processes.running(SECOND_LIBRARY, path, str(locks)) as process:
        for turn in range(4):
            if turn:
                assert processes.heard(process) == "ready"
            processes.run(WRITER, path)
            processes.tell(process)
        assert processes.heard(process) == "acknowledged"
        process.wait(60)
    assert len(_texts(path)) == 21
    assert len(_texts(path, "beside")) == 20
    assert _is_sound(path)


@pytest.mark.skipif(not lasting_locks.OFFERED, reason="no lasting locks on this system")
def test_it_does_not_even_take_the_log_away(path: Path, db: SessionDB) -> None:
    inode = _log(path).stat().st_ino
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT COUNT(*) FROM messages").fetchone() == (1,)
    assert _log(path).stat().st_ino == inode
    db.close()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT COUNT(*) FROM messages").fetchone() == (1,)
    assert not _log(path).exists()  # nobody else: it cleans up as it should


def test_readers_notice_as_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_locks, "OFFERED", False)
    with SessionDB(path) as writer, SessionDB(path, read_only=True) as reader:
        writer.append_message("s", "user", "before")
        assert reader.message_count() == 2
        with closing(sqlite3.connect(path)) as other:
            other.execute("SELECT COUNT(*) FROM messages").fetchone()
        assert not _log(path).exists()
        processes.run(WRITER, path)
        assert reader.message_count() == 7
        writer.append_message("s", "user", "after")
        assert reader.message_count() == 8
    assert _is_sound(path)


def test_sql_of_your_own_has_a_safe_connection(path: Path) -> None:
    with Store(path) as store:
        with store.snapshot() as view:
            assert view.value("SELECT COUNT(*) FROM messages") == 1
            assert list(view.rows("SELECT id FROM sessions WHERE source = ?", ("cli",))) == [("s",)]
        with pytest.raises(DatabaseReadOnly), store.snapshot() as view:
            view.run("DELETE FROM messages")
        store.messages.append("s", {"role": "user", "content": "more"})
    assert _texts(path) == ["hello", "more"]


# -- a log that is removed -----------------------------------------------------------------------


def test_a_log_that_is_removed_is_noticed_before_the_next_change(path: Path, db: SessionDB) -> None:
    db.append_message("s", "user", "in the log")
    sqlite(db.store.database).truncate_log()
    _log(path).unlink()
    path.with_name("state.db-shm").unlink()
    db.append_message("s", "user", "after")
    assert _texts(path) == ["hello", "in the log", "after"]
    assert _is_sound(path)


def test_a_log_that_vanishes_inside_a_transaction_stops_it(path: Path, db: SessionDB) -> None:
    with pytest.raises(DatabaseReplaced, match="Nothing was changed"), db._db.write() as tx:
        tx.run("UPDATE sessions SET title = 'new'")
        _log(path).rename(path.with_name("taken"))
    path.with_name("taken").rename(_log(path))
    assert db.get_session("s")["title"] is None  # type: ignore[index]
    db.append_message("s", "user", "goes on")
    assert _texts(path) == ["hello", "goes on"]


def test_a_log_that_vanishes_during_the_commit_is_not_acknowledged(
    path: Path, db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lock_waiting.retried

    def and_lose_the_log(con: apsw.Connection, sql: str) -> None:
        commit(con, sql)
        if sql == "COMMIT":
            _log(path).unlink()

    monkeypatch.setattr(sqlite_file, "retried", and_lose_the_log)
    with pytest.raises(ChangeUncertain, match="check before you repeat it"):
        db.append_message("s", "user", "perhaps")


def test_a_long_reader_keeps_the_old_log_from_being_mixed_with_the_new(
    path: Path, db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "RELEASE_SECONDS", 0.2)
    with SessionDB(path, read_only=True) as other:
        with other._db.read() as view:
            assert view.value("SELECT COUNT(*) FROM messages") == 1
            _log(path).unlink()
            with pytest.raises(DatabaseReplaced, match="Try again"):
                db.append_message("s", "user", "refused")
        db.append_message("s", "user", "accepted")
    assert _texts(path) == ["hello", "accepted"]


# -- a database that is replaced -------------------------------------------------------------------


def _other_database(path: Path) -> Path:
    other = path.with_name("other.db")
    with SessionDB(other) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "of the other file")
    for ending in ("-wal", "-shm"):
        Path(f"{other}{ending}").unlink()
    return other


def test_what_is_written_after_a_replacement_is_in_the_new_file(path: Path, db: SessionDB) -> None:
    other = _other_database(path)
    db.append_message("s", "user", "in the old log")
    path.rename(path.with_name("old.db"))
    other.rename(path)
    db.append_message("s", "user", "after")
    assert _texts(path) == ["of the other file", "after"]
    assert _is_sound(path)
    # The log of the old file went into the old file, not into the new one.
    assert _texts(path.with_name("old.db")) == ["hello", "in the old log"]


def test_a_reader_that_cannot_empty_the_old_log_refuses_the_mixture(path: Path) -> None:
    script = """
import sys, os, signal
from hermes_store import SessionDB
db = SessionDB(sys.argv[1])
db.append_message("s", "user", "only in the log")
os.kill(os.getpid(), signal.SIGKILL)
"""
    other = _other_database(path)
    processes.die(script, path)
    with SessionDB(path, read_only=True) as db:
        assert db.message_count() == 2
        other.rename(path)
        with pytest.raises(DatabaseReplaced, match="belongs to the earlier file"):
            db.message_count()


def test_a_deleted_file_is_not_made_again_by_an_open_store(path: Path, db: SessionDB) -> None:
    path.unlink()
    with pytest.raises(DatabaseMissing):
        db.append_message("s", "user", "nowhere")
    assert not path.exists()


def test_two_threads_get_over_a_replacement(path: Path, db: SessionDB) -> None:
    other = _other_database(path)
    stop, counts, failures = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            try:
                counts.append(db.message_count())
            except (DatabaseReplaced, DatabaseMissing):
                continue
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(2)]
    with closing(SqliteWatch(path)) as watch:
        watch.changed()
        for thread in threads:
            thread.start()
        other.replace(path)
        db.append_message("s", "user", "after")
        stop.set()
        for thread in threads:
            thread.join()
        assert watch.changed()
    assert failures == []
    assert _texts(path) == ["of the other file", "after"]


def test_a_reader_that_is_just_opened_gets_over_a_replacement(
    path: Path, db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.append_message("s", "user", "before")  # so that a connection is open
    others = [_other_database(path)]
    open_reader = SqliteFile._open_reader

    def replaced_first(file: SqliteFile) -> apsw.Connection:
        while others:
            others.pop().replace(path)
        return open_reader(file)

    monkeypatch.setattr(SqliteFile, "_open_reader", replaced_first)
    file = sqlite(db.store.database)._file
    while file._idle:
        file.discard(file.take_reader())
    assert db.message_count() == 1
    assert others == []
    assert _texts(path) == ["of the other file"]


MESSAGES = 400
"""Enough for several checkpoints."""


def _replace(path: Path) -> None:
    """Put a copy in place, as restoring a backup does."""
    copy = path.with_name("backup")
    shutil.copy(path, copy)
    os.replace(copy, path)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink()


@pytest.mark.parametrize("harm", [_replace, _remove])
def test_what_is_acknowledged_is_in_the_file(path: Path, harm: Callable[[Path], None]) -> None:
    with Store(path) as store:
        store.sessions.start("a", "cli")
        store.upkeep.optimize()
    acknowledged = []
    with Store(path) as store:
        store.messages.append("a", {"role": "user", "content": "before"})
        harm(path)
        for number in range(MESSAGES):
            try:
                store.messages.append("a", {"role": "user", "content": f"new {number}"})
            except StoreError as error:
                assert str(error).endswith(".")
            else:
                acknowledged.append(f"new {number}")
    with Store(path) as store:
        there = {each.content for each in store.messages.of("a")}
    assert set(acknowledged) <= there
    assert _is_sound(path)


@pytest.mark.parametrize("name", ["backup", "emptier backup"])
def test_a_backup_copied_over_a_closed_database_is_what_is_read(tmp_path: Path, name: str) -> None:
    path, backup = tmp_path / "state.db", tmp_path / "backup.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        if name == "backup":
            db.append_message("s", "user", "in the backup")
    shutil.copy(path, backup)
    with SessionDB(path) as db:
        for number in range(300):
            db.append_message("s", "user", f"newer {number}")
    assert _log(path).stat().st_size == 0
    shutil.copy(backup, path)
    assert _texts(path) == (["in the backup"] if name == "backup" else [])
    assert _is_sound(path)


# -- a hot rollback journal ------------------------------------------------------------------------

TORN = """
import os, signal, sys
import apsw

con = apsw.Connection(sys.argv[1])
con.execute("PRAGMA journal_mode = DELETE")
con.execute("PRAGMA cache_size = 5")
con.execute("BEGIN IMMEDIATE")
for number in range(300):
    con.execute("INSERT INTO messages(session_id, role, content, timestamp) "
                "VALUES ('s', 'user', ?, 1)", ("never committed " * 50,))
con.cache_flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_unfinished_change_is_never_read(path: Path) -> None:
    processes.die(TORN, path)
    assert path.with_name("state.db-journal").stat().st_size > 0
    with pytest.raises(DatabaseUnreadable, match=r"state\.db-journal is needed to undo it"):
        SessionDB(path, read_only=True)
    with SessionDB(path) as db:  # a writer may undo it
        assert db.message_count() == 1
    assert _texts(path) == ["hello"]
    assert _is_sound(path)


def test_a_journal_that_is_only_kept_for_the_next_time_does_not_matter(path: Path) -> None:
    with raw(path) as con:
        con.execute("PRAGMA journal_mode = PERSIST")
        con.execute("UPDATE sessions SET title = 'kept'")
    assert path.with_name("state.db-journal").exists()
    with SessionDB(path, read_only=True) as db:
        assert db.session_count() == 1
