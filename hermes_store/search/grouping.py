"""Group matches by conversation, and find matching titles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records import stored_values
from hermes_store.records.search import Order
from hermes_store.search.candidates import Found
from hermes_store.search.field_conditions import MAX_PATTERN, Condition, in_title
from hermes_store.search.query_tree import And, Node, Not, Or, Text
from hermes_store.search.run_plan import Search
from hermes_store.search.snippets import wanted_texts
from hermes_store.sessions import lineage

FEW_TITLES = 500
"""Up to this many matching titles are all read; among more, the newest are found quickly."""


def gather(
    tx: Transaction, found: Sequence[Found], titled: Sequence[str], order: Order
) -> list[tuple[str, list[Found]]]:
    """Return conversations with their matches, ordered by their best match.

    By relevance, a matching title comes before any text; by time, it comes where its
    conversation belongs.
    """
    root_of = lineage.roots(tx, (row.session_id for row in found))
    members: dict[str, list[Found]] = {root: [] for root in titled}
    for row in found:
        members.setdefault(root_of.get(row.session_id, row.session_id), []).append(row)
    groups = list(members.items())
    if order is not Order.RELEVANCE:
        moments = {root: _moment(tx, root, rows) for root, rows in groups}
        groups.sort(key=lambda group: moments[group[0]], reverse=order is Order.NEWEST)
    return groups


def _moment(tx: Transaction, root: str, rows: Sequence[Found]) -> float:
    """Return the time of a conversation's best match, or else of its last activity."""
    if rows:
        return rows[0].timestamp
    last = tx.value("SELECT last_active FROM session_activity WHERE session_id = ?", (root,))
    return stored_values.moment(last)


def with_matching_title(
    tx: Transaction, search: Search, limit: int, root: Node | None = None
) -> tuple[str, ...]:
    """Return the conversations whose title matches, the newest first.

    `root` replaces the query tree of the search for titles.
    """
    if search.is_about_messages or not tx.caps.has_session("title"):
        return ()
    root = root or search.root
    condition = _of_title(root)
    if condition is None or not wanted_texts(root):
        return ()
    tests, wanted = condition.sql, condition.values
    conditions, values = search.rows.session_conditions()
    # The title index is small; a session row, which includes the prompt, is not.
    few = [
        row[0]
        for row in tx.rows(
            f"SELECT s.rowid FROM sessions s WHERE s.title IS NOT NULL AND {tests} LIMIT ?",
            (*wanted, FEW_TITLES + 1),
        )
    ]
    if len(few) <= FEW_TITLES:
        listed = "(SELECT value FROM json_each(?))"
        chosen, bound = f"s.rowid IN {listed}", (json.dumps(few),)
    else:
        chosen, bound = f"s.title IS NOT NULL AND {tests}", wanted
    rows = tx.rows(
        f"SELECT s.id FROM sessions s WHERE {chosen} AND {conditions} "
        "ORDER BY s.started_at DESC LIMIT ?",
        (*bound, *values, limit),
    )
    ids = [session_id for (session_id,) in rows if type(session_id) is str]
    root_of = lineage.roots(tx, ids)
    return tuple(dict.fromkeys(root_of.get(each, each) for each in ids))


def _of_title(node: Node | None) -> Condition | None:
    """Return a tree as a condition on titles, None if it cannot be one."""
    match node:
        case Text():
            return in_title(_plain(node)) if len(node.value) <= MAX_PATTERN else None
        case Not():
            part = _of_title(node.part)
            return replace(part, sql=f"NOT {part.sql}") if part is not None else None
        case And() | Or():
            parts = [_of_title(each) for each in node.parts]
            # "this OR NOT that" would match nearly every title.
            loose = isinstance(node, Or) and any(isinstance(each, Not) for each in node.parts)
            known = [each for each in parts if each is not None]
            if loose or len(known) < len(parts):
                return None
            word = " AND " if isinstance(node, And) else " OR "
            values = tuple(value for each in known for value in each.values)
            return Condition(f"({word.join(each.sql for each in known)})", values)
        case _:
            return None


def _plain(text: Text) -> str:
    return text.value.replace("\0", " ")
