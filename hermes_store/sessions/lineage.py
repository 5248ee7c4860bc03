"""What a session descends from: compression tips, ancestors, and the whole family tree.

Every walk is bounded and remembers where it has been, so that cycles and missing parents in
damaged data end it instead of hanging it.
"""

from __future__ import annotations

from collections import defaultdict

from hermes_store.engines.sqlite.activity import edge as edge_sql
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.session import Edge, Lineage, LineageNode, Session
from hermes_store.sessions import sessions

MAX_TIP_HOPS = 100
MAX_RESUME_HOPS = 32
MAX_NODES = 5_000


def compression_tip(tx: Transaction, session_id: str) -> str:
    """Return the newest continuation of a session, the session itself if there is none."""
    seen = {session_id}
    current = session_id
    for _ in range(MAX_TIP_HOPS):
        child: str | None = tx.value(
            "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id "
            f"WHERE p.id = ? AND {edge_sql('c', 'p')} = 'compression' "
            "ORDER BY c.started_at DESC, c.id DESC LIMIT 1",
            (current,),
        )
        if child is None or child in seen:
            break
        seen.add(child)
        current = child
    return current


def resume_target(tx: Transaction, session_id: str) -> str:
    """Return the session that has the conversation: itself, or the first child with messages."""
    current = session_id
    seen: set[str] = set()
    for _ in range(MAX_RESUME_HOPS):
        if not current or current in seen:
            break
        seen.add(current)
        if tx.one("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (current,)) is not None:
            return current
        current = tx.value(
            "SELECT id FROM sessions WHERE parent_session_id = ? "
            "ORDER BY started_at DESC, id DESC LIMIT 1",
            (current,),
        )
    return session_id


def path_from_root(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return the ids from the oldest known ancestor down to a session."""
    path: list[str] = []
    current: str | None = session_id
    while current is not None and current not in path and len(path) < MAX_TIP_HOPS:
        path.append(current)
        current = tx.value(
            "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent_session_id "
            "WHERE s.id = ?",
            (current,),
        )
    return tuple(reversed(path))


def ancestors(tx: Transaction, session_id: str) -> tuple[Session, ...]:
    """Return the sessions above a session, nearest first."""
    above = path_from_root(tx, session_id)[:-1]
    return tuple(sessions.get(tx, found) for found in reversed(above))


def chain(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return all sessions of the compression chain that a session belongs to, root first.

    Where a session was continued twice, both continuations belong to it.
    """
    root = session_id
    seen = {root}
    while (parent := _continued_parent(tx, root)) is not None and parent not in seen:
        seen.add(parent)
        root = parent
    found, place = [root], 0
    while place < len(found) and len(found) < MAX_NODES:
        children = tx.rows(
            "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id "
            f"WHERE p.id = ? AND {edge_sql('c', 'p')} = 'compression' ORDER BY c.started_at, c.id",
            (found[place],),
        )
        found += [child for (child,) in children if child not in found]
        place += 1
    return tuple(found)


def _continued_parent(tx: Transaction, session_id: str) -> str | None:
    parent: str | None = tx.value(
        "SELECT p.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id "
        f"WHERE c.id = ? AND {edge_sql('c', 'p')} = 'compression'",
        (session_id,),
    )
    return parent


def tree(tx: Transaction, session_id: str) -> Lineage:
    """Return the whole tree around a session, from its oldest ancestor down."""
    current = sessions.get(tx, session_id)
    root_id = path_from_root(tx, session_id)[0]
    found: dict[str, tuple[Session, Edge, int]] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    level, depth, truncated = [root_id], 0, False
    found[root_id] = (sessions.get(tx, root_id), Edge.ROOT, 0)
    while level and not truncated:
        depth += 1
        below: list[str] = []
        for parent in level:
            for session, kind in _children(tx, parent):
                if session.id in found:
                    continue
                if len(found) >= MAX_NODES:
                    truncated = True
                    break
                found[session.id] = (session, kind, depth)
                children[parent].append(session.id)
                below.append(session.id)
        level = below
    return Lineage(
        root=_assemble(root_id, found, children),
        current_id=current.id,
        tip_id=compression_tip(tx, current.id),
        truncated=truncated,
    )


def _children(tx: Transaction, parent: str) -> list[tuple[Session, Edge]]:
    rows = tx.rows(
        f"SELECT {sessions.columns(tx, 'c')}, {edge_sql('c', 'p')} "
        "FROM sessions p JOIN sessions c ON c.parent_session_id = p.id WHERE p.id = ? "
        "ORDER BY c.started_at, c.id",
        (parent,),
    )
    return [(sessions.from_row(row), Edge(row[sessions.WIDTH])) for row in rows]


def _assemble(
    root_id: str, found: dict[str, tuple[Session, Edge, int]], children: dict[str, list[str]]
) -> LineageNode:
    """Build the nodes from the leaves up; a chain may be deeper than Python's recursion."""
    nodes: dict[str, LineageNode] = {}
    for session_id in sorted(found, key=lambda each: -found[each][2]):
        session, kind, depth = found[session_id]
        below = tuple(nodes[child] for child in children.get(session_id, ()))
        nodes[session_id] = LineageNode(session, kind, depth, below)
    return nodes[root_id]


def members(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return what a conversation consists of: its compression chain and all its sub-agents.

    Branches are conversations of their own. Leaves come first, so that the ids can be deleted
    in this order.
    """
    found = list(chain(tx, session_id))
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
