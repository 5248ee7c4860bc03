"""Messages that were stored later than others but are older: imported, pushed or written anew.

Ids follow time except for these, so that a search can go by ids and still be in order of time.
Whoever stores such messages notes their ids here, in the same transaction. Files without any pay
nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.stored_values import moment, number

KEY = "hermes_sessions_late_messages"
TOLERANCE = 60.0
"""Seconds; agents that write at the same time overlap a little."""
MAX_RANGES = 20_000


@dataclass(frozen=True, slots=True)
class Late:
    """Messages with consecutive ids, in order of time among themselves."""

    first: int
    last: int
    oldest: float
    newest: float


def note(tx: Transaction, before: int) -> None:
    """Note the messages with ids above `before` that are older than the one with that id."""
    if "state_meta" not in tx.caps.tables:
        return
    newest = tx.value(
        "SELECT timestamp FROM messages WHERE id <= ? ORDER BY id DESC LIMIT 1", (before,)
    )
    reached = _highest(tx, before, moment(newest)) if newest is not None else None
    if reached is None:
        return
    rows = tx.rows("SELECT id, timestamp FROM messages WHERE id > ? ORDER BY id", (before,))
    known = ranges(tx)
    found = [*known]
    current: Late | None = None
    for message_id, stored in rows:
        at = moment(stored)
        if at >= reached - TOLERANCE:
            current = None
        elif current is not None and current.newest <= at and current.last == message_id - 1:
            current = Late(current.first, message_id, current.oldest, at)
            found[-1] = current
        else:
            current = Late(message_id, message_id, at, at)
            found.append(current)
    if len(found) > len(known):
        rows_of = [[each.first, each.last, each.oldest, each.newest] for each in found]
        tx.run(
            "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)",
            (KEY, json.dumps(rows_of[-MAX_RANGES:])),
        )


def _highest(tx: Transaction, before: int, newest: float) -> float:
    """Return the latest time before an id: the newest message may itself be a late one."""
    late = [each for each in ranges(tx) if each.first <= before]
    if not any(each.last >= before for each in late):
        return newest
    first = min(each.first for each in late)
    earlier = tx.value(
        "SELECT MAX(timestamp) FROM (SELECT timestamp FROM messages WHERE id < ? "
        "ORDER BY id DESC LIMIT 100)",
        (first,),
    )
    return max(newest, moment(earlier) if earlier is not None else newest)


def ranges(tx: Transaction) -> list[Late]:
    """Return the late messages of a database, in no order."""
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
