"""The interface of an SQLite connection to the rest of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

import apsw

from hermes_store.engines.base import (
    Capabilities,
    ConstraintFailed,
    Interrupted,
    NoSuchRow,
    NotUnique,
)
from hermes_store.engines.sqlite import session_activity_table
from hermes_store.engines.sqlite.raw_rows import raw_rows
from hermes_store.engines.sqlite.schema_reader import columns
from hermes_store.engines.sqlite.tokenizer import Tokenize, tokenizer
from hermes_store.records.safe_text import storable

CHECK_EVERY = 1_000
"""SQLite instructions between two checks; about 0.1 ms."""
_BROKEN_RULES: dict[int | None, type[ConstraintFailed]] = {
    apsw.SQLITE_CONSTRAINT_UNIQUE: NotUnique,
    apsw.SQLITE_CONSTRAINT_PRIMARYKEY: NotUnique,
    apsw.SQLITE_CONSTRAINT_FOREIGNKEY: NoSuchRow,
}


class SqliteTransaction:
    """Statements with bound values on one connection, and the capabilities of its database."""

    __slots__ = ("_con", "_tokenize", "caps")

    def __init__(self, con: apsw.Connection, caps: Capabilities) -> None:
        self._con = con
        self._tokenize: Tokenize | None = None
        self.caps = caps

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they come."""
        bound, given = _bindable(values), 0
        try:
            for row in self._con.execute(sql, bound):
                given += 1
                yield row
        except UnicodeDecodeError:
            yield from islice(self._mended(sql, bound), given, None)
        except apsw.InterruptError as error:
            raise Interrupted from error

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query whose rows together may be too large for memory."""
        return self.rows(sql, values)

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        bound = _bindable(values)
        try:
            return self._con.execute(sql, bound).fetchone()
        except UnicodeDecodeError:
            return next(self._mended(sql, bound), None)
        except apsw.InterruptError as error:
            raise Interrupted from error

    def _mended(self, sql: str, bound: list[Any]) -> Iterator[tuple[Any, ...]]:
        """Run a query again, with U+FFFD in place of invalid UTF-8.

        Other programs can store any bytes as text; apsw does not return such rows.
        """
        # Loaded here because it takes longer than the rest of apsw and is hardly ever needed.
        from apsw.ext import query_info

        names = [f"c{place}" for place in range(len(query_info(self._con, sql).description))]
        columns = ", ".join(
            f"typeof({each}), iif(typeof({each}) = 'text', CAST({each} AS BLOB), {each})"
            for each in names
        )
        whole = f"WITH q({', '.join(names)}) AS MATERIALIZED ({sql}) SELECT {columns} FROM q"
        for row in self._con.execute(whole, bound):
            yield tuple(
                value.decode("utf-8", "replace") if kind == "text" else value
                for kind, value in zip(row[::2], row[1::2], strict=True)
            )

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, values)
        return None if row is None else row[0]

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a change and return the number of rows it affected."""
        self._execute(sql, values)
        return self._con.changes()

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an INSERT and return the new row's id."""
        self._execute(sql, values)
        return self._con.last_insert_rowid()

    def _execute(self, sql: str, values: Sequence[Any]) -> None:
        try:
            self._con.execute(sql, _bindable(values))
        except apsw.InterruptError as error:
            raise Interrupted from error
        except apsw.ConstraintError as error:
            rule = _BROKEN_RULES.get(getattr(error, "extendedresult", None))
            if rule is None:
                raise
            raise rule from error

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it does not exist."""
        return columns(self._con, table)

    def stored_rows(
        self, names: Sequence[str], source: str, values: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns exactly as they are stored; `source` is what follows FROM."""
        return raw_rows(self._con, names, source, values)

    def all_or_nothing(self) -> AbstractContextManager[object]:
        """Undo what the block changed if it raises; what came before it stays."""
        return self._con

    @contextmanager
    def deleting(self, session_id: str) -> Iterator[None]:
        """Overwrite with zeros what the block deletes of a session."""
        with overwriting(self._con):
            session_activity_table.stop_tracking(self._con, self.caps, session_id)
            yield

    @contextmanager
    def interruptible(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Raise Interrupted from statements inside the block once `stopped` says so."""
        self._con.set_progress_handler(stopped, CHECK_EVERY, id=stopped)
        try:
            yield
        finally:
            self._con.set_progress_handler(None, id=stopped)

    def split(self, text: str) -> Sequence[str]:
        """Split text into words exactly as the word index does."""
        if self._tokenize is None:
            self._tokenize = tokenizer(self._con)
        return self._tokenize(text)

    @property
    def connection(self) -> apsw.Connection:
        """The connection itself, for modules that use SQLite's own features."""
        return self._con


@contextmanager
def overwriting(con: apsw.Connection) -> Iterator[None]:
    """Overwrite with zeros what is deleted in the block."""
    before = con.execute("PRAGMA secure_delete").get
    con.execute("PRAGMA secure_delete = ON")
    try:
        yield
    finally:
        con.execute(f"PRAGMA secure_delete = {before}")


def _bindable(values: Sequence[Any]) -> list[Any]:
    return [storable(value) if type(value) is str else value for value in values]
