"""Repairs: only what is proven broken, by the least step, and nothing of anybody is lost."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite.raw_rows import raw_rows
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.upkeep_reports import Health
from hermes_store.upkeep.doctor import examine
from hermes_store.upkeep.repair import repair
from tests.store import newer, processes
from tests.store.newer import Newer
from tests.support import LONG_AGO, add, raw

TEXT = "some words that fill a page, number {} 部署 "


def _own(path: Path) -> None:
    with SessionDB(path) as db:
        for number in range(30):
            said = [TEXT.format(number) * 9 for _ in range(10)]
            add(db, f"s{number}", *said, ended=LONG_AGO + 99, title=f"title {number}")
        db.set_meta("theirs", "a value")


def _foreign(path: Path) -> None:
    newer.make(path)
    theirs = Newer(path)
    for number in range(30):
        theirs.session(f"s{number}", ended_at=LONG_AGO + 99, title=f"title {number}")
        for _ in range(10):
            theirs.message(f"s{number}", TEXT.format(number) * 9)
    theirs.put("state_meta", key="theirs", value="a value")
    theirs.close()
    with raw(path) as con:
        con.execute(
            "CREATE TABLE nobody_knows (a BLOB, b, c TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID"
        )
        con.execute("CREATE TABLE unnumbered (x)")
        for number in range(50):
            con.execute("INSERT INTO nobody_knows VALUES (?, ?, CAST(? AS TEXT))",
                        (b"\xff\x00", number, b"\xfe\xffno text"))  # fmt: skip
            con.execute("INSERT INTO unnumbered(rowid, x) VALUES (?, ?)", (number * 7, 1.5))
        con.execute("UPDATE messages SET content = CAST(X'c328ff' AS TEXT) WHERE id = 7")
        con.execute("CREATE VIEW their_view AS SELECT id FROM sessions")
        con.execute("PRAGMA application_id = 1234")


MADE = pytest.mark.parametrize("made", [_own, _foreign])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def _everything(path: Path) -> dict[str, object]:
    """Return all declarations, settings and rows of a file, but those derived from others."""
    with raw(path) as con:
        names = [
            name
            for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith(("messages_fts", "session_activity", "sqlite_stat"))
        ]
        found: dict[str, object] = {}
        for name in names:
            columns = [row[1] for row in con.execute(f"PRAGMA table_info({name})")]
            found[name] = sorted(map(repr, raw_rows(con, columns, name)))
        found["schema"] = sorted(con.execute("SELECT type, name, sql FROM sqlite_master "
                                             "WHERE name NOT LIKE 'sqlite_%'"))  # fmt: skip
        found["settings"] = [
            con.execute(f"PRAGMA {each}").get
            for each in ("user_version", "application_id", "page_size", "encoding")
        ]
        found["rowids"] = (
            list(con.execute("SELECT rowid FROM unnumbered")) if "unnumbered" in names else []
        )
        return found


def _sound(path: Path) -> bool:
    with raw(path) as con:
        try:
            return bool(con.execute("PRAGMA integrity_check").get == "ok")
        except apsw.CorruptError:
            return False


def _declare(path: Path, name: str, sql: str) -> None:
    """Change the declaration of an object behind SQLite's back."""
    with raw(path) as con:
        con.execute("PRAGMA writable_schema = ON")
        con.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))
        con.execute(f"PRAGMA schema_version = {con.execute('PRAGMA schema_version').get + 1}")


def _page(con: apsw.Connection, name: str) -> int:
    return int(con.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).get)


def _merged(path: Path) -> None:
    with raw(path) as con:
        con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _overwrite(path: Path, page: int, data: bytes | None = None) -> None:
    _merged(path)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(4096) if data is None else data)


def _leaf(path: Path, name: str, which: int) -> int:
    """Return the page number of a leaf of a table's tree."""
    with raw(path) as con:
        page = _page(con, name)
    data = path.read_bytes()
    start = (page - 1) * 4096
    assert data[start] == 5, "the table fits one page"
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    place = start + 12 + 2 * (which % cells)
    cell = start + int.from_bytes(data[place : place + 2], "big")
    return int.from_bytes(data[cell : cell + 4], "big")


def _digest(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


# -- nothing to do ----------------------------------------------------------------------------


@MADE
def test_a_healthy_file_is_not_touched(path: Path, made: Callable[[Path], None]) -> None:
    made(path)
    _merged(path)
    path.chmod(0o644)
    assert any(each.health is Health.NOTE for each in examine(path))
    before = _digest(path.parent)
    done = repair(path)
    assert (done.steps, done.lost, done.original, done.beside) == ((), (), None, None)
    after = _digest(path.parent)
    after.pop("state.db-shm", None), before.pop("state.db-shm", None)
    assert after == before


def _ordered(one: str, other: str) -> int:
    return (one > other) - (one < other)


def _with_strange_objects(path: Path) -> None:
    """Add tables that need what only another program has."""
    with raw(path) as con:
        con.create_collation("theirs", _ordered)
        con.execute("CREATE TABLE sorted (a TEXT COLLATE theirs)")
        con.execute("CREATE INDEX sorted_a ON sorted(a)")
        con.create_scalar_function("theirs", lambda *values: values[0], 1, deterministic=True)
        con.execute("CREATE TABLE computed (a)")
        con.execute("CREATE INDEX computed_a ON computed(theirs(a))")
        con.execute("CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(a)")
        con.execute("CREATE TABLE messages_fts_notes (a)")
        for table in ("sorted", "computed", "messages_fts_cjk", "messages_fts_notes"):
            con.execute(f"INSERT INTO {table} VALUES ('one'), ('two')")
    sql = "CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(a, tokenize = 'cjk_unicode61')"
    _declare(path, "messages_fts_cjk", sql)
    _declare(path, "messages_fts_notes", "CREATE TABLE messages_fts_notes (rowid)")


@MADE
def test_what_only_another_program_can_read_is_not_damage(
    path: Path, made: Callable[[Path], None]
) -> None:
    made(path)
    _with_strange_objects(path)
    _merged(path)
    found = examine(path)
    assert not any(each.health is Health.BAD for each in found)
    assert any("messages_fts_cjk" in each.explanation for each in found)
    before = path.read_bytes()
    assert repair(path).steps == ()
    assert path.read_bytes() == before


def test_what_only_another_program_can_read_survives_damage_elsewhere(path: Path) -> None:
    _foreign(path)
    _with_strange_objects(path)
    _overwrite(path, _leaf(path, "messages", 3))
    done = repair(path)
    assert any("messages" in each for each in done.lost)
    with raw(path) as con:
        for table in ("sorted", "computed", "messages_fts_cjk_content", "messages_fts_notes"):
            assert con.execute(f"SELECT COUNT(*) FROM {table}").get == 2, table
        sql = con.execute("SELECT sql FROM sqlite_master WHERE name = 'messages_fts_cjk'").get
        names = {name for (name,) in con.execute("SELECT name FROM sqlite_master")}
    assert "cjk_unicode61" in sql
    # Built in another order, they would be damaged for the program that knows the right one.
    for index in ("sorted_a", "computed_a"):
        assert index not in names and any(index in each for each in done.lost)
    assert repair(path).steps == ()


def test_messages_without_a_session_are_kept(path: Path) -> None:
    _own(path)
    with raw(path) as con:
        con.execute("DELETE FROM sessions WHERE id = 's3'")
    assert repair(path).steps == ()
    with raw(path) as con:
        assert con.execute("SELECT COUNT(*) FROM messages").get == 300


# -- the least step ---------------------------------------------------------------------------


@MADE
def test_an_index_is_built_again(path: Path, made: Callable[[Path], None]) -> None:
    made(path)
    name = "idx_messages_session"
    with raw(path) as con:
        sql = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).get
    # For a while the index is declared for no row at all, so that it misses a change.
    _declare(path, name, f"{sql} WHERE 0")
    with raw(path) as con:
        con.execute("UPDATE messages SET timestamp = timestamp + 1 WHERE id < 50")
    _declare(path, name, sql)
    assert not _sound(path)
    assert any(each.health is Health.BAD for each in examine(path))
    kept = _everything(path)
    done = repair(path)
    assert done.lost == ()
    assert any("idx_messages_session" in step for step in done.steps)
    assert done.original is not None and done.original.stat().st_mode & 0o777 == 0o600
    assert not _sound(done.original) and _sound(path)
    assert _everything(path) == kept
    assert repair(path).steps == ()


@MADE
def test_a_search_index_is_built_again(path: Path, made: Callable[[Path], None]) -> None:
    made(path)
    before = _everything(path)
    with raw(path) as con:
        con.execute("DELETE FROM messages_fts_data WHERE id > 10")
    assert not _sound(path)
    done = repair(path)
    assert done.lost == () and any("search index" in step for step in done.steps)
    assert _sound(path) and _everything(path) == before
    with SessionDB(path, read_only=True) as db:
        assert len(db.search_messages("number 17", limit=50)) == 10


@pytest.mark.parametrize("bit", [0x01, 0x80])
@pytest.mark.parametrize("name", ["messages.content", "messages.timestamp", "sessions.title"])
@MADE
def test_a_column_gets_its_name_back(
    path: Path, made: Callable[[Path], None], name: str, bit: int
) -> None:
    made(path)
    _merged(path)
    before = _everything(path)
    table, column = name.split(".")
    with raw(path) as con:
        sql = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).get.encode()
        place = sql.index(f"{column} ".encode()) + 2
        wrong = sql[:place] + bytes([sql[place] ^ bit]) + sql[place + 1 :]
        con.execute("PRAGMA writable_schema = ON")
        con.execute("UPDATE sqlite_master SET sql = CAST(? AS TEXT) WHERE name = ?", (wrong, table))
    _merged(path)
    assert any(each.health is Health.BAD for each in examine(path))
    if made is _own:
        with pytest.raises(DatabaseCorrupt, match="doctor --repair"):
            SessionDB(path)
    done = repair(path)
    assert done.lost == () and done.original is not None
    assert _sound(path) and _everything(path) == before
    assert repair(path).steps == ()


def test_what_is_missing_in_a_file_of_ours_is_added(path: Path) -> None:
    _own(path)
    with raw(path) as con:
        con.execute("DROP TABLE state_meta")
        con.execute("DROP TABLE session_activity")
    done = repair(path)
    assert done.steps == ("Added the tables and indexes that were missing.",)
    assert done.lost == ("The table state_meta was missing; whatever it contained is lost.",)
    assert done.original is not None
    with SessionDB(path) as db:
        assert db.session_count() == 30 and len(db.store.lists.conversations(limit=50)) == 30


def test_what_is_missing_in_a_newer_file_is_not_added(path: Path) -> None:
    _foreign(path)
    with raw(path) as con:
        con.execute("DROP TABLE state_meta")
    assert repair(path).steps == ()


TORN = """
import os, signal, sys
import apsw

con = apsw.Connection(sys.argv[1])
con.execute("PRAGMA journal_mode = DELETE")
con.execute("PRAGMA cache_size = 5")
con.execute("BEGIN IMMEDIATE")
con.execute("DELETE FROM messages WHERE id % 2")
con.cache_flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_unfinished_change_is_undone(path: Path) -> None:
    _foreign(path)
    before = _everything(path)
    processes.die(TORN, path)
    (found,) = examine(path)
    assert found.health is Health.BAD and "doctor --repair" in found.explanation
    assert repair(path).steps == ("Undid a change that was left half way.",)
    assert _everything(path) == before


# -- damaged tables ---------------------------------------------------------------------------


@MADE
def test_everything_readable_survives_damaged_pages(
    path: Path, made: Callable[[Path], None]
) -> None:
    made(path)
    _merged(path)
    before = _everything(path)
    inode = path.stat().st_ino
    for which in (3, 11):
        _overwrite(path, _leaf(path, "messages", which))
    done = repair(path)
    assert any("messages" in sentence for sentence in done.lost)
    assert done.original is not None and not _sound(done.original)
    assert path.stat().st_ino == inode and done.beside is None
    after = _everything(path)
    assert _sound(path)
    lost = set(before["messages"]) - set(after["messages"])  # type: ignore[call-overload]
    assert set(after["messages"]) <= set(before["messages"])  # type: ignore[call-overload]
    assert 0 < len(lost) < 30
    for name in before.keys() - {"messages", "sqlite_sequence"}:
        assert after[name] == before[name], name
    with SessionDB(path) as db:
        assert db.store.capabilities().foreign == (made is _foreign)
        found = db.search_messages("words", limit=1000)
        assert len(found) >= 300 - len(lost) - 1  # one is not valid text any more
    assert repair(path).steps == ()


def test_a_damaged_trigger_does_not_take_the_rest_along(path: Path) -> None:
    _foreign(path)
    _merged(path)
    before = _everything(path)
    data = path.read_bytes()
    place = data.index(b"CREATE TRIGGER messages_fts_update")
    with path.open("r+b") as file:
        file.seek(place + 7)
        file.write(bytes([data[place + 7] ^ 0x80]))
    done = repair(path)
    assert any("messages_fts_update" in sentence for sentence in done.lost)
    after = _everything(path)
    assert _sound(path)
    for name in before.keys() - {"schema", "sqlite_sequence"}:
        assert after[name] == before[name], name
    assert len(after["schema"]) == len(before["schema"]) - 1  # type: ignore[arg-type]


@MADE
def test_the_version_of_a_newer_file_is_never_invented(
    path: Path, made: Callable[[Path], None]
) -> None:
    made(path)
    with raw(path) as con:
        page = _page(con, "schema_version")
    _overwrite(path, page)
    assert any("schema_version" in each for each in repair(path).lost)
    before = _everything(path)
    assert before["schema_version"] == ([] if made is _foreign else ["(11,)"])
    with SessionDB(path) as db:
        assert db.store.capabilities().foreign == (made is _foreign)
    assert _everything(path) == before


@MADE
def test_a_file_that_is_too_short_is_repaired(path: Path, made: Callable[[Path], None]) -> None:
    made(path)
    _merged(path)
    os.truncate(path, path.stat().st_size - 3 * 4096)
    done = repair(path)
    assert done.steps and done.original is not None
    assert _sound(path)
    with SessionDB(path, read_only=True) as db:
        assert db.session_count() == 30


def test_the_report_counts_what_was_lost(path: Path) -> None:
    _foreign(path)
    _merged(path)
    before = len(_everything(path)["messages"])  # type: ignore[arg-type]
    for which in (2, 9):
        _overwrite(path, _leaf(path, "messages", which))
    done = repair(path)
    lost = before - len(_everything(path)["messages"])  # type: ignore[arg-type]
    assert f"{lost} rows of messages could not be read." in done.lost


def test_a_table_whose_declaration_is_lost_is_not_given_up(path: Path) -> None:
    _own(path)
    _declare(path, "messages", "CREATE TABLE messages(")
    _merged(path)
    before = path.read_bytes()
    with pytest.raises(DatabaseCorrupt, match="declaration of messages"):
        repair(path)
    assert path.read_bytes() == before
    assert not [each for each in path.parent.iterdir() if "damaged" in each.name]


@MADE
def test_no_log_is_left_that_would_spoil_a_backup(path: Path, made: Callable[[Path], None]) -> None:
    made(path)
    with raw(path) as con:
        con.execute("DELETE FROM messages_fts_data WHERE id > 10")
    assert repair(path).steps
    log = path.with_name("state.db-wal")
    assert not log.exists() or log.stat().st_size == 0


LIVING = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1])
con.execute("SELECT id FROM sessions LIMIT 1").fetchall()
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_file_that_is_in_use_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _foreign(path)
    _overwrite(path, _leaf(path, "messages", 5))
    before = path.read_bytes()
    monkeypatch.setattr("hermes_store.upkeep.repair.TRY_SECONDS", 0.05)
    with processes.running(LIVING, path):
        done = repair(path)
        assert done.beside is not None and _sound(done.beside)
        assert done.beside.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == before
    assert repair(path).beside is None
    assert _sound(path)


def test_what_is_no_database_is_said_and_left(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))
    before = path.read_bytes()
    with pytest.raises(Exception, match="is not a session database"):
        repair(path)
    assert path.read_bytes() == before
