"""What became of a change whose connection was lost while it was being committed.

Each change leaves a row with a key of its own. Not pg_xact_status: a server that ended at once
gives the numbers of lost transactions to others.
"""

from __future__ import annotations

from uuid import UUID

import psycopg

from hermes_store.engines.postgres.connections import Connection, Connections
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import ChangeUncertain, DatabaseError

_NEVER = -1
"""Stands for a change that was not committed, and never will be."""
Receipt = tuple[int | None]
"""The message that was added, if that was the change."""


class Receipts:
    """The rows that changes leave."""

    def __init__(self, connections: Connections, schema: str, name: str) -> None:
        self._connections = connections
        self._table = f"{quote(schema)}.changes"
        self._name = name

    def of(self, key: UUID) -> Receipt | None:
        """Return the receipt of a change; None if it was not committed, and never will be."""
        found: list[Receipt | None] = []

        def ask(con: Connection) -> None:
            # Whoever still holds the change, such as a process that has not noticed yet, is waited
            # for: its row cannot be taken before it is committed or gone.
            taken = con.execute(
                f"INSERT INTO {self._table}(key, message_id) VALUES ($1, {_NEVER}) "
                "ON CONFLICT DO NOTHING RETURNING key",
                (key,),
            ).fetchone()
            if taken is not None:
                found.append(None)
                return
            row = con.execute(
                f"SELECT message_id FROM {self._table} WHERE key = $1", (key,)
            ).fetchone()
            # The row may be our own, of a question whose answer was lost.
            never = row is None or row[0] == _NEVER
            found.append(None if row is None or never else (row[0],))

        try:
            self._connections.give_back(self._connections.take(ask))
        except (psycopg.Error, DatabaseError) as error:
            raise ChangeUncertain(
                f"The connection to {self._name} was lost while a change was being committed. "
                "It may have been made: check before you repeat it."
            ) from error
        return found[-1]
