"""The interface of a connection to the rest of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import apsw

from hermes_store.engines.base import Capabilities
from hermes_store.records.safe_text import storable


class Transaction:
    """Statements with bound values on one connection, and the capabilities of its database."""

    __slots__ = ("_con", "caps")

    def __init__(self, con: apsw.Connection, caps: Capabilities) -> None:
        self._con = con
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

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        bound = _bindable(values)
        try:
            return self._con.execute(sql, bound).fetchone()
        except UnicodeDecodeError:
            return next(self._mended(sql, bound), None)

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
        self._con.execute(sql, _bindable(values))
        return self._con.changes()

    def insert(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an INSERT and return the new row's id."""
        self._con.execute(sql, _bindable(values))
        return self._con.last_insert_rowid()

    @property
    def connection(self) -> apsw.Connection:
        """The connection itself, for modules that use SQLite's own features."""
        return self._con


def _bindable(values: Sequence[Any]) -> list[Any]:
    return [storable(value) if type(value) is str else value for value in values]
