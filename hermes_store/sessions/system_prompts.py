"""System prompts: in the session's own row, or once for all sessions where a newer Hermes has that.

There, `system_prompts` holds each prompt under its hash, and a session names the hash.
"""

from __future__ import annotations

import hashlib
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records.safe_text import storable

STORE = "INSERT INTO system_prompts(hash, prompt) VALUES (?, ?) ON CONFLICT DO NOTHING"
_USED = "SELECT 1 FROM sessions WHERE system_prompt_hash = system_prompts.hash"


def are_shared(tx: Transaction) -> bool:
    """Return whether a database stores each prompt once."""
    return "system_prompts" in tx.caps.tables and tx.caps.has_session("system_prompt_hash")


def columns(tx: Transaction, prompt: str | None) -> dict[str, Any]:
    """Return what a session's row has to hold for a prompt, which is stored if it is shared."""
    if not are_shared(tx):
        return {"system_prompt": prompt}
    if prompt is None:
        return {"system_prompt": None, "system_prompt_hash": None}
    name = hashlib.sha256(storable(prompt).encode()).hexdigest()
    tx.run(STORE, (name, prompt))
    return {"system_prompt": None, "system_prompt_hash": name}


def has_none(tx: Transaction, session_id: str) -> bool:
    """Return whether a session has no prompt yet."""
    shared = "AND system_prompt_hash IS NULL" if are_shared(tx) else ""
    row = tx.one(
        f"SELECT 1 FROM sessions WHERE id = ? AND system_prompt IS NULL {shared}", (session_id,)
    )
    return row is not None


def shared_by(tx: Transaction, session_id: str) -> str | None:
    """Return the hash of the shared prompt of a session, if it has one."""
    if not are_shared(tx):
        return None
    found: str | None = tx.value(
        "SELECT system_prompt_hash FROM sessions WHERE id = ?", (session_id,)
    )
    return found


def forget_unused(tx: Transaction, name: str | None) -> None:
    """Delete a shared prompt that no session uses any more."""
    if name is not None and are_shared(tx):
        tx.run(f"DELETE FROM system_prompts WHERE hash = ? AND NOT EXISTS ({_USED})", (name,))
