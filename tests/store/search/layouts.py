"""The same messages in every layout and state of a file that search may meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from hermes_store import Store
from hermes_store.engines.sqlite import fulltext, schema, side_word_index
from hermes_store.search import run_plan
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


def external(path: Path, said: Messages) -> Store:
    write(path, said)
    store = Store(path)
    assert store.search.prepare()
    return store


def unlisted(path: Path, said: Messages) -> Store:
    """The list of words cannot be had: its place is taken."""
    write(path, said)
    side_word_index.path_for(path).mkdir()
    return Store(path)


def behind(path: Path, said: Messages) -> Store:
    """Some messages came after the list of words was made."""
    write(path, said[: len(said) // 2])
    store = Store(path)
    assert store.search.prepare()
    with store.database.write() as tx:
        fill(tx, said[len(said) // 2 :], at=2_000_000_000.0)
    return store


def never_listed(path: Path, said: Messages) -> Store:
    write(path, said)
    return Store(path)


def inline(path: Path, said: Messages) -> Store:
    make_inline(path)
    write(path, said)
    store = Store(path, read_only=True)
    assert store.search.prepare()
    return store


def inline_unlisted(path: Path, said: Messages) -> Store:
    make_inline(path)
    return unlisted(path, said)


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
    store = Store(path, read_only=True)
    assert store.search.prepare()
    return store


LAYOUTS: dict[str, Layout] = {
    "external": external,
    "external, no list of words": unlisted,
    "external, list behind": behind,
    "external, list not begun": never_listed,
    "inline": inline,
    "inline, no list of words": inline_unlisted,
    "no index": without_index,
    "rebuilding": rebuilding,
}
TAIL_MODULES = (side_word_index, run_plan)
