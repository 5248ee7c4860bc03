"""Permanently delete sessions; the children of a deleted session move up to its parent.

Messages are deleted before their session: newer databases look up the session while its messages
are removed from the index. A child that moves keeps the kind of its edge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from hermes_store.engines.sqlite import session_activity_table
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.trash import Deleted, Weight
from hermes_store.sessions import in_use, lineage, session_rows

Write = Callable[[], AbstractContextManager[Transaction]]

_LISTED = "(SELECT value FROM json_each(?))"
STEP_SESSIONS = 10
STEP_MESSAGES = 1_000
"""The most that one transaction deletes; about 0.1 s for ordinary messages."""


def delete_session(tx: Transaction, session_id: str) -> Deleted | None:
    """Delete exactly one session and its messages; None if there is no such session."""
    if not session_rows.exists(tx, session_id):
        return None
    _hand_children_up(tx, session_id)
    session_activity_table.stop_tracking(tx.connection, tx.caps, session_id)
    removed = tx.run("DELETE FROM messages WHERE session_id = ?", (session_id,))
    tx.run("DELETE FROM sessions WHERE id = ?", (session_id,))
    return Deleted((session_id,), removed)


def _hand_children_up(tx: Transaction, session_id: str) -> None:
    # In damaged data the parent may be gone, or be the session itself.
    parent = tx.value(
        "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent_session_id "
        "WHERE s.id = ? AND p.id <> s.id",
        (session_id,),
    )
    own = lineage.edge_of(tx, session_id)
    children = tx.rows("SELECT id FROM sessions WHERE parent_session_id = ?", (session_id,))
    for (child,) in list(children):
        kind = lineage.edge_of(tx, child)
        _keep_edge(tx, child, own if kind is Edge.COMPRESSION else kind, session_id)
        moved = None if parent == child else parent
        tx.run("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (moved, child))


def _keep_edge(tx: Transaction, session_id: str, kind: Edge, former_parent: str) -> None:
    """Record the kind of a child that its new parent would otherwise change."""
    marker = {Edge.BRANCH: "_branched_from", Edge.AGENT: "_delegate_from"}.get(kind)
    if marker is None:
        return
    tx.run(
        "UPDATE sessions SET model_config = json_set(CASE WHEN json_type(CASE WHEN "
        "json_valid(model_config) THEN model_config END) = 'object' THEN model_config "
        "ELSE '{}' END, ?, ?) WHERE id = ? AND (model_config IS NULL OR "
        "(json_valid(model_config) AND json_extract(model_config, ?) IS NULL))",
        (f"$.{marker}", former_parent, session_id, f"$.{marker}"),
    )


def delete_in_steps(
    write: Write,
    session_ids: Sequence[str],
    unless: Callable[[Transaction, str], bool] = lambda _tx, _session_id: False,
) -> Iterator[Deleted]:
    """Delete sessions in the given order in short transactions; yield the result of each.

    Other writers can write in between. `unless` is called inside each transaction, to keep a
    session that has come into use.
    """
    left = list(reversed(session_ids))
    while left:
        with write() as tx:
            done = Deleted(*_one_step(tx, left, unless))
        yield done  # after the commit: the caller may now remove the files


def _one_step(
    tx: Transaction, left: list[str], unless: Callable[[Transaction, str], bool]
) -> tuple[tuple[str, ...], int]:
    """Delete sessions from the end of a list, as many as fit into one short transaction."""
    gone: list[str] = []
    removed = 0
    while left and len(gone) < STEP_SESSIONS and removed < STEP_MESSAGES:
        session_id = left[-1]
        if not session_rows.exists(tx, session_id) or unless(tx, session_id):
            left.pop()
        elif _is_long(tx, session_id):
            removed += _shorten(tx, session_id)
        else:
            deleted = delete_session(tx, left.pop())
            gone.append(session_id)
            removed += 0 if deleted is None else deleted.messages
    return tuple(gone), removed


def _is_long(tx: Transaction, session_id: str) -> bool:
    """Tell whether a session has more messages than one short transaction may delete."""
    beyond = "SELECT 1 FROM messages WHERE session_id = ? LIMIT 1 OFFSET ?"
    return tx.one(beyond, (session_id, STEP_MESSAGES)) is not None


def _shorten(tx: Transaction, session_id: str) -> int:
    """Delete the newest messages of a long session, one step's worth."""
    removed = tx.run(
        "DELETE FROM messages WHERE id IN "
        "(SELECT id FROM messages WHERE session_id = ? ORDER BY id DESC LIMIT ?)",
        (session_id, STEP_MESSAGES),
    )
    tx.run(
        "UPDATE sessions SET message_count = MAX(0, COALESCE(message_count, 0) - ?) WHERE id = ?",
        (removed, session_id),
    )
    return removed


def total(steps: Iterable[Deleted]) -> Deleted:
    """Run all deletion steps and add up their results."""
    ids: list[str] = []
    messages = 0
    for step in steps:
        ids += step.session_ids
        messages += step.messages
    return Deleted(tuple(ids), messages)


def weigh(tx: Transaction, session_ids: Sequence[str], now: float) -> Weight:
    """Return the messages and bytes of sessions, and why one of them is in use."""
    listed = json.dumps(list(session_ids))
    messages, size = tx.one(
        "SELECT COUNT(*), SUM(COALESCE(octet_length(content), 0) + "
        f"COALESCE(octet_length(tool_calls), 0)) FROM messages WHERE session_id IN {_LISTED}",
        (listed,),
    ) or (0, 0)
    reasons = (in_use.in_use(tx, each, now) for each in session_ids)
    return Weight(
        tuple(session_ids), messages, size or 0, next((why for why in reasons if why), None)
    )
