"""Plain helpers that many tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge
from hermes_store.sessions import messages, session_rows, titles
from tests.sqlite_parts import connection

# A moment far enough back that everything made at it counts as old.
LONG_AGO = 1_600_000_000.0


def add(
    db: SessionDB,
    session_id: str,
    *said: Any,
    source: str = "cli",
    at: float = LONG_AGO,
    parent: str | None = None,
    edge: Edge | None = None,
    ended: float | None = None,
    reason: str = "user_exit",
    title: str | None = None,
) -> str:
    """Write a session with user messages one second apart, the first one second after `at`."""
    with db._db.write() as tx:
        session_rows.create(
            tx, session_id, source, parent_session_id=parent, edge=edge, started_at=at
        )
        for place, content in enumerate(said, 1):
            messages.append(tx, session_id, {"role": "user", "content": content}, at + place)
        if title is not None:
            titles.assign(tx, session_id, title)
        if ended is not None:
            session_rows.end(tx, session_id, reason, ended)
    return session_id


def add_chain(
    db: SessionDB, ids: Iterable[str], *, at: float = LONG_AGO, live: bool = False
) -> None:
    """Write a compression chain: each session 100 s after the one before, one message each."""
    parent: str | None = None
    names = list(ids)
    for place, name in enumerate(names):
        start = at + 100 * place
        last = place == len(names) - 1
        add(
            db,
            name,
            f"said in {name}",
            at=start,
            parent=parent,
            ended=None if last and live else start + 50,
            reason="user_exit" if last else "compression",
        )
        parent = name


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """Open the file beside the store, without foreign keys: the way damage comes in."""
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    con.set_busy_timeout(2_000)
    try:
        yield con
    finally:
        con.close()


def schema_of(path: Path) -> list[tuple[Any, ...]]:
    """Return everything that a file says about its own schema."""
    with raw(path) as con:
        return list(con.execute("SELECT * FROM sqlite_master ORDER BY rowid"))


def is_whole(path: Path) -> bool:
    """Tell whether SQLite finds nothing wrong with a file."""
    with raw(path) as con:
        return list(con.execute("PRAGMA integrity_check")) == [("ok",)]


def found(db: SessionDB, word: str) -> list[str]:
    """Return the sessions of the messages that the word index has for a word."""
    with db._db.read() as tx:
        return [
            row[0]
            for row in tx.rows(
                "SELECT m.session_id FROM messages_fts f JOIN messages m ON m.id = f.rowid "
                "WHERE messages_fts MATCH ? ORDER BY m.id",
                (word,),
            )
        ]


def is_table_scan(line: str) -> bool:
    """Return whether a line of a query plan reads a table from end to end.

    Walking the rows of a chain, or a list of ids that was passed in, is no such thing.
    """
    passed_in = ("SCAN chain", "SCAN json_each", "SCAN wanted")
    return line.startswith("SCAN") and not line.startswith(passed_in)


class Work:
    """What a reader had to do: its queries, and how many steps of SQLite's machine they took."""

    def __init__(self, db: SessionDB, action: Callable[[SessionDB], Any]) -> None:
        self._db = db
        with db._db.read() as tx:
            con = connection(tx)
        profiles: list[dict[str, Any]] = []
        # The pool hands out the connection that came back last, so the action runs on this one.
        con.trace_v2(apsw.SQLITE_TRACE_PROFILE, profiles.append)
        try:
            self.answer = action(db)
        finally:
            con.trace_v2(0)
        queries = [each for each in profiles if each["sql"].startswith(("SELECT", "WITH"))]
        assert queries, "the action ran on another connection"
        self.queries = [each["sql"] for each in queries]
        self.steps = sum(each["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for each in queries)

    def plans(self) -> list[list[str]]:
        """Return the lines of each query's plan."""
        with self._db._db.read() as tx:
            return [
                [
                    row[3]
                    for row in connection(tx).execute(
                        f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")
                    )
                ]
                for sql in self.queries
            ]
