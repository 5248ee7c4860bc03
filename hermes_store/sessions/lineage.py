"""What a session descends from: compression chains, ancestors, and the whole lineage tree.

The relation `session_activity` holds the edge of every session and the root of its chain; `CHAIN`
walks down a chain. Every walk is bounded or remembers where it has been, so that cycles and
missing parents in damaged data cannot make it hang.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from hermes_store.engines.base import Transaction
from hermes_store.records.relation_to_parent import MARKERS, Edge
from hermes_store.records.session import Lineage, LineageNode, Session
from hermes_store.records.stored_values import moment, text
from hermes_store.sessions import session_rows

MAX_TIP_HOPS = 100
MAX_RESUME_HOPS = 32
MAX_NODES = 5_000

_CONTINUED = (
    "JOIN sessions n ON n.parent_session_id = chain.id "
    "JOIN session_activity k ON k.session_id = n.id WHERE k.edge = 'compression'"
)
CHAIN = (
    "WITH RECURSIVE chain(root, id) AS (SELECT value, value FROM json_each(?) UNION "
    f"SELECT chain.root, n.id FROM chain {_CONTINUED}) "
)
"""Each session of a JSON list, then all that continue it: columns `root` and `id`."""


def over_chain(what: str, order: str = "") -> str:
    """Return the SQL for a value over session `s` and all that continue it, as rows `c`.

    Few sessions have a continuation; all others skip the walk.
    """
    return (
        "(WITH RECURSIVE chain(id) AS (SELECT s.id UNION "
        f"SELECT n.id FROM chain {_CONTINUED} AND s.end_reason = 'compression') "
        f"SELECT {what} FROM chain JOIN sessions c ON c.id = chain.id {order})"
    )


def any_in_chain(condition: str) -> str:
    """Return the SQL condition that a session `c` of the chain of `s` meets a condition."""
    return over_chain(f"MAX(CASE WHEN {condition} THEN 1 ELSE 0 END)") + " = 1"


def edge_of(tx: Transaction, session_id: str) -> Edge:
    """Return how a session relates to its parent."""
    return Edge(
        tx.value("SELECT edge FROM session_activity WHERE session_id = ?", (session_id,)) or ""
    )


def roots(tx: Transaction, session_ids: Iterable[str]) -> dict[str, str]:
    """Return the root of each session's chain; missing sessions are left out."""
    rows = tx.rows(
        "SELECT a.session_id, a.root_id FROM json_each(?) wanted "
        "CROSS JOIN session_activity a ON a.session_id = wanted.value",
        (json.dumps(list(dict.fromkeys(session_ids))),),
    )
    return {text(session_id): text(root) for session_id, root in rows}


def chain(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return all sessions of the compression chain that includes a session, root first."""
    root = roots(tx, [session_id]).get(session_id, session_id)
    rows = tx.rows(f"{CHAIN}SELECT id FROM chain LIMIT {MAX_NODES}", (json.dumps([root]),))
    return tuple(found for (found,) in rows if type(found) is str)


class Link(NamedTuple):
    """What it takes to tell which session of a chain is the newest."""

    id: str
    parent: str | None
    started_at: float
    ended: bool
    end_reason: str | None
    last_active: float

    @property
    def newness(self) -> tuple[int, float, float, str]:
        """How it ranks among the continuations of one session.

        One that was compressed itself goes on; a session that ended otherwise may be a stale copy,
        left behind by a connection that was lost.
        """
        state = 2 if self.end_reason == "compression" else 1 if not self.ended else 0
        return state, moment(self.last_active), moment(self.started_at), text(self.id)


LINK = (
    "s.id, s.parent_session_id, s.started_at, s.ended_at IS NOT NULL, s.end_reason, a.last_active"
)
"""The columns of a Link, from sessions `s` and session_activity `a`."""


def continued(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return the sessions that a session continues, directly or not."""
    path = path_from_root(tx, session_id)
    found: list[str] = []
    for place in range(len(path) - 1, 0, -1):
        if edge_of(tx, path[place]) is not Edge.COMPRESSION:
            break
        found.append(path[place - 1])
    return tuple(found)


def compression_tip(tx: Transaction, session_id: str) -> str:
    """Return the newest continuation of a session, or the session itself."""
    rows = tx.rows(
        f"{CHAIN}SELECT {LINK} FROM chain CROSS JOIN sessions s ON s.id = chain.id "
        "CROSS JOIN session_activity a ON a.session_id = s.id",
        (json.dumps([session_id]),),
    )
    return tip_of(session_id, [Link(*row) for row in rows])


def tip_of(session_id: str, chain: Iterable[Link]) -> str:
    """Return the newest continuation of a session among the sessions of its chain."""
    newest: dict[str | None, str] = {}
    for each in sorted(chain, key=lambda link: link.newness):
        if each.id != session_id and type(each.id) is str:
            newest[each.parent] = each.id
    tip, seen = session_id, {session_id}
    while tip in newest and newest[tip] not in seen and len(seen) <= MAX_TIP_HOPS:
        tip = newest[tip]
        seen.add(tip)
    return tip


def members(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return the sessions of a conversation: its compression chain and all its sub-agents.

    Branches and what began after a reset are separate conversations. Leaves come first, so that
    the ids can be deleted in this order.
    """
    root = roots(tx, [session_id]).get(session_id, session_id)
    return _with_below(tx, [root], (Edge.AGENT, Edge.COMPRESSION))


def with_agents(tx: Transaction, session_ids: Iterable[str]) -> tuple[str, ...]:
    """Return sessions and all sub-agents below them, leaves first."""
    return _with_below(tx, session_ids, (Edge.AGENT,))


def _with_below(
    tx: Transaction, session_ids: Iterable[str], kinds: Iterable[Edge]
) -> tuple[str, ...]:
    """Return sessions and everything below them that these edges lead to, leaves first."""
    followed = ", ".join(f"'{each.value}'" for each in kinds)
    rows = tx.rows(
        "WITH RECURSIVE member(id) AS (SELECT value FROM json_each(?) UNION "
        "SELECT n.id FROM member JOIN sessions n ON n.parent_session_id = member.id "
        f"JOIN session_activity k ON k.session_id = n.id WHERE k.edge IN ({followed})) "
        "SELECT id FROM member",
        (json.dumps(list(session_ids)),),
    )
    return tuple(reversed([found for (found,) in rows if type(found) is str]))


def resume_target(tx: Transaction, session_id: str) -> str:
    """Return the session to continue with when this one is resumed.

    That is its newest continuation or, if that one has no messages, the first session below it
    that has some and is not known to be something else.
    """
    tip = current = compression_tip(tx, session_id)
    # A marker says that a child is something else than a continuation.
    unmarked = "".join(
        f"AND {tx.caps.dialect.json_text('s.model_config', MARKERS[each])} IS NULL "
        for each in (Edge.BRANCH, Edge.AGENT)
    )
    seen: set[str] = set()
    for _ in range(MAX_RESUME_HOPS):
        if not current or type(current) is not str or current in seen:
            break
        seen.add(current)
        if tx.one("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (current,)) is not None:
            return current
        current = tx.value(
            "SELECT s.id FROM sessions s JOIN session_activity a ON a.session_id = s.id "
            "WHERE s.parent_session_id = ? AND s.source <> 'tool' AND a.edge <> 'reset' "
            f"{unmarked} ORDER BY s.started_at DESC, s.id DESC LIMIT 1",
            (current,),
        )
    return tip


def path_from_root(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return the ids from the oldest known ancestor down to a session."""
    path: list[str] = []
    current: str | None = session_id
    # An id that is not text cannot be looked up, so a path ends there.
    while type(current) is str and current not in path and len(path) < MAX_TIP_HOPS:
        path.append(current)
        current = tx.value(
            "SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent_session_id "
            "WHERE s.id = ?",
            (current,),
        )
    return tuple(reversed(path))


def own_path(tx: Transaction, session_id: str) -> tuple[str, ...]:
    """Return the end of a session's path that belongs to the same conversation.

    A branch begins with copies of what was said before it, and a conversation after a reset begins
    anew: what lies above was said elsewhere, perhaps later.
    """
    path = path_from_root(tx, session_id)
    for place in range(len(path) - 1, 0, -1):
        if edge_of(tx, path[place]) in (Edge.BRANCH, Edge.RESET):
            return path[place:]
    return path


def ancestors(tx: Transaction, session_id: str) -> tuple[Session, ...]:
    """Return the ancestors of a session, nearest first."""
    above = path_from_root(tx, session_id)[:-1]
    return tuple(session_rows.get(tx, found) for found in reversed(above))


def tree(tx: Transaction, session_id: str) -> Lineage:
    """Return the whole lineage tree around a session, from its oldest ancestor down."""
    current = session_rows.get(tx, session_id)
    root_id = path_from_root(tx, session_id)[0]
    found: dict[str, tuple[Session, Edge, int]] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    level, depth, truncated = [root_id], 0, False
    found[root_id] = (session_rows.get(tx, root_id), Edge.ROOT, 0)
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
        f"SELECT {session_rows.columns(tx, 's')}, a.edge FROM sessions s "
        "JOIN session_activity a ON a.session_id = s.id WHERE s.parent_session_id = ? "
        "ORDER BY s.started_at, s.id",
        (parent,),
    )
    return [(session_rows.from_row(row), Edge(row[session_rows.WIDTH])) for row in rows]


def _assemble(
    root_id: str, found: dict[str, tuple[Session, Edge, int]], children: dict[str, list[str]]
) -> LineageNode:
    """Build the nodes from the leaves up; a chain may be deeper than Python's recursion limit."""
    nodes: dict[str, LineageNode] = {}
    for session_id in sorted(found, key=lambda each: -found[each][2]):
        session, kind, depth = found[session_id]
        below = tuple(nodes[child] for child in children.get(session_id, ()))
        nodes[session_id] = LineageNode(session, kind, depth, below)
    return nodes[root_id]
