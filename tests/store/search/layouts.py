"""The same messages in every layout and state of a file that search may meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from hermes_store import Store
from hermes_store.engines.sqlite import fulltext, schema, word_list, words_of_index
from hermes_store.sessions import late_messages
from tests import postgres
from tests.store import newer
from tests.store.search.corpus import fill

Messages = Sequence[Mapping[str, Any]]
Layout = Callable[[Path, Messages], Store]

_TEXT = "COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || "
_TEXT += "COALESCE(new.tool_calls, '')"
# SQLite 3.40, which real Hermes comes with, ends the text of a trigram index at NUL.
_CUT = f"CASE instr({_TEXT}, char(0)) WHEN 0 THEN {_TEXT} "
_CUT += f"ELSE substr({_TEXT}, 1, instr({_TEXT}, char(0)) - 1) END"


def _inline_sql(table: str, text: str, options: str = "") -> str:
    """Return a full-text table with a copy of the text, and what keeps it."""
    insert = f"INSERT INTO {table}(rowid, content) VALUES (new.id, {text});"
    delete = f"DELETE FROM {table} WHERE rowid = old.id;"
    return (
        f"CREATE VIRTUAL TABLE {table} USING fts5(content{options});"
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN {insert} END;"
        f"CREATE TRIGGER {table}_delete AFTER DELETE ON messages BEGIN {delete} END;"
        f"CREATE TRIGGER {table}_update AFTER UPDATE ON messages BEGIN {delete} {insert} END;"
    )


def make_inline(path: Path) -> None:
    """Create an empty version 11 file as the real Hermes 0.13.0 makes it."""
    con = apsw.Connection(str(path))
    con.execute("PRAGMA journal_mode = WAL")
    for statement in (*schema.STATEMENTS, schema.TITLE_INDEX):
        con.execute(statement)
    con.execute(_inline_sql("messages_fts", _TEXT))
    con.execute(_inline_sql("messages_fts_trigram", _CUT, ", tokenize='trigram'"))
    con.execute("INSERT INTO schema_version VALUES (11)")
    con.close()


TOOL_CHARACTERS = 60
"""How much of what a tool printed the column layout of these tests indexes."""
_COLUMNS = "content, tool_name, tool_calls"
_SOURCE = f"id, CASE role WHEN 'tool' THEN substr(content, 1, {TOOL_CHARACTERS}) ELSE content END"
_INDEXED = (
    "(new.id <= COALESCE((SELECT CAST(value AS INTEGER) FROM state_meta "
    "WHERE key = 'fts_rebuild_progress'), -1) OR new.id > COALESCE((SELECT CAST(value AS INTEGER) "
    "FROM state_meta WHERE key = 'fts_rebuild_high_water'), -1))"
)
# Of what a tool printed only the beginning is indexed, and none of it by trigrams.
COLUMN_LAYOUT = f"""
CREATE VIEW messages_fts_src AS SELECT {_SOURCE} AS content, tool_name, tool_calls FROM messages;
CREATE VIEW messages_fts_trigram_src AS
    SELECT id, content, tool_calls FROM messages WHERE role <> 'tool';
CREATE VIRTUAL TABLE messages_fts USING fts5(
    {_COLUMNS}, content='messages_fts_src', content_rowid='id');
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content, tool_calls, content='messages_fts_trigram_src', content_rowid='id',
    tokenize='trigram');
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages WHEN {_INDEXED} BEGIN
    INSERT INTO messages_fts(rowid, {_COLUMNS})
    SELECT id, {_COLUMNS} FROM messages_fts_src WHERE id = new.id; END;
CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages
    WHEN new.role <> 'tool' AND {_INDEXED} BEGIN
    INSERT INTO messages_fts_trigram(rowid, content, tool_calls)
    VALUES (new.id, new.content, new.tool_calls); END;
UPDATE schema_version SET version = 23;
"""


def make_columns(path: Path) -> None:
    """Create an empty file with the full-text tables of schema 23."""
    newer.make(path)
    with changing(path) as con:
        for table in ("messages_fts", "messages_fts_trigram"):
            for event in ("insert", "delete", "update"):
                con.execute(f"DROP TRIGGER {table}_{event}")
            con.execute(f"DROP TABLE {table}")
        con.execute(COLUMN_LAYOUT)


def write(path: Path, said: Messages) -> None:
    """Put messages into a file, through whatever triggers it has."""
    with Store(path, synchronous="NORMAL") as store, store.database.write() as tx:
        fill(tx, said)


@contextmanager
def changing(path: Path) -> Iterator[apsw.Connection]:
    """Change a file by hand, in one transaction."""
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with con:
            yield con
    finally:
        con.close()


def _prepared(store: Store) -> Store:
    assert store.search.prepare()
    return store


def external(path: Path, said: Messages) -> Store:
    write(path, said)
    return Store(path)


def external_listed(path: Path, said: Messages) -> Store:
    return _prepared(external(path, said))


def unlistable(path: Path, said: Messages) -> Store:
    """The list of words cannot be had: its place is taken."""
    write(path, said)
    word_list.path_for(path).mkdir()
    return Store(path)


def half_listed(path: Path, said: Messages) -> Store:
    """Some messages came after the list of words was made."""
    write(path, said[: len(said) // 2])
    store = _prepared(Store(path))
    with store.database.write() as tx:
        fill(tx, said[len(said) // 2 :], at=2_000_000_000.0)
    return store


def interrupted(path: Path, said: Messages) -> Store:
    """The making of the list was stopped after a step."""
    write(path, said)
    store = Store(path)
    whole = words_of_index.STEP_WORDS
    try:
        words_of_index.STEP_WORDS = 2
        steps = iter([False])
        assert not store.search.prepare(stopped=lambda: next(steps, True))
    finally:
        words_of_index.STEP_WORDS = whole
    return store


def inline(path: Path, said: Messages) -> Store:
    make_inline(path)
    write(path, said)
    return Store(path, read_only=True)


def inline_listed(path: Path, said: Messages) -> Store:
    return _prepared(inline(path, said))


def schema_22(path: Path, said: Messages) -> Store:
    newer.make(path)
    write(path, said)
    return Store(path, read_only=True)


def columns(path: Path, said: Messages) -> Store:
    make_columns(path)
    write(path, said)
    return Store(path, read_only=True)


def columns_listed(path: Path, said: Messages) -> Store:
    return _prepared(columns(path, said))


def columns_half_listed(path: Path, said: Messages) -> Store:
    make_columns(path)
    write(path, said[: len(said) // 2])
    store = _prepared(Store(path))
    with store.database.write() as tx:
        fill(tx, said[len(said) // 2 :], at=2_000_000_000.0)
    return store


def columns_rebuilding(path: Path, said: Messages) -> Store:
    """Hermes Agent has rebuilt a third of its index; another third is new."""
    make_columns(path)
    with changing(path) as con:
        third = len(said) // 3
        for key, value in (("progress", third), ("high_water", 2 * third)):
            con.execute("INSERT INTO state_meta VALUES (?, ?)", (f"fts_rebuild_{key}", str(value)))
    write(path, said)
    return Store(path, read_only=True)


def without_index(path: Path, said: Messages) -> Store:
    write(path, said)
    with changing(path) as con:
        fulltext.drop(con)
    return Store(path, read_only=True)


def rebuilding(path: Path, said: Messages) -> Store:
    """An index is half rebuilt: the newer half of the messages is in it."""
    write(path, said)
    with changing(path) as con:
        fulltext.start_rebuild(con)
        step = fulltext.STEP_ROWS
        try:
            fulltext.STEP_ROWS = len(said) // 2
            assert fulltext.rebuild_step(con) is not None
        finally:
            fulltext.STEP_ROWS = step
    return Store(path, read_only=True)


def on_server(path: Path, said: Messages) -> Store:
    """Everything is indexed."""
    address = postgres.fresh_address()
    with Store(address) as store:
        with store.database.write() as tx:
            fill(tx, said)
        assert store.search.prepare()
    return Store(address, read_only=True)


def on_server_half_indexed(path: Path, said: Messages) -> Store:
    """The newer half is not indexed yet."""
    address = postgres.fresh_address()
    half = len(said) // 2
    with Store(address) as store:
        with store.database.write() as tx:
            fill(tx, said[:half])
        assert store.search.prepare()
    with postgres.without_indexing(), Store(address) as store, store.database.write() as tx:
        fill(tx, said[half:], at=2_000_000_000.0)
    return Store(address, read_only=True)


def on_server_not_indexed(path: Path, said: Messages) -> Store:
    """Nothing is indexed yet."""
    address = postgres.fresh_address()
    with postgres.without_indexing(), Store(address) as store, store.database.write() as tx:
        fill(tx, said)
    return Store(address, read_only=True)


def on_server_out_of_order(path: Path, said: Messages) -> Store:
    """The messages of several machines lie one behind the other, so ids do not follow time."""
    address = postgres.fresh_address()
    with Store(address) as store:
        with store.database.write() as tx:
            fill(tx, said)
            tx.run("UPDATE messages SET timestamp = timestamp - MOD(id, 7) * 10000")
            for (session_id,) in list(tx.rows("SELECT id FROM sessions")):
                late_messages.note(tx, session_id, 0)
        assert store.search.prepare()
    return Store(address, read_only=True)


LAYOUTS: dict[str, Layout] = {
    "on a server": on_server,
    "on a server, half indexed": on_server_half_indexed,
    "on a server, not indexed": on_server_not_indexed,
    "external": external,
    "external, listed": external_listed,
    "external, no list possible": unlistable,
    "external, half listed": half_listed,
    "external, listing interrupted": interrupted,
    "inline": inline,
    "inline, listed": inline_listed,
    "schema 22": schema_22,
    "columns": columns,
    "columns, listed": columns_listed,
    "columns, half listed": columns_half_listed,
    "columns, rebuilding": columns_rebuilding,
    "no index": without_index,
    "rebuilding": rebuilding,
}
