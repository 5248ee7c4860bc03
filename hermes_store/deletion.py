"""Deleting: one session, whose children move up to its parent, or a whole conversation.

Messages go before their session: newer files look the session up while its messages leave the
index. Whatever child changes its parent keeps the kind of edge it had.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_store import lineage, sessions
from hermes_store.database.activity import edge as edge_sql
from hermes_store.database.connection import Transaction
from hermes_store.models import Deleted, Edge


def delete_session(tx: Transaction, session_id: str) -> Deleted | None:
    """Delete exactly one session and its messages; None if there is no such session."""
    if not sessions.exists(tx, session_id):
        return None
    _hand_children_up(tx, session_id)
    if tx.caps.activity:
        # With its row gone, the triggers of each deleted message have nothing to keep current.
        tx.run("DELETE FROM session_activity WHERE session_id = ?", (session_id,))
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
    own = _edge(tx, session_id)
    children = tx.rows("SELECT id FROM sessions WHERE parent_session_id = ?", (session_id,))
    for (child,) in list(children):
        kind = _edge(tx, child)
        _keep_edge(tx, child, own if kind is Edge.COMPRESSION else kind, session_id)
        moved = None if parent == child else parent
        tx.run("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (moved, child))


def _edge(tx: Transaction, session_id: str) -> Edge:
    return Edge(
        tx.value(
            f"SELECT {edge_sql('c', 'p')} FROM sessions c "
            "LEFT JOIN sessions p ON p.id = c.parent_session_id WHERE c.id = ?",
            (session_id,),
        )
    )


def _keep_edge(tx: Transaction, session_id: str, kind: Edge, former_parent: str) -> None:
    """Write down what a child is, where its new parent would make it look like something else."""
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


def conversation_members(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return what a conversation consists of: its compression chain and all its sub-agents.

    Branches are conversations of their own. Leaves come first, so that the ids can be deleted
    in this order.
    """
    found = list(lineage.chain(tx, session_id))
    place = 0
    while place < len(found):
        children = tx.rows(
            "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id "
            f"WHERE p.id = ? AND {edge_sql('c', 'p')} IN ('agent', 'compression')",
            (found[place],),
        )
        found += [child for (child,) in children if child not in found]
        place += 1
    return tuple(reversed(found))


def delete_conversation(tx: Transaction, session_id: str) -> Deleted | None:
    """Delete the conversation a session belongs to, so that no part of it reappears."""
    if not sessions.exists(tx, session_id):
        return None
    return delete_all(tx, conversation_members(tx, session_id))


def delete_all(tx: Transaction, session_ids: Iterable[str]) -> Deleted:
    """Delete several sessions in the order given."""
    gone = [delete_session(tx, session_id) for session_id in session_ids]
    done = [each for each in gone if each is not None]
    return Deleted(
        tuple(session_id for each in done for session_id in each.session_ids),
        sum(each.messages for each in done),
    )
