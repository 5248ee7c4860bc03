"""Databases in which nothing is what its column promises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.records.relation_to_parent import Edge
from tests.support import add, add_chain, raw


class Broken(NamedTuple):
    """Text that is not UTF-8."""

    data: bytes


Value = Callable[[str, str, Any], Any]
WORD = "zebrafish"
"""In every text, to search for."""
ESCAPES = "\x1b]0;pwned\x07\x9b31m\x1b[2J\u202ebidi\u2066\x7f"
START = 1_789_000_000.0
DERIVED = ("messages_fts", "sqlite_")
"""How the names of tables begin that the database itself keeps up to date."""
FILES_OWN = ("meta", "trash_chunks")


def make(path: Path) -> None:
    """Write an ordinary database with everything in it: lineage, marks, searches, trash."""
    with SessionDB(path) as db:
        add_chain(db, ("chain-a", "chain-b"), at=START)
        add(db, "plain", f"asked about {WORD}", at=START + 900, ended=START + 950, title="Plain")
        add(
            db,
            "agent",
            f"a {WORD} of an agent",
            at=START + 910,
            parent="plain",
            edge=Edge.AGENT,
        )
        add(db, "branch", f"branched {WORD}", at=START + 990, parent="plain", edge=Edge.BRANCH)
        calls = [{"id": "c", "function": {"name": "terminal", "arguments": '{"x": 1}'}}]
        db.append_message("plain", "assistant", f"{WORD}!", tool_calls=calls, timestamp=START + 903)
        db.append_message("plain", "tool", "out", tool_name="terminal", timestamp=START + 904)
        add(db, "doomed", f"trash {WORD}", at=START + 5, ended=START + 8, title="Doomed")
        db.store.marks.tag("plain", "work")
        db.store.marks.pin("branch")
        db.store.saved_searches.save("kept", WORD)
        db.store.saved_searches.remember(WORD)
        db.store.trash.delete(["doomed"])


def tables(con: apsw.Connection) -> dict[str, list[str]]:
    """Return the columns of every table that programs write to, without row ids.

    Triggers carry what is written to the last ones over to the others.
    """
    found = {}
    listed = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name IN (?, ?)"
    for (name,) in list(con.execute(listed, ("sessions", "messages"))):
        if name.startswith(DERIVED) or name in FILES_OWN:
            continue
        columns = list(con.execute(f"PRAGMA table_info({name})"))
        found[name] = [
            each[1] for each in columns if not (each[5] and each[2].upper() == "INTEGER")
        ]
    return found


def fill(path: Path, value: Value) -> None:
    """Replace every value of every row: `value(table, column, old)` returns the new one.

    What the database refuses, because it must be unique or not NULL, stays as it is.
    """
    with raw(path) as con:
        for table, columns in tables(con).items():
            if (
                "WITHOUT ROWID"
                in con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).get.upper()
            ):
                _refill(con, table, columns, value)
                continue
            for rowid, *old in list(
                con.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}")
            ):
                for column, stored in zip(columns, old, strict=True):
                    mark, new = bound(value(table, column, stored))
                    with suppress(apsw.ConstraintError, apsw.MismatchError):
                        con.execute(
                            f"UPDATE {table} SET {column} = {mark} WHERE rowid = ?", (new, rowid)
                        )


def bound(value: Any) -> tuple[str, Any]:
    """Return the SQL for a value, and what to bind to it."""
    return ("CAST(? AS TEXT)", value.data) if isinstance(value, Broken) else ("?", value)


def _refill(con: apsw.Connection, table: str, columns: list[str], value: Value) -> None:
    rows = list(con.execute(f"SELECT {', '.join(columns)} FROM {table}"))
    con.execute(f"DELETE FROM {table}")
    for row in rows:
        pairs = zip(columns, row, strict=True)
        new = [bound(value(table, column, old)) for column, old in pairs]
        for pair in (new, [("?", old) for old in row]):
            marks = ", ".join(mark for mark, _ in pair)
            with suppress(apsw.ConstraintError):
                con.execute(
                    f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})",
                    [each for _, each in pair],
                )
                break


def with_escapes(path: Path, *, choices: bool = False) -> None:
    """Make a database in which every column of every row holds an escape sequence.

    Ids and what they refer to get the same one, so that lineage, marks and trash still hold.
    With `choices`, so do roles, reasons and kinds, which choose what is shown at all.
    """
    make(path)

    def escaped(table: str, column: str, old: Any) -> Any:
        if column in ("kind", "role", "end_reason", "key", "version") and not choices:
            return old
        if isinstance(old, bytes):
            return old
        if column.endswith("id") and old is None:
            return None
        return f"{'' if old is None else old}{ESCAPES}{WORD}"

    for each in (path, path_for(path)):
        fill(each, escaped)
    without_activity(path)
    SessionDB(path).close()


def without_activity(path: Path) -> None:
    """Remove the table of activities; the next writer creates it again from what is stored."""
    with raw(path) as con:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB ?"
        for (name,) in list(con.execute(triggers, ("session_activity*",))):
            con.execute(f"DROP TRIGGER {name}")
        con.execute("DROP TABLE IF EXISTS session_activity")
