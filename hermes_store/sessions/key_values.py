"""Small values in `state_meta`, shared by all processes of one home."""

from __future__ import annotations

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.stored_values import optional_text


def get(tx: Transaction, key: str) -> str | None:
    """Return the value of a key, or None."""
    if "state_meta" not in tx.caps.tables:
        return None  # an older database, opened read-only
    return optional_text(tx.value("SELECT value FROM state_meta WHERE key = ?", (key,)))


def put(tx: Transaction, key: str, value: str) -> None:
    """Store a value under a key."""
    tx.run(
        "INSERT INTO state_meta(key, value) VALUES (?, ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def forget(tx: Transaction, key: str) -> None:
    """Remove a key, if it exists."""
    tx.run("DELETE FROM state_meta WHERE key = ?", (key,))
