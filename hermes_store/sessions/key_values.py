"""Small values that all processes of one home share, in `state_meta`."""

from __future__ import annotations

from hermes_store.engines.sqlite.transaction import Transaction


def get(tx: Transaction, key: str) -> str | None:
    """Return a value, or None."""
    if "state_meta" not in tx.caps.tables:
        return None  # a file from before it, opened read-only
    value: str | None = tx.value("SELECT value FROM state_meta WHERE key = ?", (key,))
    return value


def put(tx: Transaction, key: str, value: str) -> None:
    """Keep a value under a key."""
    tx.run(
        "INSERT INTO state_meta(key, value) VALUES (?, ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def forget(tx: Transaction, key: str) -> None:
    """Remove a value, if there is one."""
    tx.run("DELETE FROM state_meta WHERE key = ?", (key,))
