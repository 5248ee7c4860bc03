"""What a SessionDB raises is an error of the store and of the standard library's sqlite3."""

from __future__ import annotations

import inspect
import os
import pickle
import sqlite3
import stat
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB, errors
from hermes_store.engines.sqlite import lock_waiting
from tests.support import raw


def test_a_locked_database(db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_waiting, "MAX_TRIES", 1)
    with raw(path) as con:
        con.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            db.create_session("s", "cli")
    assert isinstance(caught.value, errors.DatabaseLocked)
    assert isinstance(caught.value.__cause__, apsw.BusyError)


def test_a_full_disk(db: SessionDB, path: Path) -> None:
    with db._db.write() as tx:
        pages = tx.value("PRAGMA page_count")
        tx.run(f"PRAGMA max_page_count = {pages}")
    db.create_session("s", "cli")
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        db.append_message("s", "user", "x" * 100_000)
    assert isinstance(caught.value, errors.DiskFull)
    assert db.message_count("s") == 0


def test_a_read_only_store(path: Path) -> None:
    SessionDB(path).close()
    with (
        SessionDB(path, read_only=True) as db,
        pytest.raises(sqlite3.OperationalError, match="read-only") as caught,
    ):
        db.set_meta("key", "value")
    assert isinstance(caught.value, errors.DatabaseReadOnly)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "state.db"
    with pytest.raises(sqlite3.OperationalError) as caught:
        SessionDB(missing, read_only=True)
    assert isinstance(caught.value, errors.DatabaseMissing)
    (tmp_path / "a file").touch()
    with pytest.raises(sqlite3.OperationalError):
        SessionDB(tmp_path / "a file" / "state.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(path: Path) -> None:
    SessionDB(path).close()
    path.chmod(stat.S_IWUSR)
    with pytest.raises(sqlite3.OperationalError):
        SessionDB(path)


def test_something_else_than_a_database(path: Path) -> None:
    path.write_bytes(b"hello there " * 400)
    with pytest.raises(sqlite3.DatabaseError) as caught:
        SessionDB(path)
    assert isinstance(caught.value, errors.NotADatabase)
    assert not isinstance(caught.value, sqlite3.OperationalError)


def test_a_damaged_database(db: SessionDB, path: Path) -> None:
    db.create_session("s", "cli")
    for number in range(200):
        db.append_message("s", "user", f"{number} " + "x" * 500)
    db.close()
    with raw(path) as con:
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").get
        size = con.execute("PRAGMA page_size").get
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    with SessionDB(path, read_only=True) as broken, pytest.raises(sqlite3.DatabaseError) as caught:
        broken.get_messages("s")
    assert isinstance(caught.value, errors.DatabaseCorrupt)
    assert not isinstance(caught.value, sqlite3.OperationalError)


def test_unknown_sessions_and_parents(db: SessionDB) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="nobody") as caught:
        db.append_message("nobody", "user", "hello")
    assert isinstance(caught.value, errors.SessionNotFound)
    assert isinstance(caught.value, LookupError)
    assert caught.value.wanted == "nobody"
    with pytest.raises(sqlite3.IntegrityError, match="nobody"):
        db.create_session("s", "cli", parent_session_id="nobody")
    assert db.session_count() == 0


def test_errors_pass_between_processes(db: SessionDB) -> None:
    with pytest.raises(errors.SessionNotFound) as caught:
        db.append_message("nobody", "user", "hello")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert (str(copy), copy.wanted) == (str(caught.value), "nobody")
    db.close()
    with pytest.raises(sqlite3.ProgrammingError) as closed:
        db.session_count()
    assert str(pickle.loads(pickle.dumps(closed.value))) == str(closed.value)


def test_a_rule_of_the_database(db: SessionDB, path: Path) -> None:
    """The reason is the one that the database gives, not a session that is there."""
    db.create_session("parent", "cli")
    db.create_session("titled", "cli")
    with raw(path) as con:
        for table, what in (("sessions", "INSERT"), ("messages", "INSERT"), ("sessions", "UPDATE")):
            con.execute(
                f"CREATE TRIGGER no_{table}_{what} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'not on {table}'); END"
            )
    with pytest.raises(sqlite3.IntegrityError, match="not on sessions") as caught:
        db.create_session("child", "cli", parent_session_id="parent")
    assert isinstance(caught.value, errors.ConstraintViolated)
    with pytest.raises(sqlite3.IntegrityError, match="not on sessions"):
        db.create_session("child", "cli")
    with pytest.raises(sqlite3.IntegrityError, match="not on messages"):
        db.append_message("parent", "user", "hello")
    with pytest.raises(sqlite3.IntegrityError, match="not on sessions"):
        db.set_session_title("titled", "a title")


def test_a_closed_store(db: SessionDB) -> None:
    db.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.session_count()
    with pytest.raises(errors.StoreError, match="closed"):
        db.create_session("s", "cli")


def test_refused_titles_stay_value_errors(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.create_session("b", "cli")
    db.set_session_title("a", "mine")
    with pytest.raises(ValueError, match="already in use") as caught:
        db.set_session_title("b", "mine")
    assert not isinstance(caught.value, sqlite3.Error)
    with pytest.raises(ValueError, match="too long"):
        db.sanitize_title("x" * 101)


def test_arguments_that_are_not_valid_are_value_errors(db: SessionDB) -> None:
    db.create_session("a", "cli")
    with pytest.raises(ValueError, match="not a valid timestamp") as caught:
        db.append_message("a", "user", "hello", timestamp=float("nan"))
    assert isinstance(caught.value, errors.InvalidInput)
    assert not isinstance(caught.value, sqlite3.Error)


def test_the_store_itself_raises_only_its_own(db: SessionDB) -> None:
    with pytest.raises(errors.SessionNotFound) as caught:
        db.store.messages.append("nobody", {"role": "user"})
    assert not isinstance(caught.value, sqlite3.Error)


def test_methods_keep_their_signatures() -> None:
    parameters = inspect.signature(SessionDB.end_session).parameters
    assert list(parameters) == ["self", "session_id", "end_reason"]
    assert SessionDB.end_session.__doc__
