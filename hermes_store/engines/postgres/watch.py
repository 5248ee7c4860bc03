"""Detects changes without asking again and again: the server tells who listens."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from hermes_store.engines.postgres.address import Address
from hermes_store.engines.postgres.indexing import channel_of

CONNECT_SECONDS = 3


class PostgresWatch:
    """Listens to one schema, from one thread."""

    def __init__(self, given: str) -> None:
        self._address = Address.parse(given)
        self._con: psycopg.Connection[tuple[object, ...]] | None = None
        self._started = False

    def changed(self) -> bool:
        """Return whether anything was committed since the last call; False on the first call.

        A connection that was lost is opened again; whatever happened meanwhile is a change.
        """
        first, self._started = not self._started, True
        try:
            if self._con is None or self._con.closed:
                self._con = self._listening()
                return not first
            return any(True for _ in self._con.notifies(timeout=0))
        except psycopg.Error:
            self.close()  # try again next time
            return False

    def _listening(self) -> psycopg.Connection[tuple[object, ...]]:
        con = psycopg.connect(
            self._address.connection, autocommit=True, connect_timeout=CONNECT_SECONDS
        )
        con.execute(f"LISTEN {channel_of(self._address.schema)}")
        return con

    def close(self) -> None:
        """Close the connection; asking again opens it."""
        if self._con is not None:
            with suppress(psycopg.Error):
                self._con.close()
        self._con = None
