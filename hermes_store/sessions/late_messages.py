"""Messages whose ids do not follow time: imported, pushed, copied or restored ones.

All others do, so that a search can go by ids and still be in order of time. Whoever stores such
messages notes their ids here, in the same transaction. Files without any pay nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_store.engines.base import Transaction
from hermes_store.records.stored_values import moment, number
from hermes_store.sessions import key_values

KEY = "hermes_sessions_late_messages"
MOST = 200
"""The most ranges to keep; neighbors become one range if there are more."""
TOLERANCE = 60.0
"""Seconds; agents that write at the same time overlap a little."""


@dataclass(frozen=True, slots=True)
class Late:
    """Messages with consecutive ids, in order of time among themselves."""

    first: int
    last: int
    oldest: float
    newest: float


def note_newest(tx: Transaction, session_id: str, message_id: int, at: float) -> None:
    """Note a message that was just appended, if it is out of order."""
    before = tx.value(
        "SELECT timestamp FROM messages WHERE id < ? ORDER BY id DESC LIMIT 1", (message_id,)
    )
    in_order = before is None or moment(before) - TOLERANCE <= at
    if not in_order or ranges(tx):
        note(tx, session_id, message_id)


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
        kept = _fewer([*known, *out_of_order])
        listed = [[each.first, each.last, each.oldest, each.newest] for each in kept]
        key_values.put(tx, KEY, json.dumps(listed))


def _fewer(late: list[Late]) -> list[Late]:
    """Join ranges that continue each other, and then neighbors until few are left.

    Within a range of neighbors, matches are in the order of ids.
    """
    joined: list[Late] = []
    for each in sorted(late, key=lambda each: each.first):
        last = joined[-1] if joined else None
        if last is not None and each.first == last.last + 1 and last.newest <= each.oldest:
            joined[-1] = _both(last, each)
        else:
            joined.append(each)
    while len(joined) > MOST:
        pairs = (joined[place : place + 2] for place in range(0, len(joined), 2))
        joined = [_both(pair[0], pair[-1]) for pair in pairs]
    return joined


def _both(one: Late, other: Late) -> Late:
    return Late(
        one.first,
        max(one.last, other.last),
        min(one.oldest, other.oldest),
        max(one.newest, other.newest),
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
