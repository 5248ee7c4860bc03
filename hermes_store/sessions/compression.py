"""Compressing a session into a continuation.

This is one transaction: a crash leaves either the old state or the complete new one.

A continuation begins with the summary as a user message, because servers expect a conversation
to begin with the user; a mark at its beginning identifies it. Copies of the last turns follow
with their original timestamps; the summary has the timestamp of the first of them, so that it
comes first by time as well as by id.

Databases of a newer Hermes are handled in the same way. It can compact a session in place, but
knows continuations as well: with compression.in_place off it creates them itself, and it resumes
and lists them either way. So nothing has to be guessed about its own bookkeeping.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_store.engines.base import Transaction
from hermes_store.errors import InvalidInput
from hermes_store.records import message_content
from hermes_store.records.message import SUMMARY_MARK
from hermes_store.records.session import Session
from hermes_store.sessions import messages, session_rows, start_child_session, titles


def compress(
    tx: Transaction,
    session_id: str,
    *,
    summary: str,
    keep_last: int,
    summarised_to: int | None = None,
    new_id: str | None = None,
    now: float,
) -> Session:
    """End a session and start its continuation: a summary, then copies of its last turns.

    At least `keep_last` messages are kept, more where a tool result would lose its call, and all
    messages after `summarised_to`, which the summary does not cover. SessionInUse if another
    process has compressed the session or is working on it.
    """
    old = session_rows.get(tx, session_id)
    start_child_session.check_moment(now)
    if not summary.strip():
        raise InvalidInput(f"The summary of session {session_id} is empty; nothing was changed.")
    if keep_last < 0:
        raise InvalidInput(f"Cannot keep {keep_last} messages; use 0 or more.")
    start_child_session.refuse_held(tx, session_id, now)
    start_child_session.refuse_continued(tx, old)
    turns = start_child_session.turns_of(tx, session_id)
    if summarised_to is not None:
        keep_last = max(keep_last, sum(turn.message_id > summarised_to for turn in turns))
    kept = turns[cut(turns, keep_last) :]
    if len(kept) == len(turns):
        raise InvalidInput(
            f"Session {session_id} is too short to compress: all of its {len(turns)} messages "
            "would be kept."
        )
    _keep_branches(tx, session_id)
    start_child_session.end(tx, session_id, "compression", now)
    continued = start_child_session.begin(tx, old, new_id, now, None)
    start_child_session.inherit(
        tx,
        old.id,
        continued,
        (*start_child_session.PROMPT, *session_rows.PLACE, *session_rows.CHAT),
    )
    moment = min((turn.timestamp for turn in kept if turn.timestamp), default=now)
    messages.append(tx, continued, {"role": "user", "content": _marked(summary)}, moment)
    start_child_session.copy(tx, old.id, continued, kept)
    if old.title is not None:
        titles.assign(tx, continued, titles.next_in_lineage(tx, old.title), by="derived")
    return session_rows.get(tx, continued)


def cut(turns: Sequence[start_child_session.Turn], keep_last: int) -> int:
    """Return where the kept turns begin, so that no tool result loses its call."""
    place = max(0, len(turns) - keep_last)
    asked = {call: at for at, turn in enumerate(turns) for call in turn.calls}
    at = len(turns) - 1
    while at >= place:
        turn = turns[at]
        if turn.role == "tool":
            # Without an id, a result belongs to the message before it.
            place = min(place, asked.get(turn.answers or "", _before_tools(turns, at)))
        at -= 1
    return place


def _before_tools(turns: Sequence[start_child_session.Turn], place: int) -> int:
    """Return the position of the message that the tool results at `place` answer, or 0."""
    while place > 0 and turns[place].role == "tool":
        place -= 1
    return place


def _marked(summary: str) -> str:
    text = summary.strip()
    return text if text.startswith(SUMMARY_MARK) else f"{SUMMARY_MARK}\n\n{text}"


def _keep_branches(tx: Transaction, session_id: str) -> None:
    """Mark the branches of a session before its end time and reason change.

    Older versions recognize them only by how and when their parent ended.
    """
    unmarked = (
        "SELECT s.id FROM sessions s JOIN session_activity a ON a.session_id = s.id "
        "WHERE s.parent_session_id = ? AND a.edge = 'branch'"
    )
    for (child,) in list(tx.rows(unmarked, (session_id,))):
        found = session_rows.find(tx, child)
        config = dict(found.model_config or {}) if found is not None else {}
        if "_branched_from" not in config:
            config["_branched_from"] = session_id
            stored = message_content.encode_json(config)
            tx.run("UPDATE sessions SET model_config = ? WHERE id = ?", (stored, child))
