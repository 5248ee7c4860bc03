"""Files without `state_meta` or `sqlite_sequence`, as other programs and old tools leave them."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import schema
from hermes_store.errors import DatabaseError
from tests.store.newer import VERSION, make
from tests.support import LONG_AGO, raw, schema_of


def _plain(path: Path, version: int) -> None:
    """Make a file whose ids are not AUTOINCREMENT and that has no key-value table."""
    con = apsw.Connection(str(path))
    for sql in schema.STATEMENTS:
        if "state_meta" not in sql:
            con.execute(sql.replace(" AUTOINCREMENT", ""))
    con.execute("INSERT INTO schema_version VALUES (?)", (version,))
    con.execute(
        "INSERT INTO sessions(id, source, started_at) VALUES ('old', 'cli', ?)", (LONG_AGO,)
    )
    con.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) "
        "VALUES ('old', 'user', 'the quokka naps', ?)",
        (LONG_AGO + 1,),
    )
    con.close()


def _tables(path: Path) -> set[str]:
    return {row[1] for row in schema_of(path) if row[0] == "table"}


def _use(db: SessionDB, expected: int) -> None:
    assert [row["id"] for row in db.list_sessions_rich()] == ["old"]
    assert len(db.search_messages("quokka")) == expected
    assert db.store.search.run("quok").hits
    assert db.get_meta("a key") is None


@pytest.mark.parametrize("version", [1, 5, 10, schema.SCHEMA_VERSION, VERSION])
def test_it_can_be_read_as_it_is(path: Path, version: int) -> None:
    _plain(path, version)
    before = schema_of(path)
    with SessionDB(path, read_only=True) as db:
        _use(db, 1)
    assert schema_of(path) == before
    assert not {"state_meta", "sqlite_sequence"} & _tables(path)


@pytest.mark.parametrize("version", [1, 5, 10, schema.SCHEMA_VERSION])
def test_it_can_be_written(path: Path, version: int) -> None:
    _plain(path, version)
    for _ in range(2):
        with SessionDB(path) as db:
            db.append_message("old", "assistant", "another quokka")
            db.set_meta("b", "value")
            assert db.get_meta("b") == "value"
            _use(db, db.message_count())
    assert "state_meta" in _tables(path)


def test_reused_ids_are_found(path: Path) -> None:
    """Without AUTOINCREMENT, a new message can have the id of a deleted one."""
    _plain(path, schema.SCHEMA_VERSION)
    with SessionDB(path) as db:
        assert db.store.search.run("uokk").hits
        db.clear_messages("old")
        db.append_message("old", "user", "a wallaby instead")
        assert db.store.search.run("allab").hits


def test_a_newer_file_without_the_table_says_so(path: Path) -> None:
    make(path)
    with raw(path) as con:
        con.execute("DROP TABLE state_meta")
    before = schema_of(path)
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "hello")
        assert db.get_meta("key") is None
        with pytest.raises(DatabaseError, match="state_meta"):
            db.set_meta("key", "value")
        assert db.maybe_auto_prune_and_vacuum()["pruned"] == 0
    assert schema_of(path) == before


def test_a_lost_table_comes_back(path: Path) -> None:
    Store(path).close()
    with raw(path) as con:
        con.execute("DROP TABLE state_meta")
    with SessionDB(path) as db:
        db.create_session("s", "cli")
        db.append_message("s", "user", "a quokka")
        db.set_meta("key", "value")
        assert db.get_meta("key") == "value"
        assert len(db.search_messages("quokka")) == 1
