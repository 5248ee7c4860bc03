"""The values of sessions and messages in the form that a column promises, and their checksums.

A file of SQLite can hold anything in any column; a server cannot. What is moved is first brought
into that form, and the checksum is of the form, so that both sides can compute it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS, PLACE_COLUMNS, SESSION_COLUMNS
from hermes_store.records import stored_values
from hermes_store.records.safe_text import storable
from hermes_store.sessions.new_message import LATER

_KINDS = {
    column.name: column.declaration.split()[0]
    for column in (*MESSAGE_COLUMNS, *SESSION_COLUMNS, *PLACE_COLUMNS)
} | dict.fromkeys(LATER, "TEXT")
_KINDS |= dict.fromkeys(("active", "compacted", "observed"), "INTEGER")
_NEEDED = {"source": "unknown", "role": "unknown", "started_at": 0.0, "timestamp": 0.0}

SESSION = tuple(column.name for column in (*SESSION_COLUMNS, *PLACE_COLUMNS))
MESSAGE = tuple(
    name
    for name in (*(column.name for column in MESSAGE_COLUMNS), *LATER)
    if name not in ("id", "session_id")
)


def formed(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return values in the form that their columns promise."""
    return {name: _formed(name, value) for name, value in zip(names, values, strict=True)}


def _formed(name: str, value: Any) -> Any:
    if value is not None:
        match _KINDS[name]:
            case "INTEGER":
                number = stored_values.optional_count(value)
                value = number if number is not None and abs(number) < 2**63 else None
            case "REAL":
                real = stored_values.number(value)
                value = real if real is not None and isfinite(real) else None
            case _:
                value = storable(stored_values.text(value))
    return _NEEDED.get(name) if value is None else value


def checksum(message: Mapping[str, Any]) -> int:
    """Return a number of 62 bits for a message in its form."""
    listed = json.dumps([message[name] for name in MESSAGE], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(listed.encode()).digest()[:8], "big") >> 2


def row_sum(session: Mapping[str, Any], active: Any) -> str:
    """Return a text that changes with any column of a session, and with messages taken back."""
    listed = json.dumps([*(session[name] for name in SESSION), str(active)], ensure_ascii=False)
    return hashlib.sha256(listed.encode()).hexdigest()[:32]
