"""What domain code sees of a connection: bound statements, and what the file can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from hermes_store.database.probe import Capabilities
from hermes_store.text import storable


class Transaction:
    """What domain code sees of a connection: bound statements, and what the file can do."""

    __slots__ = ("_con", "caps")

    def __init__(self, con: apsw.Connection, caps: Capabilities) -> None:
        self._con = con
        self.caps = caps

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they come."""
        yield from self._con.execute(sql, _bindable(values))

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        return self._con.execute(sql, _bindable(values)).fetchone()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, values)
        return None if row is None else row[0]

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a change and return how many rows it touched."""
        self._con.execute(sql, _bindable(values))
        return self._con.changes()

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an INSERT and return the new row's id."""
        self._con.execute(sql, _bindable(values))
        return self._con.last_insert_rowid()

    @property
    def connection(self) -> apsw.Connection:
        """The connection itself, for the modules that speak SQLite's own dialect."""
        return self._con


def _bindable(values: Sequence[Any]) -> list[Any]:
    return [storable(value) if type(value) is str else value for value in values]
