"""Old files are brought up to date without losing a row, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import (
    fulltext,
    migrations,
    schema,
    session_activity_table,
    trigger_fingerprint,
)
from hermes_store.engines.sqlite.file_capabilities import version
from tests.sqlite_parts import connection
from tests.store import old_files, processes
from tests.support import add, found, raw, schema_of

OPEN = """
import sys
from hermes_store import SessionDB
with SessionDB(sys.argv[1]) as db:
    print(db.message_count(), db.session_count(), len(db.search_messages("word0x0")))
"""

# Every step is reported on a line of its own, and made long enough to be interrupted.
OPEN_SLOWLY = """
import sys
from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext
fulltext.STEP_ROWS = 20
waits = True
def report(what, done, total):
    global waits
    print(done, total, flush=True)
    if waits:
        sys.stdin.readline()
        waits = False
SessionDB(sys.argv[1], progress=report).close()
print("finished", flush=True)
"""


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    con.set_busy_timeout(5_000)
    try:
        yield con
    finally:
        con.close()


def _before(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with opened(path) as con:
        return old_files.contents(con)


def _found(con: apsw.Connection, table: str, expression: str) -> list[int]:
    rows = con.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY 1", (expression,))
    return [row[0] for row in rows]


def _is_whole(con: apsw.Connection) -> None:
    """Assert that a file is a version 11 with nothing left to do."""
    assert version(con) == schema.SCHEMA_VERSION
    assert con.execute("SELECT COUNT(*) FROM schema_version").get == 1
    assert fulltext.floor(con) is None
    assert fulltext.is_external(con)
    assert fulltext.is_intact(con)
    assert session_activity_table.is_intact(con)
    assert fulltext.check(con) == []
    assert con.execute("PRAGMA integrity_check").get == "ok"
    assert con.execute("PRAGMA foreign_key_check").fetchall() == []
    for table, columns in schema.COLUMNS.items():
        present = {row[1] for row in con.execute(f"PRAGMA table_info({table})")}
        made_here = {column.name for column in schema.PLACE_COLUMNS}
        assert present - made_here == {column.name for column in columns}


def _schema(con: apsw.Connection) -> list[tuple[object, ...]]:
    return con.execute("SELECT * FROM sqlite_master ORDER BY rowid").fetchall()


@pytest.mark.parametrize("old", old_files.OLD_VERSIONS)
def test_every_row_of_an_old_file_is_kept_and_found(tmp_path: Path, old: int) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, old)
    before = _before(path)
    with SessionDB(path) as db:
        assert db.get_messages("s2")[0]["content"] == "word2x0"
        assert [row["id"] for row in db.search_messages("word1x2")] == [7]
        assert [row["id"] for row in db.list_sessions_rich()] == ["s2", "s1"]
        assert db.get_compression_tip("s0") == "s1"
        fresh = db.append_message("s2", "user", "word2x9 新しい設定")
    with opened(path) as con:
        after = old_files.contents(con)
        assert after["messages"][:-1] == before["messages"]
        _is_whole(con)
        assert _found(con, fulltext.WORDS, "word0x0 OR word2x3") == [1, 12]
        assert _found(con, fulltext.WORDS, "tool1") == [8]
        assert _found(con, fulltext.WORDS, "call2") == [12]
        assert _found(con, fulltext.WORDS, "word2x9") == [fresh]
        assert _found(con, fulltext.TRIGRAM, '"の設定"') == [2, 4, 6, 8, 10, 12]
        assert con.execute(
            "SELECT session_id, root_id, edge, listed, last_active, preview FROM session_activity "
            "WHERE session_id <> 's2' ORDER BY 1"
        ).fetchall() == [
            ("s0", "s0", "", 1, 1004.0, b"word0x0"),
            ("s1", "s0", "compression", 0, 1104.0, b"word1x0"),
        ]


@pytest.mark.parametrize("old", old_files.OLD_VERSIONS)
def test_the_second_open_writes_nothing(tmp_path: Path, old: int) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, old)
    SessionDB(path).close()
    with opened(path) as watcher:
        before = [
            watcher.execute(f"PRAGMA {name}").get for name in ("data_version", "schema_version")
        ]
        SessionDB(path).close()
        after = [
            watcher.execute(f"PRAGMA {name}").get for name in ("data_version", "schema_version")
        ]
    assert after == before


def test_a_file_without_its_version_row_counts_as_the_first(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 1)
    with opened(path) as con:
        con.execute("DROP TABLE schema_version")
    SessionDB(path).close()
    with opened(path) as con:
        _is_whole(con)
        assert _found(con, fulltext.WORDS, "word1x1") == [6]


@pytest.mark.parametrize("old", [1, 4, 10])
def test_two_processes_may_open_an_old_file_at_once(tmp_path: Path, old: int) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, old, sessions=40, messages=50)
    before = _before(path)
    answers = processes.together(OPEN, [(path,)] * 4)
    assert answers == ["2000 40 1\n"] * 4
    with opened(path) as con:
        assert old_files.contents(con) == before
        _is_whole(con)


def test_a_step_that_another_process_took_already_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 3)
    with SessionDB(path) as db, opened(path) as con:
        before = _schema(con)
        # The moment when a slower process, which saw a 3, gets the lock at last.
        for target in range(4, schema.SCHEMA_VERSION + 1):
            with db._db.write() as tx:
                migrations._run(connection(tx), migrations.MIGRATIONS[target - 2])
            assert version(con) == schema.SCHEMA_VERSION
        assert fulltext.floor(con) is None
        assert _schema(con) == before


@pytest.mark.parametrize("old", [2, 10])
def test_a_killed_migration_is_finished_by_the_next_open(tmp_path: Path, old: int) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, old, sessions=20, messages=20)
    before = _before(path)
    process = processes.start(OPEN_SLOWLY, path)
    done, total = map(int, processes.heard(process).split())
    said = processes.kill(process)
    assert 0 < done <= 20
    assert total == 400
    assert "finished" not in said
    with opened(path) as con:
        floor = fulltext.floor(con)
        assert floor is not None
        assert 1 < floor <= 381
    # A reader is not kept waiting, and what came last is found first.
    with SessionDB(path, read_only=True) as reader:
        assert reader.message_count() == 400
    heard: list[tuple[str, int, int]] = []
    with SessionDB(path, progress=lambda *report: heard.append(report)) as db:
        assert len(db.search_messages("word0x0")) == 1
    assert [total for _, _, total in heard] == [floor - 1] * len(heard)
    assert heard[-1][1] == floor - 1
    with opened(path) as con:
        assert old_files.contents(con) == before
        _is_whole(con)


def test_progress_is_heard_once_and_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "STEP_ROWS", 7)
    path = tmp_path / "state.db"
    old_files.build(path, 9, sessions=5, messages=5)
    heard: list[tuple[str, int, int]] = []
    SessionDB(path, progress=lambda *report: heard.append(report)).close()
    steps = [done for _, done, _ in heard]
    assert len(steps) == 4
    assert steps == sorted(set(steps))
    assert steps[-1] == 25
    assert {(what, total) for what, _, total in heard} == {("Indexing messages", 25)}
    heard.clear()
    SessionDB(path, progress=lambda *report: heard.append(report)).close()
    assert heard == []


def test_the_index_of_an_empty_old_file_is_finished_too(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 8, sessions=0)
    SessionDB(path).close()
    with opened(path) as con:
        _is_whole(con)


def test_titles_from_before_they_were_unique_get_numbers(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 3, sessions=4)
    with opened(path) as con:
        con.execute("UPDATE sessions SET title = 'same (2)' WHERE id = 's1'")
    with SessionDB(path) as db:
        titles = {f"s{n}": db.get_session_title(f"s{n}") for n in range(4)}
    assert titles == {"s0": "same (3)", "s1": "same (2)", "s2": "same (4)", "s3": "same"}


def test_untitled_old_sessions_stay_untitled(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 3)
    with opened(path) as con:
        con.execute("UPDATE sessions SET title = NULL")
    with SessionDB(path) as db:
        assert [db.get_session_title(f"s{n}") for n in range(3)] == [None] * 3


@pytest.mark.parametrize("newer", [12, 22, 30, 99])
def test_the_schema_of_a_newer_file_is_never_touched(tmp_path: Path, newer: int) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 10)
    with opened(path) as con:
        con.execute("CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)")
        con.execute("ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0")
        con.execute("UPDATE schema_version SET version = ?", (newer,))
        con.execute("DROP INDEX idx_sessions_title_unique")  # even what looks broken is theirs
        before = _schema(con)
        cookie = con.execute("PRAGMA schema_version").get
    with SessionDB(path) as db:
        db.create_session("mine", "cli")
        db.append_message("mine", "user", "hello newer one")
        db.set_session_title("mine", "A title")
        assert len(db.search_messages("newer")) == 1
        db.delete_session("s2")
    with opened(path) as con:
        assert _schema(con) == before
        assert con.execute("PRAGMA schema_version").get == cookie
        assert con.execute("SELECT version FROM schema_version").fetchall() == [(newer,)]
        assert con.execute("SELECT id FROM sessions ORDER BY id").fetchall() == [
            ("mine",), ("s0",), ("s1",),
        ]  # fmt: skip


def test_opening_a_new_file_twice_at_the_same_moment(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        answers = processes.together(OPEN, [(path,)] * 4)
        assert answers == ["0 0 0\n"] * 4
        with opened(path) as con:
            _is_whole(con)


def test_a_large_old_file_lets_others_write_while_it_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old_files.build(path, 10, sessions=20, messages=20)
    process = processes.start(OPEN_SLOWLY, path)
    try:
        processes.heard(process)
        with opened(path) as con:
            con.execute(
                "INSERT INTO messages(session_id, role, content, timestamp) "
                "VALUES ('s1', 'user', 'interjected 新しい設定', 5000.0)"
            )
            con.execute("DELETE FROM messages WHERE id IN (3, 395)")
            con.execute("UPDATE messages SET content = 'rewritten' WHERE id IN (5, 394)")
            assert fulltext.floor(con) is not None
            assert len(_found(con, fulltext.WORDS, "interjected")) == 1
        processes.tell(process)
        processes.finish(process)
    finally:
        if process.poll() is None:
            processes.kill(process)
    with opened(path) as con:
        _is_whole(con)
        assert _found(con, fulltext.WORDS, "rewritten") == [5, 394]
        assert con.execute("SELECT COUNT(*) FROM messages").get == 399


# -- names and versions ------------------------------------------------------------------------


def test_every_version_has_a_named_step() -> None:
    assert [each.version for each in migrations.MIGRATIONS] == list(
        range(2, schema.SCHEMA_VERSION + 1)
    )
    assert len({each.name for each in migrations.MIGRATIONS}) == len(migrations.MIGRATIONS)


@pytest.mark.parametrize("old", [1, 4, 9])
def test_steps_are_recorded_by_name(path: Path, old: int) -> None:
    old_files.build(path, old)
    with SessionDB(path) as db, db._db.read() as tx:
        names = {row[0] for row in tx.rows("SELECT key FROM state_meta")}
    applied = {name.removeprefix(migrations.RECORD) for name in names}
    for migration in migrations.MIGRATIONS:
        assert (migration.name in applied) == (migration.version > old)


def _rewrite(con: apsw.Connection, name: str) -> None:
    """Give a trigger another text with the same meaning, as another version would."""
    sql = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).get
    con.execute(f"DROP TRIGGER {name}")
    con.execute(str(sql).replace(" BEGIN ", " BEGIN  "))


@pytest.mark.parametrize(
    ("what", "name"),
    [("fulltext", "messages_fts_insert"), ("session_activity", "session_activity_say")],
)
def test_what_another_version_of_ours_made_is_left_alone(
    path: Path, what: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with SessionDB(path) as db:
        add(db, "a", "hello")
    declared = (
        fulltext.triggers() | fulltext.VIEWS
        if what == "fulltext"
        else session_activity_table.triggers()
    )
    with raw(path) as con, con:
        _rewrite(con, name)
        trigger_fingerprint.record(con, what, declared)
    before = schema_of(path)
    for _ in range(2):
        with SessionDB(path) as db:
            db.append_message("a", "user", "again")
            assert found(db, "again")
    assert schema_of(path) == before
    assert "rebuilding" not in caplog.text


@pytest.mark.parametrize("name", ["messages_fts_insert", "session_activity_say"])
def test_what_another_program_made_is_replaced(path: Path, name: str) -> None:
    with SessionDB(path) as db:
        add(db, "a", "hello")
    before = schema_of(path)
    with raw(path) as con, con:
        _rewrite(con, name)
    with SessionDB(path) as db:
        assert db.store.lists.conversations()
    assert {row[4] for row in schema_of(path)} == {row[4] for row in before}
