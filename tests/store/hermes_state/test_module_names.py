"""The names that programs import from Hermes Agent's module `hermes_state`."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import hermes_store
from hermes_store import hermes_state
from tests.store.processes import ROOT


def test_all_names_are_there() -> None:
    assert hermes_state.SessionDB is hermes_store.SessionDB
    assert hermes_state.SCHEMA_VERSION == 11
    for name in hermes_state.__all__:
        assert getattr(hermes_state, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hermes_state.no_such_name


def test_the_tool_needs_no_import_of_its_own() -> None:
    script = (
        "import sys, hermes_store.hermes_state as state\n"
        "assert 'hermes_store.search' not in sys.modules\n"
        "print(state.session_search.NAME)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "session_search\n"


def test_the_default_path_follows_the_home(home: Path) -> None:
    assert home / "state.db" == hermes_state.DEFAULT_DB_PATH
    with hermes_store.SessionDB() as db:
        assert db.db_path == (home / "state.db").resolve()


def test_the_default_path_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = tmp_path / "elsewhere.db"
    monkeypatch.setitem(vars(hermes_state), "DEFAULT_DB_PATH", wanted)
    with hermes_store.SessionDB() as db:
        assert db.db_path == wanted


def test_the_scripts_make_a_session_database(path: Path) -> None:
    con = apsw.Connection(str(path))
    for _ in range(2):  # creates what is missing, so it can run again
        for script in (
            hermes_state.SCHEMA_SQL,
            hermes_state.FTS_SQL,
            hermes_state.FTS_TRIGRAM_SQL,
        ):
            con.execute(script)
    con.execute("INSERT INTO schema_version VALUES (?)", (hermes_state.SCHEMA_VERSION,))
    con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('s', 'cli', 1)")
    con.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) "
        "VALUES ('s', 'user', 'a quokka 袋鼠袋鼠', 2)"
    )
    found = con.execute("SELECT COUNT(*) FROM messages_fts WHERE messages_fts MATCH 'quokka'").get
    con.close()
    assert found == 1
    with hermes_store.SessionDB(path) as db:
        assert len(db.search_messages("quokka")) == len(db.search_messages("袋鼠")) == 1


# -- when no database can be opened ------------------------------------------------------------


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hermes_state, "_last_init_error", None)
    monkeypatch.setattr(hermes_state, "_warned", set())


def test_the_reason_is_remembered(path: Path) -> None:
    assert hermes_state.get_last_init_error() is None
    assert hermes_state.format_session_db_unavailable("No sessions") == "No sessions."
    path.write_bytes(b"something else entirely, " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        hermes_store.SessionDB(path)
    reason = hermes_state.get_last_init_error()
    assert reason is not None
    assert reason.startswith("NotADatabase: ")
    path.unlink()
    hermes_store.SessionDB(path).close()
    assert hermes_state.get_last_init_error() == reason, "a success must not hide it"
    told = hermes_state.format_session_db_unavailable()
    assert told.startswith("Session database not available: NotADatabase: ")
    assert told.endswith("elsewhere.")


def test_a_network_drive_gets_a_hint() -> None:
    hermes_state.record_init_error(OSError("locking protocol"))
    told = hermes_state.format_session_db_unavailable()
    assert "OSError: locking protocol" in told
    assert "NFS/SMB" in told


# -- for programs with databases of their own --------------------------------------------------


class Connection:
    """A connection on a file system that may not support write-ahead logging."""

    def __init__(self, refuses: str = "") -> None:
        self.ran: list[str] = []
        self._refuses = refuses

    def execute(self, sql: str, /) -> Any:
        self.ran.append(sql)
        if self._refuses and sql.endswith("WAL"):
            raise sqlite3.OperationalError(self._refuses)


def test_write_ahead_logging_is_turned_on() -> None:
    connection = Connection()
    assert hermes_state.apply_wal_with_fallback(connection) == "wal"
    assert connection.ran == ["PRAGMA journal_mode=WAL"]


def test_a_rollback_journal_where_it_is_not_supported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for label in ("kanban.db", "kanban.db", "state.db"):
            connection = Connection("locking protocol")
            assert hermes_state.apply_wal_with_fallback(connection, db_label=label) == "delete"
            assert connection.ran[-1] == "PRAGMA journal_mode=DELETE"
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2, "once for each database"
    assert "kanban.db" in told[0]
    assert "state.db" in told[1]


def test_other_errors_are_raised() -> None:
    with pytest.raises(sqlite3.OperationalError, match="syntax"):
        hermes_state.apply_wal_with_fallback(Connection("syntax error"))


def test_the_standard_librarys_sqlite3_is_not_loaded(path: Path) -> None:
    """It takes milliseconds, and nothing but its exception classes may be used."""
    script = (
        "import sys; from hermes_store import hermes_state, SessionDB\n"
        f"with SessionDB({str(path)!r}) as db:\n"
        "    db.create_session('s', 'cli'); db.append_message('s', 'user', 'hello')\n"
        "    db.search_messages('hello')\n"
        "assert '_sqlite3' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
