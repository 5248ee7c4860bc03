"""The interface of a PostgreSQL connection to the rest of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

import apsw
import psycopg

from hermes_store.engines.base import Capabilities, Interrupted
from hermes_store.engines.postgres.connections import Connection
from hermes_store.engines.postgres.dialect import translated
from hermes_store.engines.postgres.error_translation import broken_rule
from hermes_store.engines.postgres.text_coding import bindable
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.engines.sqlite.tokenizer import Tokenize, tokenizer
from hermes_store.errors import InvalidInput

_NUMBERS = count(1)
"""For names of cursors and savepoints: several transactions may share a connection."""
FETCHED = 20
"""Rows to fetch at once where a whole session is read."""


@cache
def split_words() -> Tokenize:
    """Return what splits text into words, for both engines in the same way."""
    return tokenizer(apsw.Connection(":memory:"))


class PostgresTransaction:
    """Statements with bound values on one connection, and the capabilities of its database."""

    __slots__ = ("_con", "_row_limit", "_stops", "caps")

    def __init__(
        self, con: Connection, caps: Capabilities, *, row_limit: int | None = None
    ) -> None:
        self._con = con
        self.caps = caps
        self._row_limit = row_limit
        self._stops: list[Callable[[], bool]] = []

    def _execute(self, sql: str, values: Sequence[Any]) -> psycopg.Cursor[tuple[Any, ...]]:
        if any(stopped() for stopped in self._stops):
            raise Interrupted
        try:
            return self._con.execute(translated(sql), [bindable(value) for value in values])
        except psycopg.IntegrityError as error:
            rule = broken_rule(error)
            if rule is None:
                raise
            raise rule from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows."""
        # Not lazily, as in SQLite: whoever walks the rows may ask more on the same connection.
        if self._row_limit is None:
            return iter(self._execute(sql, values).fetchall())
        # The server stops there, instead of sending what nobody could hold.
        limited = f"SELECT * FROM ({sql}) AS limited LIMIT {self._row_limit + 1}"
        found = self._execute(limited, values).fetchall()
        if len(found) > self._row_limit:
            raise InvalidInput(
                f"That would read more than {self._row_limit:,} rows at once. Ask for less, or "
                "allow more with row_limit=NUMBER in the address of the server."
            )
        return iter(found)

    def all_rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query whose rows nobody asked for, so that no limit is meant for them."""
        return self._execute(sql, values).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query whose rows together may be too large for memory; fetch a few at a time."""
        cursor = psycopg.RawServerCursor(self._con, f"rows_{next(_NUMBERS)}")
        with cursor:
            cursor.itersize = FETCHED
            cursor.execute(translated(sql), [bindable(value) for value in values])
            yield from cursor

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        return self._execute(sql, values).fetchone()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, values)
        return None if row is None else row[0]

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a change and return the number of rows it affected."""
        return max(0, self._execute(sql, values).rowcount)

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an INSERT and return the new row's id."""
        row = self._execute(f"{sql} RETURNING id", values).fetchone()
        assert row is not None
        return int(row[0])

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns, none if it does not exist."""
        rows = self.rows(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(?) "
            "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (table,),
        )
        return tuple(name for (name,) in rows)

    def stored_rows(
        self, names: Sequence[str], source: str, values: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns exactly as they are stored; `source` is what follows FROM."""
        return self.stream(f"SELECT {', '.join(map(quote, names))} FROM {source}", values)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo what the block changed if it raises; what came before it stays."""
        name = f"part_{next(_NUMBERS)}"
        self._con.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            self._con.execute(f"ROLLBACK TO SAVEPOINT {name}")
            raise
        self._con.execute(f"RELEASE SAVEPOINT {name}")

    @contextmanager
    def deleting(self, session_id: str) -> Iterator[None]:
        """Provide the block in which the rows of a session are deleted for good."""
        # Without it, the triggers of each deleted message have nothing to update.
        self.run("DELETE FROM session_activity WHERE session_id = ?", (session_id,))
        yield

    @contextmanager
    def interruptible(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Raise Interrupted from statements inside the block once `stopped` says so.

        Statements are short: what takes long is asked in parts.
        """
        self._stops.append(stopped)
        try:
            yield
        finally:
            self._stops.remove(stopped)

    def split(self, text: str) -> Sequence[str]:
        """Split text into words exactly as the word index does."""
        return split_words()(text)

    def plan_once(self) -> None:
        """Use the same plan for all values in this transaction: planning takes longer than asking.

        For statements whose shape leaves the planner no choice.
        """
        self._con.execute("SET LOCAL plan_cache_mode = force_generic_plan")

    @property
    def connection(self) -> Connection:
        """The connection itself, for what only PostgreSQL has, such as COPY."""
        return self._con
