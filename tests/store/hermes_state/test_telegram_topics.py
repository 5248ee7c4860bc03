"""Topics in a private Telegram chat, each bound to one session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.errors import DatabaseError
from hermes_store.hermes_state.telegram_topics import BINDINGS, MODE
from tests.store.newer import make
from tests.support import add, raw, schema_of


def _tables(path: Path) -> set[str]:
    return {row[1] for row in schema_of(path) if row[0] == "table"}


def _bind(db: SessionDB, thread: str, session_id: str, **more: Any) -> None:
    told = {"chat_id": "1", "user_id": "7", "session_key": f"key:{thread}"} | more
    db.bind_telegram_topic(thread_id=thread, session_id=session_id, **told)


def test_asking_creates_no_tables(db: SessionDB, path: Path) -> None:
    before = schema_of(path)
    add(db, "s", "hello", source="telegram")
    assert not db.is_telegram_topic_mode_enabled(chat_id="1", user_id="7")
    assert db.get_telegram_topic_binding(chat_id="1", thread_id="2") is None
    assert not db.is_telegram_session_linked_to_topic(session_id="s")
    assert db.list_unlinked_telegram_sessions_for_user(chat_id="1", user_id="7") == []
    db.disable_telegram_topic_mode(chat_id="1")
    assert schema_of(path) == before


def test_topics_are_turned_on_and_off(db: SessionDB, path: Path) -> None:
    db.enable_telegram_topic_mode(chat_id="1", user_id="7", has_topics_enabled=True)
    assert {MODE, BINDINGS} <= _tables(path)
    assert db.is_telegram_topic_mode_enabled(chat_id="1", user_id="7")
    assert not db.is_telegram_topic_mode_enabled(chat_id="1", user_id="8")
    db.create_session("s", "telegram")
    _bind(db, "2", "s")
    db.disable_telegram_topic_mode(chat_id="1", clear_bindings=False)
    assert not db.is_telegram_topic_mode_enabled(chat_id="1", user_id="7")
    assert db.is_telegram_session_linked_to_topic(session_id="s")
    db.enable_telegram_topic_mode(chat_id="1", user_id="7")
    db.disable_telegram_topic_mode(chat_id="1")
    assert not db.is_telegram_session_linked_to_topic(session_id="s")


def test_a_topic_is_bound_and_bound_again(db: SessionDB) -> None:
    for name in ("s", "t"):
        db.create_session(name, "telegram")
    _bind(db, "2", "s")
    _bind(db, "2", "s", managed_mode="manual")
    bound = db.get_telegram_topic_binding(chat_id="1", thread_id="2")
    assert bound is not None
    assert (bound["session_id"], bound["managed_mode"]) == ("s", "manual")
    assert (bound["session_key"], bound["user_id"]) == ("key:2", "7")
    _bind(db, "2", "t")
    assert not db.is_telegram_session_linked_to_topic(session_id="s")
    with pytest.raises(ValueError, match="already linked to another Telegram topic"):
        _bind(db, "3", "t")


def test_a_binding_goes_with_its_session(db: SessionDB) -> None:
    db.create_session("s", "telegram")
    _bind(db, "2", "s")
    assert db.delete_session("s")
    assert db.get_telegram_topic_binding(chat_id="1", thread_id="2") is None


def test_tables_of_the_first_version_are_brought_up_to_date(db: SessionDB, path: Path) -> None:
    db.create_session("s", "telegram")
    _bind(db, "2", "s")
    with raw(path) as con:
        sql = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (BINDINGS,)).get
        con.execute(f"ALTER TABLE {BINDINGS} RENAME TO kept")
        con.execute(sql.replace(" ON DELETE CASCADE", ""))
        con.execute(f"INSERT INTO {BINDINGS} SELECT * FROM kept")
        con.execute("DROP TABLE kept")
    db.apply_telegram_topic_migration()
    assert db.get_meta("telegram_dm_topic_schema_version") == "2"
    assert db.is_telegram_session_linked_to_topic(session_id="s")
    names = {row[1] for row in schema_of(path)}
    assert {f"idx_{BINDINGS}_session", f"idx_{BINDINGS}_user"} <= names
    assert db.delete_session("s")
    assert not db.is_telegram_session_linked_to_topic(session_id="s")


def test_unlinked_sessions_of_a_user(db: SessionDB) -> None:
    for number, name in enumerate(("a", "b", "c")):
        db.create_session(name, "telegram", user_id="7")
        db.append_message(name, "user", f"hello from {name}", timestamp=1_000.0 + number)
    db.create_session("terminal", "cli", user_id="7")
    db.create_session("somebody", "telegram", user_id="8")
    find = db.list_unlinked_telegram_sessions_for_user
    assert [row["id"] for row in find(chat_id="1", user_id="7")] == ["c", "b", "a"]
    _bind(db, "2", "b")
    rows = find(chat_id="1", user_id="7")
    assert [row["id"] for row in rows] == ["c", "a"]
    assert (rows[0]["preview"], rows[0]["last_active"]) == ("hello from c", 1_002.0)
    assert len(find(chat_id="1", user_id="7", limit=1)) == 1


def test_a_newer_file_is_left_as_it_is(path: Path) -> None:
    make(path)
    before = schema_of(path)
    with SessionDB(path) as db:
        db.create_session("s", "telegram")
        with pytest.raises(DatabaseError, match="newer Hermes Agent"):
            _bind(db, "2", "s")
        assert not db.is_telegram_session_linked_to_topic(session_id="s")
    assert schema_of(path) == before
