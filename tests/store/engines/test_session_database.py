"""Connections beside other programs: rights, locks, logs, and what happens when they end."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import checkpoint, lock_waiting, session_database
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.errors import DatabaseLocked, DatabaseReadOnly, StoreError
from tests.store import processes
from tests.support import LONG_AGO, add

# Holds a lock of the given kind, with a row nobody may see, until it is told to let go.
HOLD = """
import apsw, sys
con = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READWRITE)
con.execute("BEGIN " + sys.argv[2])
con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('held', 'cli', 1.0)")
print("ready", flush=True)
sys.stdin.readline()
con.execute("ROLLBACK")
con.close()
"""

# A program with the file open; every line it is sent becomes a message.
LIVE = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1], isolation_level=None)
con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('live', 'cli', 1.0)")
if sys.argv[2] == "locks lost":
    open(sys.argv[1], "rb").close()  # POSIX: any close of the file ends this process's locks
print("ready", flush=True)
for line in sys.stdin:
    con.execute("INSERT INTO messages(session_id, role, content, timestamp) "
                "VALUES ('live', 'user', ?, 2.0)", (line.strip(),))
    print(con.execute("SELECT COUNT(*) FROM messages").fetchone()[0], flush=True)
"""

READ = """
import sys
from hermes_store import SessionDB, StoreError
from tests import rights
try:
    with rights.respected(), SessionDB(sys.argv[1], read_only=True) as db:
        print([row["content"] for row in db.get_messages("s")], len(db.search_messages("hello")))
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a database with one session and one message."""
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "hello")
    return path


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


# -- rights ------------------------------------------------------------------------------------


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with SessionDB(tmp_path / "home" / "deep" / "state.db") as db:
            db.create_session("s", "cli")
            folder = tmp_path / "home" / "deep"
            rights = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()}
    finally:
        os.umask(before)
    assert rights == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm"), 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_rights_of_an_existing_file_are_left_alone(path: Path) -> None:
    path.chmod(0o640)
    SessionDB(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.fixture
def protected() -> Iterator[Path]:
    """A database in a folder that the reading process may not write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SessionDB(folder / "state.db") as db:
            db.create_session("s", "cli")
            db.append_message("s", "user", "hello")
        for entry in folder.iterdir():
            entry.chmod(0o644)
        folder.chmod(0o555)
        yield folder / "state.db"
        folder.chmod(0o755)


def _read_without_rights(path: Path) -> str:
    return processes.run(READ, path).strip()


def _remove(folder: Path, *names: str) -> None:
    folder.chmod(0o755)
    for each in names:
        (folder / each).unlink()
    folder.chmod(0o555)


def test_a_protected_folder_is_read_through_the_log_that_is_there(protected: Path) -> None:
    assert _read_without_rights(protected) == "['hello'] 1"


def test_a_protected_folder_without_a_log_is_read(protected: Path) -> None:
    _remove(protected.parent, "state.db-wal", "state.db-shm")
    assert _read_without_rights(protected) == "['hello'] 1"
    assert [entry.name for entry in protected.parent.iterdir()] == ["state.db"]


def test_a_protected_folder_with_an_unmerged_log_is_refused_with_a_way_out(
    protected: Path,
) -> None:
    _remove(protected.parent, "state.db-wal", "state.db-shm")
    protected.parent.chmod(0o755)
    with tempfile.TemporaryDirectory() as name, SessionDB(Path(name) / "state.db") as db:
        db.create_session("s", "cli")
        for each in ("state.db", "state.db-wal"):
            shutil.copy(Path(name) / each, protected.parent / each)
            (protected.parent / each).chmod(0o644)
    protected.parent.chmod(0o555)
    answer = _read_without_rights(protected)
    assert answer.startswith("DatabaseUnreadable")
    assert "state.db-wal" in answer


# -- locks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_reader_works_while_another_program_writes(path: Path, kind: str) -> None:
    with processes.running(HOLD, path, kind) as holder:
        with SessionDB(path, read_only=True) as db:
            assert db.session_count() == 1
            assert len(db.search_messages("hello")) == 1
        assert holder.poll() is None  # it holds its lock until it is told to go on


def test_a_reader_never_stands_in_the_way_of_a_writer(path: Path) -> None:
    with SessionDB(path, read_only=True) as reader, reader._db.read() as view:
        assert view.value("SELECT COUNT(*) FROM messages") == 1
        with processes.running(HOLD, path, "IMMEDIATE") as other:
            processes.tell(other)
            processes.finish(other)
        with SessionDB(path) as writer:
            writer.append_message("s", "user", "meanwhile")
        assert view.value("SELECT COUNT(*) FROM messages") == 1
    with SessionDB(path, read_only=True) as reader:
        assert reader.message_count() == 2


def test_a_read_only_store_refuses_to_write(path: Path) -> None:
    with SessionDB(path, read_only=True) as db:
        with pytest.raises(DatabaseReadOnly, match="read-only"):
            db.append_message("s", "user", "no")
        assert db.message_count() == 1


def test_a_lock_that_is_let_go_in_time_is_waited_for(path: Path) -> None:
    with SessionDB(path) as db, processes.running(HOLD, path, "IMMEDIATE") as other:
        timer = threading.Timer(1.5, processes.tell, (other,))
        timer.start()
        db.append_message("s", "user", "patient")
        timer.join()
        assert db.message_count() == 2


def test_a_lock_that_stays_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_waiting, "MAX_TRIES", 3)
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.05)
    with SessionDB(path) as db, processes.running(HOLD, path, "IMMEDIATE") as other:
        with pytest.raises(DatabaseLocked, match=r"state\.db stayed locked"):
            db.append_message("s", "user", "refused")
        processes.tell(other)
        processes.finish(other)
        db.append_message("s", "user", "accepted")
        assert [m["content"] for m in db.get_messages("s")] == ["hello", "accepted"]


def test_a_file_system_without_logs_works_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.db"
    with caplog.at_level(logging.WARNING):
        for number in range(2):
            db = SqliteDatabase(path, vfs="unix-dotfile")
            with db.write() as tx:
                tx.run("INSERT INTO sessions(id, source, started_at) VALUES (?, 'cli', 1.0)",
                       (f"s{number}",))  # fmt: skip
            with db.read() as tx:
                assert tx.value("SELECT COUNT(*) FROM sessions") == number + 1
                assert tx.value("PRAGMA journal_mode") == "delete"
            db.close()
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    assert not _log(path).exists()


def test_durability_cannot_be_turned_off(path: Path) -> None:
    with pytest.raises(ValueError, match="Use 'FULL' or 'NORMAL'"):
        SessionDB(path, synchronous="OFF")  # type: ignore[arg-type]


# -- sharing and transactions ------------------------------------------------------------------


def test_eight_threads_share_one_store(path: Path) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            db.create_session(f"t{number}", "cli")
            for place in range(50):
                db.append_message(f"t{number}", "user", f"thread{number} {place}")
                assert db.message_count(f"t{number}") == place + 1
                assert len(db.search_messages(f"thread{number}", limit=99)) == place + 1
        except BaseException as error:
            errors.append(error)

    with SessionDB(path, synchronous="NORMAL") as db:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert db.message_count() == 401


def test_a_write_inside_a_write_joins_it(path: Path) -> None:
    with SessionDB(path) as db:
        with pytest.raises(RuntimeError), db._db.write():
            db.create_session("inner", "cli")
            with db._db.write():
                db.append_message("inner", "user", "gone with the rest")
            raise RuntimeError
        assert db.get_session("inner") is None
        assert db.message_count() == 1
        assert db.search_messages("gone") == []
        with db._db.write():
            db.create_session("inner", "cli")
            db.append_message("inner", "user", "stays")
        assert db.message_count("inner") == 1


def test_an_error_in_the_middle_leaves_nothing(path: Path) -> None:
    class Unbindable:
        pass

    with SessionDB(path) as db:
        with pytest.raises(TypeError):
            db.replace_messages("s", [{"role": "user", "content": "new"},
                                      {"role": "user", "tool_name": Unbindable()}])  # fmt: skip
        assert [m["content"] for m in db.get_messages("s")] == ["hello"]
        assert len(db.search_messages("hello")) == 1


def test_a_closed_store_says_so(path: Path) -> None:
    db = SessionDB(path)
    db.close()
    db.close()
    for use in (lambda: db.message_count(), lambda: db.create_session("x", "cli")):
        with pytest.raises(StoreError, match="closed"):
            use()


# -- the log -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["locks held", "locks lost"])
def test_the_log_of_a_living_program_outlives_our_close(path: Path, state: str) -> None:
    with processes.running(LIVE, path, state) as other:
        inode = _log(path).stat().st_ino
        for number in range(3):
            with SessionDB(path) as db:
                db.append_message("s", "user", f"ours {number}")
            assert _log(path).stat().st_ino == inode
            processes.tell(other, f"theirs {number}")
            assert processes.heard(other) == str(2 * number + 3)
    with SessionDB(path) as db:
        assert [m["content"] for m in db.get_messages("live")] == [
            "theirs 0", "theirs 1", "theirs 2",
        ]  # fmt: skip


def test_closing_leaves_the_log_in_place_and_empty(path: Path) -> None:
    inode = _log(path).stat().st_ino
    with SessionDB(path) as db:
        db.append_message("s", "user", "more")
        assert _log(path).stat().st_size > 0
    assert (_log(path).stat().st_ino, _log(path).stat().st_size) == (inode, 0)


def test_an_old_view_makes_the_log_grow_with_one_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY_PAGES", 50)
    monkeypatch.setattr(checkpoint, "RESTART_PAGES", 300)
    monkeypatch.setattr(checkpoint, "WARN_PAGES", 300)
    monkeypatch.setattr(session_database, "SIZE_LIMIT", 200_000)
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.01)
    text = "words that fill some pages " * 400
    with SessionDB(path, synchronous="NORMAL") as db, SessionDB(path, read_only=True) as reader:
        with caplog.at_level(logging.WARNING, logger="hermes_store.checkpoint"):
            with reader._db.read() as view:
                assert view.value("SELECT COUNT(*) FROM messages") == 1
                for _ in range(300):
                    db.append_message("s", "user", text)
                grown = _log(path).stat().st_size
            assert len(caplog.records) == 1
            assert str(path) in caplog.text
            for _ in range(150):
                db.append_message("s", "user", text)
        assert grown > 300 * 4096
        assert _log(path).stat().st_size < grown / 2
        assert len(caplog.records) == 1


# -- the real file -----------------------------------------------------------------------------


def test_a_symbolic_link_leads_to_the_file_and_what_is_beside_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "state.db", tmp_path / "link" / "state.db"
    link.parent.mkdir()
    real.parent.mkdir()
    link.symlink_to(real)
    with SessionDB(link) as db:
        add(db, "a", "hello", ended=LONG_AGO + 5)
        assert db.db_path == real
        db.store.trash.delete(["a"])
        add(db, "b", "hello again")
        db.store.search.prepare()
    assert [path.name for path in link.parent.iterdir()] == ["state.db"]
    beside = {path.name for path in real.parent.iterdir()}
    assert {"state.db", "state.db.companion", "state.db.words"} <= beside
    with SessionDB(real) as db:
        assert db.store.trash.restore().session_ids == ("a",)


def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with SessionDB("state.db") as db:
        monkeypatch.chdir(elsewhere)
        add(db, "a", "hello", ended=LONG_AGO + 5)
        assert db.message_count() == 1
        db.store.trash.delete(["a"])
        db.store.marks.archive(add(db, "b", "hello"))
    assert not list(elsewhere.iterdir())
    with SessionDB(tmp_path / "state.db", read_only=True) as db:
        assert db.store.trash.list() and db.store.marks.of(["b"])["b"].archived
