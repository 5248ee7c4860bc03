"""Permanently delete sessions; the children of a deleted session move up to its parent.

A session is deleted whole, in one transaction, and so is a conversation unless it is huge: whoever
is killed in between leaves all of it or nothing. Messages are deleted before their session: newer
databases look up the session while its messages are removed from the index. A child that moves
keeps the kind of its edge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records.message_content import decode_json
from hermes_store.records.relation_to_parent import LISTED, MARKERS, Edge
from hermes_store.records.trash import Deleted, Weight
from hermes_store.sessions import in_use, lineage, session_rows, system_prompts

Write = Callable[[], AbstractContextManager[Transaction]]
Group = tuple[str, ...]
"""Sessions that are deleted together or not at all, leaves first."""
Unless = Callable[[Transaction, Group], bool]

_LISTED = "(SELECT value FROM json_each(?))"
STEP_SESSIONS = 10
STEP_MESSAGES = 1_000
"""How much one transaction deletes if its groups are smaller; about 0.1 s for ordinary messages."""
WHOLE_MESSAGES = 20_000
"""Up to this size a conversation is deleted in one transaction, which takes 1 s in the layout of
this store and 4 s in that of Hermes Agent; its writers wait up to 17 s."""


def delete_session(tx: Transaction, session_id: str) -> Deleted | None:
    """Delete exactly one session and its messages; None if there is no such session."""
    if not session_rows.exists(tx, session_id):
        return None
    _hand_children_up(tx, session_id)
    shared = system_prompts.shared_by(tx, session_id)
    with tx.deleting(session_id):
        removed = tx.run("DELETE FROM messages WHERE session_id = ?", (session_id,))
        tx.run("DELETE FROM sessions WHERE id = ?", (session_id,))
        system_prompts.forget_unused(tx, shared)
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
    marker = MARKERS.get(kind)
    if marker is None:
        return
    stored = tx.value("SELECT model_config FROM sessions WHERE id = ?", (session_id,))
    if stored is None:
        config: Any = {}
    else:
        config = decode_json(stored) if isinstance(stored, str) else None
        if config is None or (isinstance(config, dict) and config.get(marker) is not None):
            return
    known = config if isinstance(config, dict) else {}
    marked = json.dumps({**known, marker: former_parent}, ensure_ascii=False)
    tx.run("UPDATE sessions SET model_config = ? WHERE id = ?", (marked, session_id))


def conversations(tx: Transaction, session_ids: Iterable[str]) -> list[Group]:
    """Group sessions by conversation: chains and sub-agents together, branches before parents.

    A conversation too large for one transaction is split into its sessions.
    """
    paths = {each: lineage.path_from_root(tx, each) for each in dict.fromkeys(session_ids)}
    heads: dict[str, str] = {}
    for session_id in sorted(paths, key=lambda each: len(paths[each])):
        parent = paths[session_id][-2] if len(paths[session_id]) > 1 else None
        together = parent in heads and lineage.edge_of(tx, session_id) not in LISTED
        heads[session_id] = heads[str(parent)] if together else session_id
    groups: dict[str, list[str]] = {}
    for session_id in sorted(paths, key=lambda each: -len(paths[each])):
        groups.setdefault(heads[session_id], []).append(session_id)
    ordered = sorted(groups, key=lambda head: -len(paths[head]))
    return [each for head in ordered for each in _split(tx, tuple(groups[head]))]


def _split(tx: Transaction, group: Group) -> list[Group]:
    if len(group) == 1 or _messages_of(tx, group) <= WHOLE_MESSAGES:
        return [group]
    return [(session_id,) for session_id in group]


def _messages_of(tx: Transaction, group: Group) -> int:
    found = tx.value(
        f"SELECT COUNT(*) FROM messages WHERE session_id IN {_LISTED}", (json.dumps(group),)
    )
    return int(found)


def delete_in_steps(
    write: Write, groups: Sequence[Group], unless: Unless = lambda _tx, _group: False
) -> Iterator[Deleted]:
    """Delete groups of sessions in the given order; yield the result of each transaction.

    Other writers can write in between. `unless` is called inside each transaction, to keep a
    group of which one session has come into use.
    """
    left = list(reversed(groups))
    while left:
        with write() as tx:
            done = Deleted(*_one_step(tx, left, unless))
        yield done  # after the commit: the caller may now remove the files


def _one_step(tx: Transaction, left: list[Group], unless: Unless) -> tuple[tuple[str, ...], int]:
    """Delete groups from the end of a list: one, or as many as fit a short transaction."""
    gone: list[str] = []
    removed = 0
    while left and len(gone) < STEP_SESSIONS:
        group = tuple(each for each in left[-1] if session_rows.exists(tx, each))
        if gone and removed + _messages_of(tx, group) > STEP_MESSAGES:
            break
        left.pop()
        if not group or unless(tx, group):
            continue
        for session_id in group:
            deleted = delete_session(tx, session_id)
            removed += 0 if deleted is None else deleted.messages
        gone += group
    return tuple(gone), removed


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
