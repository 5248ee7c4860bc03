"""The relation `session_activity` for databases that do not have it as a table.

A database of a newer Hermes is never changed, and an older one not until it is written to. Each
connection to such a database gets a temporary view of the same name and columns instead, so that
the rest of the store can use the same queries everywhere.
"""

from __future__ import annotations

import apsw

from hermes_store.engines.base import Capabilities
from hermes_store.engines.sqlite.session_activity_table import PREVIEW_BYTES, TABLE, edge, json_text

_SHADOW = f"temp.{TABLE}"


def provide(con: apsw.Connection, caps: Capabilities) -> None:
    """Make sure that the relation exists on a connection, whatever the database has.

    A view shadows the table where the table is not enough: it ignores that a newer Hermes can
    hide or rewind messages.
    """
    con.execute(f"DROP VIEW IF EXISTS {_SHADOW}")
    if caps.empty:
        return
    visible = shown_messages(caps)
    if not caps.activity:
        con.execute(f"CREATE TEMP VIEW {TABLE} AS {_computed(visible)}")
    elif visible != "1":
        kept = "session_id, root_id, edge, listed, source, last_active, chain_active, spoken"
        first = _first_shown("a.session_id", visible)
        con.execute(
            f"CREATE TEMP VIEW {TABLE} AS SELECT {kept}, "
            f"{first.format(what='m.id')} AS preview_id, "
            f"{first.format(what=_BEGINNING)} AS preview FROM main.{TABLE} a"
        )


def shown_messages(caps: Capabilities, alias: str = "m") -> str:
    """Return the SQL condition for messages that are currently part of a conversation.

    Newer databases keep rewound and summarized rows with active = 0 and hide some for display;
    rows from before that have NULL there.
    """
    conditions = []
    if caps.has_message("active"):
        conditions.append(f"COALESCE({alias}.active, 1) = 1")
    if caps.has_message("display_kind"):
        conditions.append(f"COALESCE({alias}.display_kind, '') <> 'hidden'")
    return " AND ".join(conditions) or "1"


_BEGINNING = f"substr(CAST(m.content AS BLOB), 1, {PREVIEW_BYTES})"


def _first_shown(session: str, visible: str) -> str:
    return (
        f"(SELECT {{what}} FROM main.messages m WHERE m.session_id = {session} "
        f"AND m.role = 'user' AND m.content IS NOT NULL AND {visible} "
        "ORDER BY m.timestamp, m.id LIMIT 1)"
    )


def _computed(visible: str) -> str:
    """Return the query that computes the relation from sessions and messages alone.

    Every column is a separate expression on one row of `sessions`, so that a query for a few
    rows or columns computes only those.
    """

    def last(row: str) -> str:
        spoken = f"(SELECT MAX(timestamp) FROM main.messages WHERE session_id = {row}.id)"
        return f"COALESCE({spoken}, {row}.started_at)"

    parent = "main.sessions p WHERE p.id = s.parent_session_id"
    # A session whose parent is missing has no row there, and is a root unless it is marked.
    marked = json_text("s.model_config", "_delegate_from")
    alone = f"CASE WHEN {marked} <> '__orphaned__' THEN 'agent' ELSE '' END"
    kind = f"COALESCE((SELECT {edge('s', 'p')} FROM {parent}), {alone})"
    root = (
        "(WITH RECURSIVE up(id, depth) AS (SELECT s.id, 0 UNION "
        "SELECT p.id, up.depth + 1 FROM up JOIN main.sessions c ON c.id = up.id "
        "JOIN main.sessions p ON p.id = c.parent_session_id "
        f"WHERE {edge('c', 'p')} = 'compression' AND up.depth < 1000) "
        "SELECT id FROM up ORDER BY depth DESC LIMIT 1)"
    )
    chain = (
        "(WITH RECURSIVE chain(id) AS (SELECT s.id UNION SELECT c.id FROM chain "
        "JOIN main.sessions p ON p.id = chain.id "
        "JOIN main.sessions c ON c.parent_session_id = p.id "
        f"WHERE {edge('c', 'p')} = 'compression') "
        f"SELECT MAX({last('k')}) FROM chain JOIN main.sessions k ON k.id = chain.id)"
    )
    first = _first_shown("s.id", visible)
    return (
        "SELECT s.id AS session_id, "
        f"CASE WHEN s.parent_session_id IS NULL THEN s.id ELSE {root} END AS root_id, "
        f"{kind} AS edge, {kind} IN ('', 'branch') AS listed, s.source AS source, "
        f"{last('s')} AS last_active, "
        f"CASE WHEN s.end_reason = 'compression' AND {kind} <> 'compression' "
        f"THEN {chain} ELSE {last('s')} END AS chain_active, "
        "EXISTS (SELECT 1 FROM main.messages WHERE session_id = s.id) AS spoken, "
        f"{first.format(what='m.id')} AS preview_id, {first.format(what=_BEGINNING)} AS preview "
        "FROM main.sessions s"
    )
