"""What only SQLite has, for tests that look inside of it."""

from __future__ import annotations

import apsw

from hermes_store.engines.base import Database, Transaction
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.engines.sqlite.transaction import SqliteTransaction


def sqlite(database: Database) -> SqliteDatabase:
    """Return a database as the file that it is."""
    assert isinstance(database, SqliteDatabase)
    return database


def in_sqlite(tx: Transaction) -> SqliteTransaction:
    """Return a transaction as one of SQLite."""
    assert isinstance(tx, SqliteTransaction)
    return tx


def connection(tx: Transaction) -> apsw.Connection:
    """Return the connection of a transaction."""
    return in_sqlite(tx).connection
