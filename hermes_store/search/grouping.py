"""Hits by conversation: the root of each hit's compression chain, titles that match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes_store import lineage
from hermes_store.database.connection import Transaction
from hermes_store.search.fields import like
from hermes_store.search.query import Node, Text
from hermes_store.search.results import Group, Hit
from hermes_store.search.snippet import wanted_texts

HITS_PER_GROUP = 3


def roots(tx: Transaction, session_ids: Iterable[str]) -> dict[str, str]:
    """Return the conversation (its root session) that each session belongs to."""
    found: dict[str, str] = {}
    for session_id in session_ids:
        if session_id in found:
            continue
        if tx.caps.activity:
            root = tx.value(
                "SELECT root_id FROM session_activity WHERE session_id = ?", (session_id,)
            )
        else:
            root = lineage.chain(tx, session_id)[0]
        found[session_id] = root or session_id
    return found


def by_conversation(
    tx: Transaction, hits: Sequence[Hit], titled: Sequence[str] = ()
) -> tuple[Group, ...]:
    """Return hits grouped by conversation; those whose title matches come first."""
    root_of = roots(tx, (hit.session_id for hit in hits))
    members: dict[str, list[Hit]] = {root: [] for root in titled}
    for hit in hits:
        members.setdefault(root_of[hit.session_id], []).append(hit)
    return tuple(
        Group(root, tuple(found[:HITS_PER_GROUP]), len(found), root in titled)
        for root, found in members.items()
    )


def with_matching_title(
    tx: Transaction, root: Node | None, conditions: str, values: Sequence[object], limit: int
) -> tuple[str, ...]:
    """Return the conversations whose title has all wanted words, the newest first."""
    texts = wanted_texts(root)
    if not texts or not tx.caps.has_session("title"):
        return ()
    tests = " AND ".join("s.title LIKE ? ESCAPE '\\'" for _ in texts)
    rows = tx.rows(
        f"SELECT s.id FROM sessions s WHERE s.title IS NOT NULL AND {tests} AND {conditions} "
        "ORDER BY s.started_at DESC LIMIT ?",
        (*(like(_plain(text)) for text in texts), *values, limit),
    )
    ids = [session_id for (session_id,) in rows]
    root_of = roots(tx, ids)
    return tuple(dict.fromkeys(root_of[session_id] for session_id in ids))


def _plain(text: Text) -> str:
    return text.value.replace("\0", " ")
