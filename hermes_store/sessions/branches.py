"""Branching: a copy of a session that continues separately."""

from __future__ import annotations

from hermes_store.engines.base import Transaction
from hermes_store.errors import InvalidInput
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.session import Session
from hermes_store.sessions import session_rows, start_child_session, titles

BRANCH_TITLE = "branch"
"""The title of branches of an untitled session, as in Hermes Agent."""


def branch(
    tx: Transaction,
    session_id: str,
    *,
    title: str | None = None,
    new_id: str | None = None,
    now: float,
) -> Session:
    """End a session and start a copy that continues separately.

    A session that ended with a compression or a branch keeps that end. Without a title, the copy
    gets the next one in its lineage.
    """
    old = session_rows.get(tx, session_id)
    start_child_session.check_moment(now)
    start_child_session.refuse_held(tx, session_id, now)
    turns = start_child_session.turns_of(tx, session_id)
    if not turns:
        raise InvalidInput(f"Session {session_id} has no messages to branch from.")
    if old.ended_at is None or old.end_reason not in ("compression", "branched"):
        start_child_session.end(tx, session_id, "branched", now)
    copied = start_child_session.begin(tx, old, new_id, now, Edge.BRANCH)
    start_child_session.inherit(
        tx, old.id, copied, (*start_child_session.PROMPT, *session_rows.PLACE)
    )
    start_child_session.copy(tx, old.id, copied, turns)
    name = titles.sanitize(title) or titles.next_in_lineage(tx, old.title or BRANCH_TITLE)
    titles.assign(tx, copied, name, by="user" if title else "derived")
    return session_rows.get(tx, copied)
