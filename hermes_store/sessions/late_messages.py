"""Messages whose ids do not follow time: imported, pushed, copied or restored ones.

All others do, so that a search can go by ids and still be in order of time. Whoever stores such
messages notes their ids here, in the same transaction. Files without any pay nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.stored_values import moment, number

KEY = "hermes_sessions_late_messages"
TOLERANCE = 60.0
"""Seconds; agents that write at the same time overlap a little."""


@dataclass(frozen=True, slots=True)
class Late:
    """Messages with consecutive ids, in order of time among themselves."""

    first: int
    last: int
    oldest: float
    newest: float


def note(tx: Transaction, session_id: str, since: int) -> None:
    """Note the messages of a session with ids from `since` that are out of order."""
    if "state_meta" not in tx.caps.tables:
        return
    known = ranges(tx)
    found: list[Late] = []
    rows = tx.rows(
        "SELECT id, timestamp FROM messages WHERE session_id = ? AND id >= ? ORDER BY id",
        (session_id, since),
    )
    for message_id, stored in rows:
        at = moment(stored)
        last = found[-1] if found else None
        if last is not None and last.last == message_id - 1 and last.newest <= at:
            found[-1] = Late(last.first, message_id, last.oldest, at)
        else:
            found.append(Late(message_id, message_id, at, at))
    out_of_order = [each for each in found if not _fits(tx, each, known)]
    if out_of_order:
        listed = [[each.first, each.last, each.oldest, each.newest]
                  for each in (*known, *out_of_order)]  # fmt: skip
        tx.run(
            "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)", (KEY, json.dumps(listed))
        )


def _fits(tx: Transaction, late: Late, known: Sequence[Late]) -> bool:
    """Tell whether messages are no older than those before and no newer than those behind."""
    before = _beside(tx, late.first - 1, known, forward=False)
    behind = _beside(tx, late.last + 1, known, forward=True)
    return (before is None or before - TOLERANCE <= late.oldest) and (
        behind is None or late.newest <= behind + TOLERANCE
    )


def _beside(
    tx: Transaction, message_id: int, known: Sequence[Late], *, forward: bool
) -> float | None:
    """Return the time of the nearest message in order, in one direction."""
    sign, order = (">=", "ASC") if forward else ("<=", "DESC")
    for each in sorted(known, key=lambda each: each.first, reverse=not forward):
        if each.first <= message_id <= each.last:
            message_id = each.last + 1 if forward else each.first - 1
    stored = tx.value(
        f"SELECT timestamp FROM messages WHERE id {sign} ? ORDER BY id {order} LIMIT 1",
        (message_id,),
    )
    return None if stored is None else moment(stored)


def ranges(tx: Transaction) -> list[Late]:
    """Return the messages of a database that are out of order."""
    if "state_meta" not in tx.caps.tables:
        return []
    stored = tx.value("SELECT value FROM state_meta WHERE key = ?", (KEY,))
    if not isinstance(stored, str):
        return []
    try:
        listed = json.loads(stored)
    except ValueError:
        return []
    found = []
    for each in listed if isinstance(listed, list) else []:
        values = [number(value) for value in each] if isinstance(each, list) else []
        if len(values) == 4 and None not in values:
            first, last, oldest, newest = (float(value or 0) for value in values)
            found.append(Late(int(first), int(last), oldest, newest))
    return found
