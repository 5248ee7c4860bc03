"""Both indexes say what the messages say, also when others write to the file or take it apart."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext, session_activity_table
from hermes_store.records.message_content import MARKER
from tests.sqlite_parts import connection
from tests.store import processes
from tests.support import LONG_AGO, add

CJK_LETTERS = "前回の設定を確認テスト한국어"


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """Open a file the way any other program does."""
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        yield con
    finally:
        con.close()


def found(con: apsw.Connection, expression: str, table: str = fulltext.WORDS) -> list[int]:
    rows = con.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY 1", (expression,))
    return [row[0] for row in rows]


def assert_consistent(con: apsw.Connection) -> None:
    """Assert that FTS5 finds no fault, and that exactly the right rows are in the trigrams."""
    assert fulltext.check(con) == []
    rows = con.execute("SELECT id, content, tool_name, tool_calls FROM messages").fetchall()
    inside = {row[0] for row in con.execute(f"SELECT id FROM {fulltext.TRIGRAM}_docsize")}
    assert inside == {row[0] for row in rows if any(c in CJK_LETTERS for c in _joined(row[1:]))}


def _joined(values: tuple[Any, ...]) -> str:
    return " ".join(v.decode() if isinstance(v, bytes) else v or "" for v in values)


# -- triggers ----------------------------------------------------------------------------------

multimodal = st.just(MARKER + json.dumps([{"type": "text", "text": "前回の設定"}]))
plain = st.text(st.sampled_from("ab \x00\n\"'é😀" + CJK_LETTERS), max_size=12)
text = st.one_of(
    st.none(), plain, multimodal, st.just(MARKER + "[]"), plain.map(lambda value: value.encode())
)
change = st.tuples(
    st.sampled_from(("insert", "insert", "update", "calls", "touch", "delete")),
    st.integers(0, 12),
    text,
    text,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    with SessionDB(tmp_path_factory.mktemp("fulltext") / "state.db") as db:
        db.create_session("s", "cli")
        yield db


class Undo(Exception):
    """Ends a trial so that everything it wrote is rolled back."""


@contextmanager
def trial(db: SessionDB) -> Iterator[apsw.Connection]:
    try:
        with db._db.write() as tx:
            yield connection(tx)
            raise Undo
    except Undo:
        pass


def make(con: apsw.Connection, what: str, nth: int, one: Any, two: Any) -> None:
    ids = [row[0] for row in con.execute("SELECT id FROM messages ORDER BY id")]
    target = ids[nth % len(ids)] if ids else None
    if what == "insert":
        con.execute(
            "INSERT INTO messages(session_id, role, content, tool_name, timestamp) "
            "VALUES ('s', 'user', ?, ?, 1.0)",
            (one, two),
        )
    elif what == "update":
        con.execute("UPDATE messages SET content = ? WHERE id = ?", (one, target))
    elif what == "calls":
        con.execute(
            "UPDATE messages SET tool_calls = ?, tool_name = ? WHERE id = ?", (one, two, target)
        )
    elif what == "touch":
        con.execute(
            "UPDATE messages SET token_count = 1, content = content WHERE id = ?", (target,)
        )
    else:
        con.execute("DELETE FROM messages WHERE id = ?", (target,))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(change, min_size=1, max_size=20))
def test_triggers_keep_both_indexes_consistent(
    shared: SessionDB, script: list[tuple[str, int, Any, Any]]
) -> None:
    with trial(shared) as con:
        for what, nth, one, two in script:
            make(con, what, nth, one, two)
        assert_consistent(con)
        con.execute("DELETE FROM messages")
        assert_consistent(con)
        assert con.execute("SELECT COUNT(*) FROM messages_fts_docsize").get == 0


# -- rebuilding --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(text, max_size=15),
    script=st.lists(st.none() | change, max_size=20),
)
def test_a_rebuild_in_steps_stays_consistent_whatever_is_written_in_between(
    shared: SessionDB, rows: list[Any], script: list[tuple[str, int, Any, Any] | None]
) -> None:
    with pytest.MonkeyPatch.context() as patch, trial(shared) as con:
        patch.setattr(fulltext, "STEP_ROWS", 3)
        for content in rows:
            make(con, "insert", 0, content, None)
        fulltext.start_rebuild(con)
        for entry in script:
            if entry is None:
                fulltext.rebuild_step(con)
            else:
                make(con, *entry)
        while fulltext.rebuild_step(con) is not None:
            pass
        assert fulltext.floor(con) is None
        assert fulltext.is_intact(con)
        assert_consistent(con)
        make(con, "insert", 0, "前回の後", None)
        assert_consistent(con)


def test_a_rebuild_brings_back_the_newest_messages_first(
    shared: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STEP_ROWS", 10)
    with trial(shared) as con:
        for _ in range(35):
            make(con, "insert", 0, "needle 前回の設定", None)
        ids = [row[0] for row in con.execute("SELECT id FROM messages ORDER BY id")]
        fulltext.start_rebuild(con)
        assert found(con, "needle") == []
        make(con, "insert", 0, "needle", None)
        newest = con.last_insert_rowid()
        assert found(con, "needle") == [newest]
        for done in (10, 20, 30):
            assert fulltext.rebuild_step(con) == ids[-done]
            assert found(con, "needle") == [*ids[-done:], newest]
            assert found(con, '"回の設"', fulltext.TRIGRAM) == ids[-done:]
        assert fulltext.rebuild_step(con) is None
        assert found(con, "needle") == [*ids, newest]


def test_large_messages_make_small_steps(
    shared: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STEP_BYTES", 10_000)
    with trial(shared) as con:
        for _ in range(6):
            make(con, "insert", 0, "word " * 1_500, None)
        fulltext.start_rebuild(con)
        assert fulltext.rebuild_step(con) is not None
        assert len(found(con, "word")) == 2


# -- what others do to the indexes -------------------------------------------------------------

# What an older Hermes puts in the place of triggers it misses: right for an index that keeps
# its own text, and a source of ghosts in one that does not.
INLINE_TRIGGERS = "".join(
    f"""
    DROP TRIGGER IF EXISTS {table}_insert;
    DROP TRIGGER IF EXISTS {table}_delete;
    DROP TRIGGER IF EXISTS {table}_update;
    CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN
        INSERT INTO {table}(rowid, content) VALUES (new.id, COALESCE(new.content, '')); END;
    CREATE TRIGGER {table}_delete AFTER DELETE ON messages BEGIN
        DELETE FROM {table} WHERE rowid = old.id; END;
    CREATE TRIGGER {table}_update AFTER UPDATE ON messages BEGIN
        DELETE FROM {table} WHERE rowid = old.id;
        INSERT INTO {table}(rowid, content) VALUES (new.id, COALESCE(new.content, '')); END;
    """
    for table in fulltext.TABLES
)
DAMAGES = {
    "other triggers": INLINE_TRIGGERS,
    "no triggers": "".join(f"DROP TRIGGER {name};" for name in fulltext.triggers()),
    "one trigger": f"DROP TRIGGER {fulltext.WORDS}_update;",
    "other view": f"DROP VIEW {fulltext.WORDS_VIEW}; "
    f"CREATE VIEW {fulltext.WORDS_VIEW} AS SELECT id, content FROM messages;",
    "no trigram table": "".join(f"DROP TRIGGER {fulltext.TRIGRAM}_{on};"
                                for on in ("insert", "update", "delete"))
    + f"DROP TABLE {fulltext.TRIGRAM};",
    "nothing left": "".join(f"DROP TRIGGER {name};" for name in fulltext.triggers())
    + "".join(f"DROP TABLE {name};" for name in fulltext.TABLES)
    + "".join(f"DROP VIEW {name};" for name in fulltext.VIEWS),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_index_that_others_took_apart_is_mended(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        for content in ("alpha 前回の設定", "beta", "gamma 前回の確認"):
            db.append_message("s", "user", content)
    with raw(path) as con:
        con.execute(DAMAGES[damage])
        con.execute("UPDATE messages SET content = 'delta' WHERE id = 1")
        con.execute("DELETE FROM messages WHERE id = 3")
        con.execute("INSERT INTO messages(session_id, role, content, tool_name, timestamp) "
                    "VALUES ('s', 'tool', 'epsilon 前回の確認', 'browser', 9.0)")  # fmt: skip
    with caplog.at_level(logging.WARNING), SessionDB(path) as db:
        assert [row["id"] for row in db.search_messages("delta")] == [1]
        assert [row["id"] for row in db.search_messages("browser")] == [4]
        assert db.search_messages("alpha") == []
        assert db.search_messages("gamma") == []
    assert sum(str(path) in record.getMessage() for record in caplog.records) == 1
    caplog.clear()
    with SessionDB(path):
        assert caplog.records == []
    with raw(path) as con:
        assert fulltext.is_external(con)
        assert fulltext.is_intact(con)
        assert_consistent(con)
        assert found(con, '"回の確認"', fulltext.TRIGRAM) == [4]


def test_the_lists_side_table_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
    with raw(path) as con:
        con.execute("DROP TRIGGER session_activity_say")
        con.execute("INSERT INTO messages(session_id, role, content, timestamp) "
                    "VALUES ('s', 'user', 'unheard', 9.0)")  # fmt: skip
        assert not session_activity_table.is_intact(con)
    with SessionDB(path, read_only=True) as reader:
        assert reader.list_sessions_rich()[0]["preview"] == "unheard"
    with SessionDB(path) as db:
        assert db.list_sessions_rich()[0]["last_active"] == 9.0
    with raw(path) as con:
        assert session_activity_table.is_intact(con)


def test_a_version_11_file_with_its_own_copy_of_the_text_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    SessionDB(path).close()
    with raw(path) as con:
        fulltext.drop(con)
        con.execute("CREATE VIRTUAL TABLE messages_fts USING fts5(content)")
        con.execute("CREATE VIRTUAL TABLE messages_fts_trigram "
                    "USING fts5(content, tokenize='trigram')")  # fmt: skip
        con.execute(INLINE_TRIGGERS)
        before = con.execute("SELECT * FROM sqlite_master ORDER BY rowid").fetchall()
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        first = db.append_message("s", "user", "alpha 前回の設定")
        second = db.append_message("s", "user", "alpha beta")
        assert [row["id"] for row in db.search_messages("beta")] == [second]
        db.replace_messages("s", [{"role": "user", "content": "gamma"}])
        assert first < second
        assert db.search_messages("alpha") == []
        assert len(db.search_messages("gamma")) == 1
    with raw(path) as con:
        assert con.execute("SELECT * FROM sqlite_master ORDER BY rowid").fetchall() == before


# -- an older SQLite ---------------------------------------------------------------------------

# Runs in a process of its own: two SQLite libraries in one process cancel each other's locks.
STANDARD_LIBRARY = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1], isolation_level=None)
con.execute("PRAGMA foreign_keys = ON")
def add(session, content, tool=None, at=50.0):
    con.execute("INSERT INTO messages(session_id, role, content, tool_name, timestamp) "
                "VALUES (?, 'user', ?, ?, ?)", (session, content, tool, at))
con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('p', 'cli', 1.0)")
con.execute("INSERT INTO sessions(id, source, started_at, parent_session_id) "
            "VALUES ('q', 'cli', 9.0, 'p')")
con.execute("UPDATE sessions SET ended_at = 5.0, end_reason = 'compression' WHERE id = 'p'")
for text in ("older 前回の設定", "\\0json:[\\"前回の確認\\"]", "plain", None, "older plain", "x"):
    add("q", text, "browser")
    add("p", text, None, 3.0)
con.execute("UPDATE messages SET content = 'renewed 前回の設定' WHERE content = 'x'")
con.execute("UPDATE messages SET timestamp = 60.0 WHERE content = 'plain' AND session_id = 'q'")
con.execute("DELETE FROM messages WHERE content = 'older plain'")
con.execute("UPDATE sessions SET model_config = '{\\"_branched_from\\": \\"p\\"}' WHERE id = 'q'")
con.execute("UPDATE sessions SET model_config = NULL WHERE id = 'q'")
con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('r', 'cli', 1.0)")
add("r", "short lived 前回の設定")
con.execute("DELETE FROM messages WHERE session_id = 'r'")
con.execute("DELETE FROM sessions WHERE id = 'r'")
for table, query in (("messages_fts", "renewed"), ("messages_fts_trigram", '"回の設"')):
    if sys.argv[2] == "whole":
        con.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        con.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        con.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
        con.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    found = con.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (query,))
    print(len(found.fetchall()))
con.execute("VACUUM")
con.close()
"""


@pytest.mark.parametrize("state", ["whole", "rebuilding"])
def test_everything_in_the_layout_runs_on_the_sqlite_of_the_standard_library(
    tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STEP_ROWS", 2)
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        for _ in range(5):
            db.append_message("s", "user", "mine 前回の設定")
        if state == "rebuilding":
            with db._db.write() as tx:
                fulltext.start_rebuild(connection(tx))
                fulltext.rebuild_step(connection(tx))
    answers = processes.run(STANDARD_LIBRARY, path, state).split()
    # Two renewed rows, their two twins, and of the five from before those indexed by then.
    assert answers == ["2", "9" if state == "whole" else "6"]
    with SessionDB(path) as db:
        assert len(db.search_messages("renewed")) == 2
        assert len(db.search_messages("mine")) == 5
    with raw(path) as con:
        assert_consistent(con)
        assert con.execute("PRAGMA integrity_check").get == "ok"
        columns = "session_id, root_id, edge, listed, last_active, spoken, preview_id"
        kept = con.execute(f"SELECT {columns} FROM session_activity ORDER BY 1").fetchall()
        assert [row[:3] for row in kept] == [
            ("p", "p", ""), ("q", "p", "compression"), ("s", "s", ""),
        ]  # fmt: skip
        with con:
            session_activity_table.create(con)
        assert con.execute(f"SELECT {columns} FROM session_activity ORDER BY 1").fetchall() == kept


def test_a_session_restored_during_a_rebuild_is_indexed_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STEP_ROWS", 2)
    with SessionDB(path) as db:
        for name in "abcd":
            add(db, name, f"word of {name} 前回", "another word 前回", ended=LONG_AGO + 9)
        db.store.trash.delete(["a"])
        with db._db.write() as tx:
            fulltext.start_rebuild(connection(tx))
            fulltext.rebuild_step(connection(tx))
        db.store.trash.restore()
        with db._db.write() as tx:
            while fulltext.rebuild_step(connection(tx)) is not None:
                pass
    with raw(path) as con:
        assert_consistent(con)
        assert len(found(con, "word")) == 8
