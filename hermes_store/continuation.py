"""Going on elsewhere: compressing a session into a continuation, branching off, taking back.

Each is one transaction: a crash leaves the old state or the complete new one.

A continuation begins with the summary, as something the user said: servers want a conversation
to begin with the user, and what it holds is told to the model. A mark in front of it says what
it is. Copies of the last turns follow with the moments at which they were said; the summary has
the moment of the first of them, so that it comes first in order of time as well as of ids.

Files of a newer Hermes are split in the same way. It can compact a session in place, but knows
continuations as well: with compression.in_place off it makes them itself, and it resumes and
lists them whatever that setting is. So nothing has to be guessed about its own bookkeeping.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hermes_store import content, deletion, lineage, messages, sessions, titles
from hermes_store.database.activity import edge as edge_sql
from hermes_store.database.transaction import Transaction
from hermes_store.errors import InvalidInput, SessionInUse
from hermes_store.models import SUMMARY_MARK, Edge, Session

BRANCH_TITLE = "branch"
"""What the branches of a session without a title are called, as in Hermes Agent."""

_MARKERS = ("_branched_from", "_delegate_from", "_reset_from")
# Of newer files. What belongs to a chat of a platform stays with the conversation; a branch is
# another conversation and takes only the place of work along.
_PLACE = ("cwd", "git_branch", "git_repo_root", "profile_name")
_CHAT = (
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "transport_profile",
)
_PROMPT = ("system_prompt", "system_prompt_hash")
_COPIED = (
    *messages.SAID,
    "effect_disposition",
    "observed",
    "api_content",
    "display_kind",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What must be known of a message to tell which ones belong together."""

    message_id: int
    role: str
    timestamp: float
    answers: str | None = None
    """The call that a tool's message answers."""
    calls: frozenset[str] = frozenset()
    number_of_calls: int = 0


# -- compressing -------------------------------------------------------------------------------


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
    """End a session and begin its continuation: a summary, then copies of its last turns.

    At least `keep_last` messages are kept, more where a tool's answer would lose its question,
    and all that came after message `summarised_to`, which the summary cannot know of.
    SessionInUse if somebody else was faster or is at work on it.
    """
    old = sessions.get(tx, session_id)
    _check_moment(now)
    if not summary.strip():
        raise InvalidInput(f"The summary of session {session_id} is empty; nothing was changed.")
    if keep_last < 0:
        raise InvalidInput(f"{keep_last} messages cannot be kept; say 0 or more.")
    _refuse_held(tx, session_id, now)
    _refuse_continued(tx, old)
    turns = _turns(tx, session_id)
    if summarised_to is not None:
        keep_last = max(keep_last, sum(turn.message_id > summarised_to for turn in turns))
    kept = turns[cut(turns, keep_last) :]
    if len(kept) == len(turns):
        raise InvalidInput(
            f"Session {session_id} is too short to be compressed: all of its {len(turns)} "
            "messages would be kept."
        )
    _keep_branches(tx, session_id)
    _end(tx, session_id, "compression", now)
    continued = _begin(tx, old, new_id, now, None)
    _inherit(tx, old.id, continued, (*_PROMPT, *_PLACE, *_CHAT))
    moment = min((turn.timestamp for turn in kept), default=now)
    messages.append(tx, continued, {"role": "user", "content": _marked(summary)}, moment)
    _copy(tx, old.id, continued, kept)
    if old.title is not None:
        titles.assign(tx, continued, titles.next_in_lineage(tx, old.title))
    return sessions.get(tx, continued)


def cut(turns: Sequence[Turn], keep_last: int) -> int:
    """Return where the kept turns begin, so that no answer of a tool loses its question."""
    place = max(0, len(turns) - keep_last)
    asked = {call: at for at, turn in enumerate(turns) for call in turn.calls}
    at = len(turns) - 1
    while at >= place:
        turn = turns[at]
        if turn.role == "tool":
            # Without an id, an answer belongs to what stands before it.
            place = min(place, asked.get(turn.answers or "", _before_tools(turns, at)))
        at -= 1
    return place


def _before_tools(turns: Sequence[Turn], place: int) -> int:
    """Return the message that the tools at a place answer, the first of them if there is none."""
    while place > 0 and turns[place].role == "tool":
        place -= 1
    return place


def _marked(summary: str) -> str:
    text = summary.strip()
    return text if text.startswith(SUMMARY_MARK) else f"{SUMMARY_MARK}\n\n{text}"


def _keep_branches(tx: Transaction, session_id: str) -> None:
    """Write down which children are branches before the end that says so is moved.

    Older versions tell them only by how and when their parent ended.
    """
    unmarked = (
        f"SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id "
        f"WHERE p.id = ? AND {edge_sql('c', 'p')} = 'branch'"
    )
    for (child,) in list(tx.rows(unmarked, (session_id,))):
        config = dict(sessions.get(tx, child).model_config or {})
        if "_branched_from" not in config:
            config["_branched_from"] = session_id
            stored = content.encode_json(config)
            tx.run("UPDATE sessions SET model_config = ? WHERE id = ?", (stored, child))


# -- branching ---------------------------------------------------------------------------------


def branch(
    tx: Transaction,
    session_id: str,
    *,
    title: str | None = None,
    new_id: str | None = None,
    now: float,
) -> Session:
    """End a session and begin a copy of it that goes its own way.

    One that ended with a compression or a branch keeps that end. Without a title the copy gets
    the next one of its lineage.
    """
    old = sessions.get(tx, session_id)
    _check_moment(now)
    _refuse_held(tx, session_id, now)
    turns = _turns(tx, session_id)
    if not turns:
        raise InvalidInput(f"Session {session_id} has no messages yet that could be branched off.")
    if old.ended_at is None or old.end_reason not in ("compression", "branched"):
        _end(tx, session_id, "branched", now)
    copied = _begin(tx, old, new_id, now, Edge.BRANCH)
    _inherit(tx, old.id, copied, (*_PROMPT, *_PLACE))
    _copy(tx, old.id, copied, turns)
    name = titles.sanitize(title) or titles.next_in_lineage(tx, old.title or BRANCH_TITLE)
    titles.assign(tx, copied, name)
    return sessions.get(tx, copied)


# -- taking back -------------------------------------------------------------------------------


def undo_exchange(tx: Transaction, session_id: str, *, answer_only: bool = False) -> int:
    """Take back the last thing the user said and all that followed; return how many messages.

    With `answer_only`, only what followed. Newer files keep such messages, marked as rewound.
    """
    session = sessions.get(tx, session_id)
    _refuse_held(tx, session_id, time.time())
    _refuse_continued(tx, session)
    last = tx.value(
        f"SELECT MAX(m.id) FROM messages m WHERE m.session_id = ? AND m.role = 'user' "
        f"AND {messages.visible(tx)}",
        (session_id,),
    )
    if last is None or _is_summary(tx, session_id, last):
        raise InvalidInput(f"Session {session_id} has nothing left that could be taken back.")
    first = last + 1 if answer_only else last
    gone = _turns(tx, session_id, first)
    if tx.caps.has_message("active"):
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
    """Mark messages as rewound; they are still there, so newer Hermes counts them as before."""
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
    """Tell whether a message is what a continuation has left of the session before."""
    row = tx.one(
        "SELECT (SELECT MIN(id) FROM messages WHERE session_id = m.session_id), m.content "
        "FROM messages m WHERE m.id = ?",
        (message_id,),
    )
    if row is None or row[0] != message_id:
        return False
    marked = isinstance(row[1], str) and row[1].startswith(SUMMARY_MARK)
    return marked or lineage.chain(tx, session_id)[0] != session_id


# -- what they share ---------------------------------------------------------------------------


def _check_moment(now: float) -> None:
    if not isfinite(now):
        raise InvalidInput(f"{now} is no moment at which a session can go on.")


def _refuse_held(tx: Transaction, session_id: str, now: float) -> None:
    reason = deletion.held(tx, session_id, now)
    if reason is not None:
        raise SessionInUse(f"{reason} It was left alone; try again in a moment.")


def _refuse_continued(tx: Transaction, session: Session) -> None:
    """Refuse a session that somebody compressed; inside a write, this decides a race."""
    if session.ended_at is None or session.end_reason != "compression":
        return
    tip = lineage.compression_tip(tx, session.id)
    where = f"It goes on in {tip}; resume that one." if tip != session.id else "Reopen it first."
    raise SessionInUse(f"Session {session.id} was compressed already. {where}")


def _turns(tx: Transaction, session_id: str, first: int = 0) -> list[Turn]:
    """Return the messages that a model is sent from one on, also those that no screen shows."""
    alive = "COALESCE(m.active, 1) = 1" if tx.caps.has_message("active") else messages.ALL
    rows = tx.rows(
        "SELECT m.id, m.role, m.timestamp, m.tool_call_id, m.tool_calls FROM messages m "
        f"WHERE m.session_id = ? AND m.id >= ? AND {alive} ORDER BY m.id",
        (session_id, first),
    )
    return [_turn(*row) for row in rows]


def _turn(message_id: int, role: str, moment: float, answers: str | None, calls: Any) -> Turn:
    made = content.decode_json(calls)
    listed = made if isinstance(made, list) else []
    ids = (call.get("id") for call in listed if isinstance(call, dict))
    known = frozenset(each for each in ids if isinstance(each, str))
    return Turn(message_id, role, moment, answers, known, messages.calls_in(made))


def _end(tx: Transaction, session_id: str, reason: str, now: float) -> None:
    """End a session for a new reason, whether it had ended before or not."""
    tx.run(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?", (now, reason, session_id)
    )


def _begin(tx: Transaction, old: Session, new_id: str | None, now: float, edge: Edge | None) -> str:
    """Add the session that comes after another one and return its id."""
    session_id = new_id or sessions.new_session_id(now)
    config = {
        name: value for name, value in (old.model_config or {}).items() if name not in _MARKERS
    }
    added = sessions.create(
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
        raise InvalidInput(f"There is a session {session_id} already. Choose another id.")
    return session_id


def _inherit(tx: Transaction, old_id: str, new_id: str, columns: Sequence[str]) -> None:
    """Copy those of some columns that the file has."""
    present = [name for name in columns if tx.caps.has_session(name)]
    changes = ", ".join(f"{name} = (SELECT {name} FROM sessions WHERE id = ?2)" for name in present)
    tx.run(f"UPDATE sessions SET {changes} WHERE id = ?1", (new_id, old_id))


def _copy(tx: Transaction, old_id: str, new_id: str, turns: Sequence[Turn]) -> None:
    """Append copies of messages, with everything a replay needs, and count them."""
    if not turns:
        return
    columns = ", ".join(name for name in _COPIED if tx.caps.has_message(name))
    alive = "COALESCE(m.active, 1) = 1" if tx.caps.has_message("active") else messages.ALL
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
