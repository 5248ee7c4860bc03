"""The one statement that adds a message: with its lock, its key and the counters of its session."""

from __future__ import annotations

from uuid import UUID

from hermes_store.engines.base import NewMessage, Statement
from hermes_store.engines.postgres.schema import MESSAGE_TYPES


def statement(new: NewMessage, key: UUID, lock: tuple[int, int]) -> Statement:
    """Return the statement; its answer is the id of the message.

    The lock comes first, because the message is selected from it; what else changes comes last.
    """
    counting = new.counting
    first = len(counting.values) + 1
    values = ", ".join(
        f"CAST(?{first + place} AS {MESSAGE_TYPES[name]})" for place, name in enumerate(new.row)
    )
    return Statement(
        f"WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({lock[0]}, {lock[1]})), "
        f"made AS (INSERT INTO messages({', '.join(new.row)}) SELECT {values} FROM held "
        f"RETURNING id), counted AS ({counting.sql}), "
        "kept AS (INSERT INTO changes(key, message_id) "
        f"SELECT CAST(?{first + len(new.row)} AS uuid), id FROM made) SELECT id FROM made",
        (*counting.values, *new.row.values(), str(key)),
    )
