"""Has anything changed? Whatever happens to the file, the question is answered and never raises."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import lock_waiting
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.engines.sqlite.watch import SqliteWatch
from tests.store import newer
from tests.store.processes import run, running
from tests.support import add, raw

SAY = """
import sys
from hermes_store import SessionDB
with SessionDB(sys.argv[1]) as db:
    db.append_message("a", "user", "from afar")
"""
LOCK = """
import sys, apsw
con = apsw.Connection(sys.argv[1])
con.execute("PRAGMA locking_mode = EXCLUSIVE")
con.execute("BEGIN EXCLUSIVE")
con.execute("UPDATE sessions SET title = 'held'")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def watch(path: Path) -> Iterator[SqliteWatch]:
    with closing(SqliteWatch(path)) as watching:
        yield watching


@pytest.fixture
def spoken(db: SessionDB, watch: SqliteWatch) -> SessionDB:
    """A store with a session, which the watch has seen."""
    add(db, "a", "hello")
    assert not watch.changed()
    return db


def test_nothing_happens_and_nothing_is_said(spoken: SessionDB, watch: SqliteWatch) -> None:
    spoken.list_sessions_rich()
    assert [watch.changed() for _ in range(3)] == [False] * 3


def test_a_commit_is_told_once(spoken: SessionDB, watch: SqliteWatch) -> None:
    for _ in range(3):
        spoken.append_message("a", "user", "more")
        assert watch.changed()
        assert not watch.changed()
    spoken.append_message("a", "user", "two")
    spoken.append_message("a", "user", "at once")
    assert [watch.changed(), watch.changed()] == [True, False]


def test_what_is_rolled_back_is_no_change(
    spoken: SessionDB, watch: SqliteWatch, path: Path
) -> None:
    with raw(path) as con:
        con.execute("BEGIN IMMEDIATE")
        con.execute("UPDATE sessions SET title = 'x'")
        assert not watch.changed()
        con.execute("ROLLBACK")
    assert not watch.changed()


def test_another_process_is_heard(spoken: SessionDB, watch: SqliteWatch, path: Path) -> None:
    run(SAY, path)
    assert [watch.changed(), watch.changed()] == [True, False]


def test_the_same_file_can_be_watched_twice(
    spoken: SessionDB, watch: SqliteWatch, path: Path
) -> None:
    with closing(SqliteWatch(path)) as other:
        assert not other.changed()
        spoken.append_message("a", "user", "more")
        assert watch.changed()
        assert other.changed()


def test_a_file_without_a_log_is_watched_too(path: Path) -> None:
    newer.make(path)
    with raw(path) as con, closing(SqliteWatch(path)) as watch:
        con.execute("PRAGMA journal_mode = DELETE")
        assert not watch.changed()
        con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('a', 'cli', 1)")
        assert [watch.changed(), watch.changed()] == [True, False]


# -- files that come and go --------------------------------------------------------------------


def test_a_file_that_appears_is_a_change(watch: SqliteWatch, path: Path) -> None:
    assert [watch.changed(), watch.changed()] == [False, False]
    with SessionDB(path) as db:
        assert watch.changed()
        assert not watch.changed()
        add(db, "a", "x")
        assert watch.changed()


def test_the_folder_may_be_missing_as_well(tmp_path: Path) -> None:
    path = tmp_path / "not yet" / "state.db"
    with closing(SqliteWatch(path)) as watch:
        assert [watch.changed(), watch.changed()] == [False, False]
        SessionDB(path).close()
        assert watch.changed()


def test_another_file_in_its_place_is_a_change(
    spoken: SessionDB, watch: SqliteWatch, path: Path, tmp_path: Path
) -> None:
    spoken.close()
    other = tmp_path / "other.db"
    with SessionDB(other) as db:
        add(db, "b", "x")
    for name in (f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
    watch.changed()
    other.replace(path)
    assert [watch.changed(), watch.changed()] == [True, False]
    with SessionDB(path) as db:
        add(db, "c", "x")
    assert watch.changed()


def test_a_deleted_file_is_a_change(spoken: SessionDB, watch: SqliteWatch, path: Path) -> None:
    spoken.close()
    path.unlink()
    assert [watch.changed(), watch.changed()] == [True, False]
    SessionDB(path).close()
    assert [watch.changed(), watch.changed()] == [True, False]


# -- the companion -----------------------------------------------------------------------------


def test_a_mark_is_a_change(spoken: SessionDB, watch: SqliteWatch, path: Path) -> None:
    assert not path_for(path).exists()
    spoken.store.marks.pin("a")
    assert path_for(path).exists()
    assert [watch.changed(), watch.changed()] == [True, False]
    changes: tuple[Callable[[], object], ...] = (
        lambda: spoken.store.marks.unpin("a"),
        lambda: spoken.store.marks.tag("a", "x"),
        lambda: spoken.store.marks.pin("a"),
    )
    for change in changes:
        change()
        assert [watch.changed(), watch.changed()] == [True, False]


def test_a_companion_that_is_gone_is_a_change(
    spoken: SessionDB, watch: SqliteWatch, path: Path
) -> None:
    spoken.store.marks.pin("a")
    watch.changed()
    spoken.close()
    watch.changed()
    path_for(path).unlink()
    assert watch.changed()


# -- trouble -----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"no database at all" * 99, b"SQLite format 3\0" * 99])
def test_a_file_that_is_no_database_does_not_raise(
    watch: SqliteWatch, path: Path, content: bytes
) -> None:
    path.write_bytes(content)
    assert [watch.changed(), watch.changed()] == [False, False]
    path.unlink()
    with SessionDB(path) as db:
        assert watch.changed()
        add(db, "a", "x")
        assert watch.changed()


def test_a_folder_in_its_place_does_not_raise(watch: SqliteWatch, path: Path) -> None:
    path.mkdir()
    assert [watch.changed(), watch.changed()] == [False, False]
    path.rmdir()
    assert watch.changed()


def test_a_file_that_breaks_while_it_is_watched_does_not_raise(path: Path) -> None:
    newer.make(path)
    with raw(path) as con:
        con.execute("PRAGMA journal_mode = DELETE")
    with closing(SqliteWatch(path)) as watch:
        assert not watch.changed()
        with path.open("r+b") as file:
            file.write(os.urandom(4_096))
        assert watch.changed()
        assert not watch.changed()


def test_a_file_locked_by_another_process_is_asked_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.01)
    newer.make(path)
    with raw(path) as con:
        con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('a', 'cli', 1)")
        con.execute("PRAGMA journal_mode = DELETE")
    with closing(SqliteWatch(path)) as watch:
        assert not watch.changed()
        # The lock is held until the block ends, so an answer inside it did not wait.
        with running(LOCK, path) as holder:
            with raw(path) as con, pytest.raises(apsw.BusyError):
                con.set_busy_timeout(0)
                con.execute("SELECT 1 FROM sessions").fetchall()
            answers = [watch.changed() for _ in range(3)]
            assert answers[1:] == [False, False]
            assert holder.poll() is None
        watch.changed()
        assert not watch.changed()
        with raw(path) as con:
            con.execute("UPDATE sessions SET title = 'free again'")
        assert watch.changed()


def test_closing_twice_is_fine_and_asking_again_opens(
    spoken: SessionDB, watch: SqliteWatch
) -> None:
    watch.close()
    watch.close()
    watch.changed()
    spoken.append_message("a", "user", "more")
    assert watch.changed()


def test_the_last_to_close_leaves_the_log_in_place(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "a", "hello")
    log = path.with_name(path.name + "-wal")
    before = log.stat()
    with closing(SqliteWatch(path)) as watch:
        assert not watch.changed()
    after = log.stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
