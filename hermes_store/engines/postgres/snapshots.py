"""Snapshots for reading: one connection for each thread that reads.

Whoever reads inside of another read, such as the rows of results while a search goes on, shares its
connection and its snapshot. With a connection for each, a few searches at once would take all of
them, and wait for one more forever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.pq import TransactionStatus

from hermes_store.engines.postgres.connections import Connection, Connections
from hermes_store.engines.postgres.transaction import PostgresTransaction

Made = Callable[[Connection], PostgresTransaction]


class _Snapshot:
    """A snapshot on a connection, with the number of those who read in it."""

    def __init__(self, con: Connection) -> None:
        self.con = con
        self.readers = 0


class Snapshots:
    """Provides snapshots, each to one thread."""

    def __init__(self, connections: Connections, made: Made) -> None:
        self._connections = connections
        self._made = made
        self._here = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        """Provide a snapshot for the length of the block, that of this thread if it has one."""
        snapshot = self._joined()
        if snapshot is None:
            snapshot = _Snapshot(self._connections.take(_begin))
            snapshot.readers = 1
            self._here.snapshot = snapshot
        try:
            yield self._made(snapshot.con)
        except BaseException:
            self.forget()  # the server may have given up everything on it
            raise
        finally:
            self._leave(snapshot)

    def _joined(self) -> _Snapshot | None:
        snapshot: _Snapshot | None = getattr(self._here, "snapshot", None)
        with self._lock:
            if snapshot is None or not snapshot.readers:
                return None
            snapshot.readers += 1
        return snapshot

    def _leave(self, snapshot: _Snapshot) -> None:
        """Give the connection back once nobody reads, also where generators ended out of order."""
        with self._lock:
            snapshot.readers -= 1
            if snapshot.readers:
                return
        con = snapshot.con
        if con.info.transaction_status is TransactionStatus.INTRANS:
            # Not a rollback: it would make the driver forget all prepared statements.
            with suppress(psycopg.Error):
                con.execute("COMMIT")
        self._connections.give_back(con)

    def forget(self) -> None:
        """Let this thread begin a new snapshot, as after a change that it made."""
        self._here.snapshot = None

    @contextmanager
    def current(self) -> Iterator[PostgresTransaction | None]:
        """Provide the snapshot of this thread if it has one, else None."""
        snapshot = self._joined()
        if snapshot is None:
            yield None
            return
        try:
            yield self._made(snapshot.con)
        finally:
            self._leave(snapshot)


def _begin(con: Connection) -> None:
    con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
