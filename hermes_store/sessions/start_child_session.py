"""Starting the session that follows another one.

Compressing and branching share this: which messages belong together, what the new session
inherits from the old one, and when a session must not be touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hermes_store.engines import message_states
from hermes_store.engines.base import Transaction
from hermes_store.errors import InvalidInput, SessionInUse
from hermes_store.records import message_content, stored_values, tool_calls
from hermes_store.records.relation_to_parent import MARKERS, Edge
from hermes_store.records.session import Session
from hermes_store.sessions import (
    in_use,
    late_messages,
    lineage,
    new_message,
    session_rows,
)

PROMPT = ("system_prompt", "system_prompt_hash")
_COPIED = (
    *new_message.SAID,
    "effect_disposition",
    "observed",
    "api_content",
    "display_kind",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What it takes to tell which messages belong together."""

    message_id: int
    role: str
    timestamp: float
    answers: str | None = None
    """The call that a tool result answers."""
    calls: frozenset[str] = frozenset()
    number_of_calls: int = 0


def check_moment(now: float) -> None:
    if not isfinite(now):
        raise InvalidInput(f"{now} is not a valid time to continue a session.")


def refuse_held(tx: Transaction, session_id: str, now: float) -> None:
    reason = in_use.held(tx, session_id, now)
    if reason is not None:
        raise SessionInUse(f"{reason} Nothing was changed; try again in a moment.")


def refuse_continued(tx: Transaction, session: Session) -> None:
    """Refuse a session that was compressed; inside a write, this decides a race."""
    if session.ended_at is None or session.end_reason != "compression":
        return
    tip = lineage.compression_tip(tx, session.id)
    where = f"It continues in {tip}; resume that one." if tip != session.id else "Reopen it first."
    raise SessionInUse(f"Session {session.id} has already been compressed. {where}")


def turns_of(tx: Transaction, session_id: str, first: int = 0) -> list[Turn]:
    """Return the messages sent to a model from an id on, including those hidden on screen."""
    alive = message_states.sent(tx.caps)
    rows = tx.rows(
        "SELECT m.id, m.role, m.timestamp, m.tool_call_id, m.tool_calls FROM messages m "
        f"WHERE m.session_id = ? AND m.id >= ? AND {alive} ORDER BY m.id",
        (session_id, first),
    )
    return [_turn(*row) for row in rows]


def _turn(message_id: int, role: Any, moment: Any, answers: Any, calls: Any) -> Turn:
    made = tool_calls.parse(message_content.decode_json(stored_values.optional_text(calls)))
    known = frozenset(call.id for call in made if call.id)
    return Turn(
        message_id,
        stored_values.text(role),
        stored_values.moment(moment),
        stored_values.optional_text(answers),
        known,
        len(made),
    )


def end(tx: Transaction, session_id: str, reason: str, now: float) -> None:
    """End a session for a new reason, even if it has already ended."""
    tx.run(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?", (now, reason, session_id)
    )


def begin(tx: Transaction, old: Session, new_id: str | None, now: float, edge: Edge | None) -> str:
    """Add the session that follows another one and return its id."""
    session_id = new_id or session_rows.new_session_id(now)
    config = {
        name: value
        for name, value in (old.model_config or {}).items()
        if name not in MARKERS.values()
    }
    added = session_rows.create(
        tx,
        session_id,
        old.source,
        model=old.model,
        model_config=config,
        user_id=old.user_id,
        parent_session_id=old.id,
        edge=edge,
        started_at=now,
    )
    if not added:
        raise InvalidInput(f"Session {session_id} already exists. Choose another id.")
    return session_id


def inherit(tx: Transaction, old_id: str, new_id: str, columns: Sequence[str]) -> None:
    """Copy these columns to the new session, as far as the database has them."""
    present = [name for name in columns if tx.caps.has_session(name)]
    changes = ", ".join(f"{name} = (SELECT {name} FROM sessions WHERE id = ?2)" for name in present)
    tx.run(f"UPDATE sessions SET {changes} WHERE id = ?1", (new_id, old_id))


def copy(tx: Transaction, old_id: str, new_id: str, turns: Sequence[Turn]) -> None:
    """Append copies of messages, with everything a replay needs, and count them."""
    if not turns:
        return
    columns = ", ".join(name for name in _COPIED if tx.caps.has_message(name))
    alive = message_states.sent(tx.caps)
    newest = tx.value("SELECT MAX(id) FROM messages") or 0
    copied = tx.run(
        f"INSERT INTO messages(session_id, {columns}) SELECT ?, {columns} FROM messages m "
        f"WHERE m.session_id = ? AND m.id >= ? AND {alive} ORDER BY m.id",
        (new_id, old_id, turns[0].message_id),
    )
    tx.run(
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?, "
        "tool_call_count = COALESCE(tool_call_count, 0) + ? WHERE id = ?",
        (copied, sum(turn.number_of_calls for turn in turns), new_id),
    )
    late_messages.note(tx, new_id, newest + 1)
