"""Files that no known version made: read as far as they go, never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB, Store
from hermes_store.errors import DatabaseReadOnly, NotADatabase
from hermes_store.records.listing import View
from tests.cli.command import hermes
from tests.store import versions
from tests.store.search import layouts
from tests.support import schema_of
from tests.tui.running import drive, listed, load, make_app, page

MESSAGES = "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, "
MESSAGES += "content TEXT, timestamp REAL)"
SAID = "INSERT INTO messages VALUES (1, 'a', 'user', 'hello zebra', 5.0)"
LAYOUTS = {
    "few columns": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, started_at REAL)",
        "INSERT INTO sessions VALUES ('a', 'A talk', 1.0)", MESSAGES, SAID,
    ),
    "no times": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT)",
        "INSERT INTO sessions VALUES ('a', 'cli')",
        "CREATE TABLE messages (session_id TEXT, content TEXT)",
        "INSERT INTO messages VALUES ('a', 'hello zebra')",
    ),
    "no sessions": (MESSAGES, SAID),
    "a view": (
        "CREATE TABLE talks (id TEXT PRIMARY KEY, source TEXT, started_at REAL)",
        "CREATE VIEW sessions AS SELECT * FROM talks", "INSERT INTO talks VALUES ('a', 'cli', 1)",
        MESSAGES, SAID,
    ),
    "ids of text": (
        "CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL)",
        "INSERT INTO sessions VALUES ('a', 'cli', 1)",
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)",
        "INSERT INTO messages VALUES ('m-1', 'a', 'user', 'hello zebra')",
    ),
    "strange names": (
        'CREATE TABLE sessions (id TEXT, "order" TEXT, "my ""note" TEXT)',
        "INSERT INTO sessions VALUES ('a', 'x', 'y')",
        'CREATE TABLE messages (session_id TEXT, content TEXT, "group" TEXT PRIMARY KEY) '
        "WITHOUT ROWID",
        "INSERT INTO messages VALUES ('a', 'hello zebra', 'z')",
    ),
    "strange values": (
        "CREATE TABLE sessions (id, source, started_at, ended_at, message_count)",
        "INSERT INTO sessions VALUES ('a', x'ff', 'yesterday', -1, 'many')", MESSAGES, SAID,
    ),
}  # fmt: skip


def make(path: Path, *statements: str) -> None:
    con = apsw.Connection(str(path))
    for sql in (*statements, "CREATE TABLE schema_version (version)",
                "INSERT INTO schema_version VALUES (99)"):  # fmt: skip
        con.execute(sql)
    con.close()


@pytest.fixture(params=LAYOUTS)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    make(path, *LAYOUTS[request.param])
    return path


@pytest.mark.parametrize("read_only", [True, False])
def test_what_there_is_can_be_read(odd: Path, read_only: bool) -> None:
    before = schema_of(odd)
    with SessionDB(odd, read_only=read_only) as db:
        for _ in range(2):
            assert list(db.store.lists.entries(View(), now=9.0)) == ["a"]
            assert [row.id for row in db.store.lists.rows(["a"], now=9.0)] == ["a"]
            assert [each.text for each in db.store.messages.of("a")] == ["hello zebra"]
            assert [hit.session_id for hit in db.store.search.run("zebra").hits] == ["a"]
            assert [hit.session_id for hit in db.store.search.run("ebr").hits] == ["a"]
        exported = db.export_session("a")
        assert exported is not None and exported["messages"][0]["content"] == "hello zebra"
        with pytest.raises(DatabaseReadOnly):
            db.set_session_title("a", "new")
    assert schema_of(odd) == before


def test_every_command_says_what_it_cannot_do(odd: Path) -> None:
    before = odd.read_bytes()
    home = odd.parent
    for verb in (("list",), ("search", "zebra"), ("show", "a"), ("stats",), ("tree", "a"),
                 ("export", "-"), ("insights",), ("prune", "--dry-run")):  # fmt: skip
        done = hermes(home, "sessions", *verb)
        assert done.code == 0 and "The layout of this database is unknown" in done.err, verb
    assert "layout of this database is unknown" in hermes(home, "sessions", "doctor").out
    for change in (("rename", "a", "x"), ("delete", "a", "--yes")):
        done = hermes(home, "sessions", *change)
        assert done.code == 1 and "nothing is changed" in done.err, change
    assert odd.read_bytes() == before


def test_the_browser_opens_it(odd: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        assert listed(pilot) == ["a"]
        assert any("1 conversation" in line for line in page(pilot))

    drive(make_app(odd), script)


@pytest.mark.parametrize(
    "statements",
    [("CREATE TABLE sessions (name TEXT)", "CREATE TABLE messages (x)"), ("CREATE TABLE t (a)",)],
)
def test_other_databases_are_refused(tmp_path: Path, statements: tuple[str, ...]) -> None:
    make(tmp_path / "state.db", *statements)
    with pytest.raises(NotADatabase):
        Store(tmp_path / "state.db", read_only=True)


def test_a_file_that_is_complete_later_is_read_and_written(tmp_path: Path) -> None:
    """Somebody may look while Hermes Agent creates its tables one after another."""
    made, path = tmp_path / "made.db", tmp_path / "state.db"
    versions.make(made, 22)
    con = apsw.Connection(str(made))
    wanted = "SELECT sql FROM sqlite_master WHERE name IN ('sessions', 'messages', 'state_meta')"
    statements = [row[0] for row in con.execute(wanted)]
    con.close()
    make(path, next(each for each in statements if "TABLE sessions" in each))
    with SessionDB(path) as db, Store(path, read_only=True) as reader:
        assert reader.capabilities().missing == ("messages",)
        with pytest.raises(DatabaseReadOnly):
            db.create_session("a", "cli")
        con = apsw.Connection(str(path))
        for each in statements:
            if "TABLE sessions" not in each:
                con.execute(each)
        con.close()
        db.create_session("a", "cli")
        db.append_message("a", "user", "hello")
        assert [each.text for each in reader.messages.of("a")] == ["hello"]


def test_a_column_that_an_older_file_lost_is_added_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    layouts.make_inline(path)
    con = apsw.Connection(str(path))
    con.execute("ALTER TABLE sessions DROP COLUMN tool_call_count")
    con.close()
    with SessionDB(path) as db:
        db.create_session("a", "cli")
        assert db.append_message("a", "user", "hello")
