"""Which messages of a session a person reads, and in which order.

In an ordinary session these are all messages, by id. Where a newer Hermes has compacted a session
in place, the summarised messages stand where they were said, and what compacting copied is shown
once: as it is sent now, at its first place.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hermes_store.engines import message_states
from hermes_store.engines.base import Transaction
from hermes_store.records.message import State
from hermes_store.records.stored_values import number

_SAME = ("timestamp", "role", "content", "tool_call_id", "tool_calls", "tool_name")
"""What a copy made by compacting shares with its original."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """The messages of a session as a person reads them."""

    ids: array[int]
    states: Mapping[int, State] = field(default_factory=dict)
    """Of those that are not simply sent to the model."""
    left_out: Mapping[State, int] = field(default_factory=dict)
    """How many messages are not shown unless they are asked for."""
    copies: Mapping[int, int] = field(default_factory=dict)
    """Messages that are shown as another one: what compacting copied."""

    def state(self, message_id: int) -> State:
        """Return the state of a message."""
        return self.states.get(message_id, State.SENT)


def arrange(tx: Transaction, session_id: str, *, everything: bool = False) -> Arranged:
    """Return the messages of a session; with `everything` also those taken back or hidden."""
    if not any(map(tx.caps.has_message, ("active", "display_kind", "display_order"))):
        only = tx.rows("SELECT id FROM messages WHERE session_id = ? ORDER BY id", (session_id,))
        return Arranged(array("q", (message_id for (message_id,) in only)))
    ordered = "display_order" if tx.caps.has_message("display_order") else "NULL"
    rows = tx.rows(
        f"SELECT m.id, {message_states.state(tx.caps)}, {ordered} FROM messages m "
        "WHERE m.session_id = ? ORDER BY m.id",
        (session_id,),
    )
    found: dict[int, State] = {}
    places: dict[int, tuple[float, int]] = {}
    left_out: Counter[State] = Counter()
    place = 0.0
    for message_id, stored, order in rows:
        state = State(stored)
        # One without a place of its own stands behind the one before it.
        place = max(place, float(message_id)) if ordered == "NULL" else number(order) or place
        if state in (State.SENT, State.SUMMARISED) or everything:
            found[message_id] = state
            places[message_id] = (place, message_id)
        else:
            left_out[state] += 1
    copies: dict[int, int] = {}
    if State.SUMMARISED in found.values():
        copies = _copies(tx, session_id, found)
        if ordered == "NULL":
            for copy, shown in copies.items():
                places[shown] = min(places[shown], places[copy])
    ids = sorted((each for each in found if each not in copies), key=places.__getitem__)
    states = {each: found[each] for each in ids if found[each] is not State.SENT}
    return Arranged(array("q", ids), states, dict(left_out), copies)


def _copies(tx: Transaction, session_id: str, found: Mapping[int, State]) -> dict[int, int]:
    """Return the messages that are copies of one that is shown, each with that one."""
    named = "display_identity" if tx.caps.has_message("display_identity") else "NULL"
    present = [name if tx.caps.has_message(name) else "NULL" for name in _SAME]
    rows = tx.rows(
        f"SELECT id, {named}, {', '.join(present)} FROM messages WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    shown: dict[Hashable, int] = {}
    copies: dict[int, int] = {}
    for message_id, identity, *same in rows:
        if message_id not in found or found[message_id] in (State.REWOUND, State.HIDDEN):
            continue
        key: Hashable = tuple(map(_comparable, same)) if identity is None else identity
        earlier = shown.get(key)
        if earlier is None:
            shown[key] = message_id
        elif found[earlier] is State.SENT and found[message_id] is State.SENT:
            continue  # said twice, not copied
        else:
            # What is sent counts, and the newest copy otherwise.
            best = earlier if found[earlier] is State.SENT else message_id
            copies[message_id if best == earlier else earlier] = best
            shown[key] = best
    return {copy: _last(copies, copy) for copy in copies}


def _last(copies: Mapping[int, int], message_id: int) -> int:
    while message_id in copies:
        message_id = copies[message_id]
    return message_id


def _comparable(value: Any) -> Hashable:
    return hash(value) if isinstance(value, str | bytes) else value
