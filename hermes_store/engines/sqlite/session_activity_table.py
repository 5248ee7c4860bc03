"""The relation `session_activity`: which sessions form a conversation, and its last activity.

One row per session holds what a list would otherwise have to compute from all messages: last
activity, the first user message, the edge to the parent, and the root of the compression chain.
In our own databases it is a table that triggers keep up to date, so writes by Hermes Agent count
too, although it never reads the table. A database that we may not change gets the same relation
as a temporary view of the same name (see `activity_view`).

`root_id` is the first session of a session's compression chain, or the session itself if it is not
a continuation. `chain_active` is the newest activity of the whole chain on the root's row, and
never older than `last_active` on any row. `listed` is true for rows that represent a conversation:
roots, branches and what began after a reset.
"""

from __future__ import annotations

import apsw

from hermes_store.engines.base import Capabilities
from hermes_store.engines.sqlite import trigger_fingerprint
from hermes_store.engines.sqlite.dialect import DIALECT
from hermes_store.engines.sqlite.schema_reader import stored
from hermes_store.records import relation_to_parent as edges
from hermes_store.records.stored_values import number

TABLE = "session_activity"
PREVIEW_BYTES = 256
RULE = 2
"""Counts up when rows made by an earlier version of this program are no longer right."""
_RULE_KEY = "hermes_sessions_activity_rule"
LISTED = ", ".join(f"'{each.value}'" for each in edges.LISTED)


def edge(child: str, parent: str, known: edges.Known | None = None) -> str:
    """Return the SQL for the edge between two `sessions` rows."""
    return edges.rule(child, parent, DIALECT.json_text, known)


STATEMENTS = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} (session_id TEXT PRIMARY KEY, root_id TEXT NOT NULL, "
    "edge TEXT NOT NULL, listed INTEGER NOT NULL, source TEXT NOT NULL, "
    "last_active REAL NOT NULL, chain_active REAL NOT NULL, spoken INTEGER NOT NULL, "
    "preview_id INTEGER, preview BLOB) WITHOUT ROWID",
    # For the conversation list: newest chain first, filtered by source inside the index. It
    # includes unlisted rows, so that listing all sessions by activity needs no second index,
    # which every append would have to update.
    f"CREATE INDEX IF NOT EXISTS idx_{TABLE}_list "
    f"ON {TABLE}(listed, chain_active DESC, source, spoken)",
    # For the list of one source by start.
    f"CREATE INDEX IF NOT EXISTS idx_{TABLE}_started ON sessions(source, started_at DESC)",
    # For finding the other segments of a chain; most sessions are their own root.
    f"CREATE INDEX IF NOT EXISTS idx_{TABLE}_chain ON {TABLE}(root_id) WHERE edge = 'compression'",
)

_LAST_MESSAGE = "(SELECT MAX(timestamp) FROM messages WHERE session_id = {id})"
_FIRST_USER = (
    "(SELECT {what} FROM messages WHERE session_id = {id} AND role = 'user' "
    "AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1)"
)
_PREVIEW = f"substr(CAST(content AS BLOB), 1, {PREVIEW_BYTES})"


def _with_chain(own: str) -> str:
    """Return the SQL for the newest activity of the chain that starts at a row."""
    return (
        f"max({own}, COALESCE((SELECT MAX(k.last_active) FROM {TABLE} k "
        f"WHERE k.root_id = {TABLE}.session_id AND k.edge = 'compression'), {own}))"
    )


_CHAIN_ACTIVE = _with_chain("last_active")
# The newest activity of a row, including the new message.
_SAID = "CASE WHEN spoken THEN max(last_active, new.timestamp) ELSE new.timestamp END"

_INSERT = (
    f"INSERT INTO {TABLE}(session_id, root_id, edge, listed, source, last_active, "
    "chain_active, spoken, preview_id, preview) "
    "SELECT s.id, s.id, {edge}, {edge} IN ({listed}), s.source, "
    "COALESCE({last}, s.started_at), COALESCE({last}, s.started_at), {last} IS NOT NULL, "
    "{first_id}, {first_text} "
    "FROM sessions s LEFT JOIN sessions p ON p.id = s.parent_session_id"
).format(
    edge=edge("s", "p"),
    listed=LISTED,
    last=_LAST_MESSAGE.format(id="s.id"),
    first_id=_FIRST_USER.format(what="id", id="s.id"),
    first_text=_FIRST_USER.format(what=_PREVIEW, id="s.id"),
)

# Walks up over compression edges; the depth limit breaks cycles in damaged data.
_ROOT_OF = (
    f"(WITH RECURSIVE up(id, depth) AS (SELECT {TABLE}.session_id, 0 UNION "
    f"SELECT s.parent_session_id, up.depth + 1 FROM up "
    f"JOIN {TABLE} a ON a.session_id = up.id AND a.edge = 'compression' "
    "JOIN sessions s ON s.id = up.id WHERE up.depth < 1000) "
    "SELECT id FROM up ORDER BY depth DESC LIMIT 1)"
)

# A session, its children, and everything that continues them.
_BELOW = (
    "(WITH RECURSIVE below(id) AS (SELECT {id} UNION "
    "SELECT id FROM sessions WHERE parent_session_id = {id} UNION "
    f"SELECT s.id FROM below JOIN sessions s ON s.parent_session_id = below.id "
    f"JOIN {TABLE} a ON a.session_id = s.id AND a.edge = 'compression') SELECT id FROM below)"
)


def _set_edges(where: str) -> str:
    kind = (
        f"(SELECT {edge('s', 'p')} FROM sessions s "
        f"LEFT JOIN sessions p ON p.id = s.parent_session_id WHERE s.id = {TABLE}.session_id)"
    )
    started = f"(SELECT started_at FROM sessions WHERE id = {TABLE}.session_id)"
    source = f"(SELECT source FROM sessions WHERE id = {TABLE}.session_id)"
    return (
        f"UPDATE {TABLE} SET edge = {kind}, listed = {kind} IN ({LISTED}), "
        f"source = {source}, last_active = CASE WHEN spoken THEN last_active ELSE {started} END "
        f"WHERE {where};"
    )


def _set_roots(where: str) -> str:
    return f"UPDATE {TABLE} SET root_id = {_ROOT_OF} WHERE {where};"


def _set_chain(where: str) -> str:
    return f"UPDATE {TABLE} SET chain_active = {_CHAIN_ACTIVE} WHERE {where};"


def _root(session: str) -> str:
    return f"(SELECT root_id FROM {TABLE} WHERE session_id = {session})"


def _set_last(session: str, condition: str) -> str:
    last = _LAST_MESSAGE.format(id=session)
    started = f"(SELECT started_at FROM sessions WHERE id = {session})"
    return (
        f"UPDATE {TABLE} SET last_active = COALESCE({last}, {started}, last_active), "
        f"spoken = {last} IS NOT NULL WHERE session_id = {session}{condition};"
    )


def _set_preview(session: str, condition: str) -> str:
    return (
        f"UPDATE {TABLE} SET preview_id = {_FIRST_USER.format(what='id', id=session)}, "
        f"preview = {_FIRST_USER.format(what=_PREVIEW, id=session)} "
        f"WHERE session_id = {session}{condition};"
    )


def _family(row: str) -> str:
    """Refresh edges, roots and chains around a changed session row."""
    below = _BELOW.format(id=f"{row}.id")
    return (
        _set_edges(
            f"session_id = {row}.id OR session_id IN "
            f"(SELECT id FROM sessions WHERE parent_session_id = {row}.id)"
        )
        + _set_roots(f"session_id IN {below}")
        + _set_chain(f"session_id IN {below}")
    )


def triggers() -> dict[str, str]:
    """Return the triggers that keep the table up to date, by name."""
    name = TABLE
    return {
        f"{name}_say": (
            # Appending is the hot path: one update for a session that is its own root, as most are.
            f"CREATE TRIGGER {name}_say AFTER INSERT ON messages BEGIN "
            f"UPDATE {TABLE} SET spoken = 1, last_active = {_SAID}, "
            "chain_active = CASE WHEN new.timestamp >= chain_active THEN new.timestamp "
            f"ELSE {_with_chain(_SAID)} END WHERE session_id = new.session_id; "
            f"UPDATE {TABLE} SET chain_active = CASE WHEN new.timestamp >= chain_active "
            f"THEN new.timestamp ELSE {_CHAIN_ACTIVE} END "
            f"WHERE session_id = (SELECT root_id FROM {TABLE} "
            "WHERE session_id = new.session_id AND root_id <> session_id); END"
        ),
        f"{name}_ask": (
            f"CREATE TRIGGER {name}_ask AFTER INSERT ON messages "
            "WHEN new.role = 'user' AND new.content IS NOT NULL BEGIN "
            f"UPDATE {TABLE} SET preview_id = new.id, "
            f"preview = substr(CAST(new.content AS BLOB), 1, {PREVIEW_BYTES}) "
            "WHERE session_id = new.session_id AND (preview_id IS NULL "
            "OR new.timestamp < (SELECT timestamp FROM messages WHERE id = preview_id)); END"
        ),
        f"{name}_unsay": (
            # The guard skips the many messages that are neither first nor last.
            f"CREATE TRIGGER {name}_unsay AFTER DELETE ON messages WHEN EXISTS "
            f"(SELECT 1 FROM {TABLE} WHERE session_id = old.session_id "
            "AND (last_active <= old.timestamp OR preview_id = old.id)) BEGIN "
            + _set_last("old.session_id", " AND last_active <= old.timestamp")
            + _set_preview("old.session_id", " AND preview_id = old.id")
            # An emptied session counts from its start, which may be later than its messages were.
            + _set_chain(
                f"session_id IN (old.session_id, {_root('old.session_id')}) "
                "AND (chain_active <= old.timestamp OR "
                f"chain_active < (SELECT last_active FROM {TABLE} "
                "WHERE session_id = old.session_id))"
            )
            + " END"
        ),
        f"{name}_edit": (
            f"CREATE TRIGGER {name}_edit "
            "AFTER UPDATE OF session_id, role, content, timestamp ON messages BEGIN "
            + "".join(
                _set_last(f"{row}.session_id", "")
                + _set_preview(f"{row}.session_id", "")
                + _set_chain(f"session_id IN ({row}.session_id, {_root(f'{row}.session_id')})")
                for row in ("old", "new")
            )
            + " END"
        ),
        f"{name}_begin": (
            f"CREATE TRIGGER {name}_begin AFTER INSERT ON sessions BEGIN "
            f"DELETE FROM {TABLE} WHERE session_id = new.id; "
            f"{_INSERT} WHERE s.id = new.id; "
            + _family("new")
            + _set_chain(f"session_id IN ({_root('new.id')}, {_root('new.parent_session_id')})")
            + " END"
        ),
        f"{name}_change": (
            f"CREATE TRIGGER {name}_change AFTER UPDATE OF parent_session_id, started_at, "
            "ended_at, end_reason, source, model_config ON sessions BEGIN "
            + _family("new")
            + _set_chain(
                f"session_id IN ({_root('new.id')}, {_root('new.parent_session_id')}, "
                f"{_root('old.parent_session_id')})"
            )
            + " END"
        ),
        f"{name}_end": (
            f"CREATE TRIGGER {name}_end AFTER DELETE ON sessions BEGIN "
            f"DELETE FROM {TABLE} WHERE session_id = old.id; "
            + _family("old")
            + _set_chain(f"session_id = {_root('old.parent_session_id')}")
            + " END"
        ),
    }


def stop_tracking(con: apsw.Connection, caps: Capabilities, session_id: str) -> None:
    """Delete the row of a session that is about to be deleted.

    Without it, the triggers of each deleted message have nothing to update.
    """
    if caps.activity:
        con.execute(f"DELETE FROM main.{TABLE} WHERE session_id = ?", (session_id,))


def is_intact(con: apsw.Connection) -> bool:
    """Return whether table and triggers are ours, so that rows can be trusted.

    Those of a later version of this program are, too.
    """
    tables = stored(con, "table")
    return (
        TABLE in tables
        and "state_meta" in tables
        and trigger_fingerprint.is_ours(con, TABLE, triggers())
        and _rule(con) >= RULE
    )


def _rule(con: apsw.Connection) -> float:
    found = con.execute(
        "SELECT CAST(value AS BLOB) FROM state_meta WHERE key = ?", (_RULE_KEY,)
    ).get
    return number(found) or 0


def create(con: apsw.Connection) -> None:
    """Recreate the table and its triggers, and fill it. Runs inside a transaction."""
    con.execute(f"DROP VIEW IF EXISTS temp.{TABLE}")  # see `activity_view`
    for name in triggers():
        con.execute(f"DROP TRIGGER IF EXISTS {name}")
    con.execute(f"DROP TABLE IF EXISTS {TABLE}")
    for sql in STATEMENTS:
        con.execute(sql)
    # SQLite allows NULL as the primary key of `sessions`; nothing can refer to such a row.
    con.execute(f"{_INSERT} WHERE s.id IS NOT NULL")
    con.execute(_set_roots("edge = 'compression'"))
    # Only the roots of real chains need this.
    con.execute(
        _set_chain(f"session_id IN (SELECT root_id FROM {TABLE} WHERE edge = 'compression')")
    )
    for sql in triggers().values():
        con.execute(sql)
    trigger_fingerprint.record(con, TABLE, triggers())
    con.execute(
        "INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)", (_RULE_KEY, str(RULE))
    )
