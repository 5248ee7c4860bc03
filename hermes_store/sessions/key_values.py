"""Small values in `state_meta`, shared by all processes of one home."""

from __future__ import annotations

from hermes_store.engines.base import Transaction
from hermes_store.errors import DatabaseError
from hermes_store.records.stored_values import optional_text

TABLE = "state_meta"


def get(tx: Transaction, key: str) -> str | None:
    """Return the value of a key, or None."""
    if TABLE not in tx.caps.tables:
        return None  # an older database, opened read-only
    return optional_text(tx.value("SELECT value FROM state_meta WHERE key = ?", (key,)))


def put(tx: Transaction, key: str, value: str) -> None:
    """Store a value under a key."""
    if TABLE not in tx.caps.tables:
        raise DatabaseError(
            f"This database of a newer Hermes Agent has lost its table {TABLE}, so nothing can be "
            "noted in it. Start that Hermes Agent once; it creates the table again."
        )
    tx.run(
        "INSERT INTO state_meta(key, value) VALUES (?, ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def forget(tx: Transaction, key: str) -> None:
    """Remove a key, if it exists."""
    if TABLE in tx.caps.tables:
        tx.run("DELETE FROM state_meta WHERE key = ?", (key,))
