"""One flipped bit in what a database says about itself: everything still reads, a write repairs."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext
from hermes_store.engines.sqlite.file_capabilities import UNREADABLE
from hermes_store.errors import StoreError
from hermes_store.records.upkeep_reports import Health
from hermes_store.store import Store
from hermes_store.upkeep.doctor import examine
from tests.sqlite_parts import connection
from tests.support import add, found, raw


def flip(path: Path, name: str, before: bytes, after: bytes) -> None:
    """Replace bytes in the SQL of an object, past SQLite."""
    with raw(path) as con:
        sql = con.execute("SELECT CAST(sql AS BLOB) FROM sqlite_master WHERE name = ?", (name,)).get
        assert before in sql
        con.execute("PRAGMA writable_schema = ON")
        con.execute(
            "UPDATE sqlite_master SET sql = CAST(? AS TEXT) WHERE name = ?",
            (sql.replace(before, after, 1), name),
        )


@pytest.fixture
def damaged(path: Path) -> Path:
    """A database in which a trigger's text is not UTF-8."""
    with SessionDB(path) as db:
        add(db, "s", "said before", title="a title")
    first = "ᄀ".encode()
    flip(path, "messages_fts_trigram_insert", first, bytes((first[0] ^ 0x20,)) + first[1:])
    return path


def test_everything_still_reads(damaged: Path) -> None:
    with Store(damaged, read_only=True) as store:
        assert [row["id"] for row in store.lists.as_dictionaries()] == ["s"]
        assert store.sessions.find("a title").id == "s"
        assert [message.text for message in store.messages.of("s")] == ["said before"]


def test_doctor_says_so(damaged: Path) -> None:
    by_name = {finding.what: finding for finding in examine(damaged)}
    assert by_name["schema"].health is Health.NOTE
    assert "the next write repairs them" in by_name["schema"].explanation
    assert by_name["pages"].health is Health.GOOD


def test_the_next_writer_repairs_it(damaged: Path) -> None:
    with SessionDB(damaged) as db:
        db.append_message("s", "user", "said 数据库 after")
        assert found(db, "before") == ["s"] and found(db, "after") == ["s"]
    with raw(damaged) as con:
        assert fulltext.is_intact(con)


def test_a_version_that_is_no_number_is_left_alone(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "s", "said")
    with raw(path) as con:
        con.execute("UPDATE schema_version SET version = 'eleven'")
        before = list(con.execute("SELECT * FROM sqlite_master"))
    with SessionDB(path) as db:
        db.append_message("s", "user", "more")
        with db._db.read() as tx:
            assert tx.caps.version == UNREADABLE and tx.caps.foreign
    with raw(path) as con:
        assert list(con.execute("SELECT * FROM sqlite_master")) == before
        assert con.execute("SELECT version FROM schema_version").get == "eleven"


def test_a_rebuild_whose_record_is_unreadable_starts_over(path: Path) -> None:
    with SessionDB(path) as db:
        for number in range(3):
            add(db, f"s{number}", f"word{number} said")
        with db._db.write() as tx:
            fulltext.start_rebuild(connection(tx))
            tx.run("UPDATE state_meta SET value = 'x' WHERE key = ?", (fulltext.FLOOR_KEY,))
    with Store(path, read_only=True) as store:
        assert [hit.session_id for hit in store.search.run("word1").hits] == ["s1"]
    with SessionDB(path) as db:
        assert found(db, "said") == ["s0", "s1", "s2"]
        with db._db.write() as tx:
            assert fulltext.check(connection(tx)) == []


def test_a_session_without_an_id_keeps_nobody_from_writing(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "s", "said")
    with raw(path) as con:
        con.execute("DROP TRIGGER session_activity_begin")
        con.execute("INSERT INTO sessions(id, source, started_at) VALUES (NULL, 'cli', 1.0)")
    with SessionDB(path) as db:
        db.append_message("s", "user", "more")
        assert [row["id"] for row in db.list_sessions_rich()] == ["s"]


def _change_schema(path: Path, sql: str) -> None:
    Store(path).close()
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    con.execute("PRAGMA writable_schema = ON")
    con.execute(f"UPDATE sqlite_master SET sql = {sql}")
    assert con.changes()
    con.close()


def _open(path: Path, read_only: bool) -> None:
    with Store(path, read_only=read_only) as store:
        store.sessions.count()
        list(store.lists.conversations())


@pytest.mark.parametrize("read_only", [False, True])
def test_a_trigger_that_is_not_utf_8(path: Path, read_only: bool) -> None:
    _change_schema(path, "replace(sql, 'ᄀ', CAST(X'e18441' AS TEXT)) WHERE type = 'trigger'")
    try:
        _open(path, read_only)
    except StoreError as error:
        assert str(error).endswith(".")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_table_that_cannot_be_parsed(path: Path, read_only: bool) -> None:
    _change_schema(path, "replace(sql, ',', char(10) || '`') WHERE name = 'sessions'")
    with pytest.raises(StoreError) as caught:
        _open(path, read_only)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 500
