"""The relation `session_activity` for databases that do not have it as a table.

A database of a newer Hermes is never changed, and an older one not until it is written to. Each
connection to such a database gets a temporary view of the same name and columns instead, so that
the rest of the store can use the same queries everywhere.
"""

from __future__ import annotations

import apsw

from hermes_store.engines import message_states
from hermes_store.engines.base import Capabilities
from hermes_store.engines.sqlite import unknown_layout
from hermes_store.engines.sqlite.dialect import DIALECT
from hermes_store.engines.sqlite.session_activity_table import (
    LISTED,
    PREVIEW_BYTES,
    TABLE,
    edge,
)
from hermes_store.records.relation_to_parent import Known

_SHADOW = f"temp.{TABLE}"
AGENTS_MARKED_SINCE = 16
"""The schema version whose migration marked all sub-agents that were there before."""


def provide(con: apsw.Connection, caps: Capabilities) -> None:
    """Make sure that the relation exists on a connection, whatever the database has.

    The view shadows a table from before the database was upgraded: the table does not know what a
    newer Hermes can mark, hide or rewind.
    """
    con.execute(f"DROP VIEW IF EXISTS {_SHADOW}")
    unknown_layout.take_away(con)  # the tables may be complete by now
    if caps.missing:
        unknown_layout.provide(con)
    if not caps.empty and not caps.activity:
        con.execute(f"CREATE TEMP VIEW {TABLE} AS {_computed(caps)}")


_BEGINNING = f"substr(CAST(m.content AS BLOB), 1, {PREVIEW_BYTES})"


def _first_shown(session: str, visible: str) -> str:
    return (
        f"(SELECT {{what}} FROM messages m WHERE m.session_id = {session} "
        f"AND m.role = 'user' AND m.content IS NOT NULL AND {visible} "
        "ORDER BY m.timestamp, m.id LIMIT 1)"
    )


def last_active(caps: Capabilities, row: str) -> str:
    """Return the SQL for the last activity of a row of `sessions`.

    A newer Hermes also notes when an agent was at work without having said anything yet.
    """
    spoken = f"(SELECT MAX(timestamp) FROM messages WHERE session_id = {row}.id)"
    known = f"COALESCE({spoken}, {row}.started_at)"
    if not caps.has_session("last_activity_at"):
        return known
    noted = f"{row}.last_activity_at"
    return (
        f"CASE WHEN {noted} IS NULL THEN {known} ELSE max({noted}, COALESCE({spoken}, {noted})) END"
    )


def _computed(caps: Capabilities) -> str:
    """Return the query that computes the relation from sessions and messages alone.

    Every column is a separate expression on one row of `sessions`, so that a query for a few
    rows or columns computes only those.
    """
    known = Known(
        agents_marked=caps.version >= AGENTS_MARKED_SINCE,
        session_keys=caps.has_session("session_key"),
    )
    parent = "sessions p WHERE p.id = s.parent_session_id"
    # A session whose parent is missing has no row there, and is a root unless it is marked.
    marked = DIALECT.json_text("s.model_config", "_delegate_from")
    alone = f"CASE WHEN {marked} <> '__orphaned__' THEN 'agent' ELSE '' END"
    kind = f"COALESCE((SELECT {edge('s', 'p', known)} FROM {parent}), {alone})"
    root = (
        "(WITH RECURSIVE up(id, depth) AS (SELECT s.id, 0 UNION "
        "SELECT p.id, up.depth + 1 FROM up JOIN sessions c ON c.id = up.id "
        "JOIN sessions p ON p.id = c.parent_session_id "
        f"WHERE {edge('c', 'p', known)} = 'compression' AND up.depth < 1000) "
        "SELECT id FROM up ORDER BY depth DESC LIMIT 1)"
    )
    chain = (
        "(WITH RECURSIVE chain(id) AS (SELECT s.id UNION SELECT c.id FROM chain "
        "JOIN sessions p ON p.id = chain.id "
        "JOIN sessions c ON c.parent_session_id = p.id "
        f"WHERE {edge('c', 'p', known)} = 'compression') "
        f"SELECT MAX({last_active(caps, 'k')}) FROM chain JOIN sessions k ON k.id = chain.id)"
    )
    first = _first_shown("s.id", message_states.readable(caps))
    return (
        "SELECT s.id AS session_id, "
        f"CASE WHEN s.parent_session_id IS NULL THEN s.id ELSE {root} END AS root_id, "
        f"{kind} AS edge, {kind} IN ({LISTED}) AS listed, s.source AS source, "
        f"{last_active(caps, 's')} AS last_active, "
        f"CASE WHEN s.end_reason = 'compression' AND {kind} <> 'compression' "
        f"THEN {chain} ELSE {last_active(caps, 's')} END AS chain_active, "
        "EXISTS (SELECT 1 FROM messages WHERE session_id = s.id) AS spoken, "
        f"{first.format(what='m.id')} AS preview_id, {first.format(what=_BEGINNING)} AS preview "
        "FROM sessions s"
    )
