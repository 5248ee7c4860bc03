"""Conversations whose title matches a query.

The words must be in the title. What fields ask of a message, any message of the conversation may
meet: "docker after:7d" finds the conversation titled "Docker" if something was said in it since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hermes_store.engines.base import Dialect, Transaction
from hermes_store.engines.message_states import findable
from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS
from hermes_store.search.field_conditions import MAX_PATTERN, Condition, in_title
from hermes_store.search.query_tree import And, Node, Not, Or, Text
from hermes_store.search.snippets import wanted_texts
from hermes_store.sessions import lineage

FEW_TITLES = 500
"""Up to this many matching titles are all read; among more, the newest are found quickly."""

_LISTED = "(SELECT value FROM json_each(?))"
# Down from the root of the chain that a session belongs to.
_CONVERSATION = (
    "(WITH RECURSIVE chain(id) AS (SELECT a.root_id FROM session_activity a "
    "WHERE a.session_id = s.id UNION SELECT n.id FROM chain "
    "JOIN sessions n ON n.parent_session_id = chain.id "
    "JOIN session_activity k ON k.session_id = n.id WHERE k.edge = 'compression') "
    "SELECT id FROM chain)"
)


def with_matching_title(
    tx: Transaction, root: Node | None, conditions: Sequence[Condition], limit: int
) -> tuple[str, ...]:
    """Return the first sessions of the conversations whose title matches, the newest first.

    `root` is the query tree without the fields that all matches meet; those are the `conditions`.
    """
    wanted = of_title(tx.caps.dialect, root) if wanted_texts(root) else None
    if wanted is None or not tx.caps.has_session("title"):
        return ()
    tests = [_with_title(tx, wanted), *(each for each in conditions if each.session)]
    said = [each for each in conditions if not each.session and each.sql != findable(tx.caps)]
    if said:
        tests.append(_said(tx, said))
    return _first(tx, tests, limit)


def _first(tx: Transaction, tests: Sequence[Condition], limit: int) -> tuple[str, ...]:
    """Return the first sessions of the newest conversations that meet conditions."""
    where = " AND ".join(each.sql for each in tests)
    values = [value for each in tests for value in each.values]
    reach = limit
    while True:
        rows = tx.rows(
            f"SELECT s.id FROM sessions s WHERE {where} ORDER BY s.started_at DESC LIMIT ?",
            (*values, reach),
        )
        found = [session_id for (session_id,) in rows]
        ids = [session_id for session_id in found if type(session_id) is str]
        root_of = lineage.roots(tx, ids)
        roots = tuple(dict.fromkeys(root_of.get(each, each) for each in ids))
        if len(roots) >= limit or len(found) < reach:
            return roots[:limit]
        # The sessions of one chain have the same title, each with a number.
        reach *= 4


def _with_title(tx: Transaction, wanted: Condition) -> Condition:
    """Return the condition that the title of a session matches; if few do, it lists them."""
    number = tx.caps.dialect.row_number("s")
    # The title index is small; a session row, which includes the prompt, is not.
    rows = tx.rows(
        f"SELECT {number} FROM sessions s WHERE s.title IS NOT NULL AND {wanted.sql} LIMIT ?",
        (*wanted.values, FEW_TITLES + 1),
    )
    few = [row[0] for row in rows]
    if len(few) > FEW_TITLES:
        return replace(wanted, sql=f"s.title IS NOT NULL AND {wanted.sql}")
    return Condition(f"{number} IN {_LISTED}", (json.dumps(few),))


def _said(tx: Transaction, conditions: Sequence[Condition]) -> Condition:
    """Return the condition that one message of the conversation meets all of these.

    A conversation without messages counts as one that said nothing when it started.
    """
    tests = " AND ".join(each.sql for each in conditions)
    values: tuple[Any, ...] = tuple(value for each in conditions for value in each.values)
    found = (
        f"SELECT 1 FROM messages m WHERE m.session_id IN {_CONVERSATION} AND {findable(tx.caps)}"
    )
    columns = ", ".join(
        f"{'s.started_at' if column.name == 'timestamp' else 'NULL'} AS {column.name}"
        for column in MESSAGE_COLUMNS
    )
    silent = f"SELECT 1 FROM (SELECT {columns}) m WHERE {tests}"
    return Condition(
        f"(EXISTS ({found} AND {tests}) OR (NOT EXISTS ({found}) AND EXISTS ({silent})))",
        (*values, *values),
    )


def of_title(dialect: Dialect, node: Node | None) -> Condition | None:
    """Return a tree as a condition on titles, None if it cannot be one."""
    match node:
        case Text():
            return in_title(dialect, _plain(node)) if len(node.value) <= MAX_PATTERN else None
        case Not():
            part = of_title(dialect, node.part)
            return replace(part, sql=f"NOT {part.sql}") if part is not None else None
        case And() | Or():
            parts = [of_title(dialect, each) for each in node.parts]
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
