"""Undoing the last exchange of a session."""

from __future__ import annotations

import time

from hermes_store.engines import message_states
from hermes_store.engines.base import Transaction
from hermes_store.errors import InvalidInput
from hermes_store.records.message import SUMMARY_MARK
from hermes_store.sessions import lineage, session_rows, start_child_session


def undo_exchange(tx: Transaction, session_id: str, *, answer_only: bool = False) -> int:
    """Remove the last user message and everything after it; return the number of messages.

    With `answer_only`, keep the user message. Where a newer Hermes owns the database, the rows
    remain, marked as rewound.
    """
    session = session_rows.get(tx, session_id)
    start_child_session.refuse_held(tx, session_id, time.time())
    start_child_session.refuse_continued(tx, session)
    last = tx.value(
        f"SELECT MAX(m.id) FROM messages m WHERE m.session_id = ? AND m.role = 'user' "
        f"AND {message_states.readable(tx.caps)} AND {message_states.sent(tx.caps)}",
        (session_id,),
    )
    if last is None or _is_summary(tx, session_id, last):
        raise InvalidInput(f"Session {session_id} has nothing left to undo.")
    first = last + 1 if answer_only else last
    gone = start_child_session.turns_of(tx, session_id, first)
    if tx.caps.foreign and tx.caps.has_message("active"):
        _rewind(tx, session_id, first)
    else:
        tx.run("DELETE FROM messages WHERE session_id = ? AND id >= ?", (session_id, first))
        tx.run(
            "UPDATE sessions SET message_count = MAX(0, COALESCE(message_count, 0) - ?), "
            "tool_call_count = MAX(0, COALESCE(tool_call_count, 0) - ?) WHERE id = ?",
            (len(gone), sum(turn.number_of_calls for turn in gone), session_id),
        )
    return len(gone)


def _rewind(tx: Transaction, session_id: str, first: int) -> None:
    """Mark messages as rewound; the rows remain, so a newer Hermes counts them as before."""
    tx.run(
        "UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? "
        "AND COALESCE(active, 1) = 1",
        (session_id, first),
    )
    if tx.caps.has_session("rewind_count"):
        tx.run(
            "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?",
            (session_id,),
        )


def _is_summary(tx: Transaction, session_id: str, message_id: int) -> bool:
    """Return whether a message is the summary that a continuation begins with."""
    row = tx.one(
        "SELECT (SELECT MIN(id) FROM messages WHERE session_id = m.session_id), m.content "
        "FROM messages m WHERE m.id = ?",
        (message_id,),
    )
    if row is None or row[0] != message_id:
        return False
    marked = isinstance(row[1], str) and row[1].startswith(SUMMARY_MARK)
    return marked or lineage.chain(tx, session_id)[0] != session_id
