"""Files whose tables are not those of any known version: read as far as they go, never changed.

Temporary views named like the tables fill in what is missing, so that the rest of the store can
use the same queries everywhere. A file that does not even say which message belongs to which
session is not a session database.
"""

from __future__ import annotations

import apsw

from hermes_store.engines.sqlite.schema import COLUMNS
from hermes_store.engines.sqlite.schema_reader import columns, quote, stored

_ALWAYS = {
    table: tuple(each.name for each in declared if each.since == 1)
    for table, declared in COLUMNS.items()
}
"""What every version has had."""
_NUMBER = "row_number() OVER ()"


def missing(con: apsw.Connection) -> tuple[str, ...]:
    """Return the tables and columns that a file lacks although every version has had them."""
    found: list[str] = []
    for table, names in _ALWAYS.items():
        present = columns(con, table)
        lacking = [f"{table}.{name}" for name in names if name not in present]
        found += lacking if present else [table]
    return tuple(found)


def sentence(lacking: tuple[str, ...]) -> str:
    """Return what to say about a file that lacks these."""
    named = ", ".join(lacking[:4]) + (" and more" if lacking[4:] else "")
    return (
        f"The layout of this database is unknown: it has no {named}. What there is can be read; "
        "nothing is changed, and what is missing is shown as unknown or left out."
    )


def views(con: apsw.Connection) -> dict[str, dict[str, str]]:
    """Return the columns of the views to create, by table: their names and their SQL.

    Empty if there is nothing to tell sessions by.
    """
    present = {table: columns(con, table) for table in COLUMNS}
    spoken = present["messages"]
    if "id" not in present["sessions"] and "session_id" not in spoken:
        return {}
    sessions = {name: f"t.{quote(name)}" for name in present["sessions"]}
    if "id" not in present["sessions"]:
        sessions = {"id": "t.session_id"}
    own = f"main.messages o WHERE o.session_id = {sessions['id']}"
    known = "session_id" in spoken
    timed = known and "timestamp" in spoken
    sessions = {
        "source": "'unknown'",
        "started_at": f"(SELECT MIN(o.timestamp) FROM {own})" if timed else "0.0",
        "message_count": f"(SELECT COUNT(*) FROM {own})" if known else "0",
    } | sessions
    declared_as = stored(con, "table").get("messages", "without rowid")
    numbered = _NUMBER if "without rowid" in declared_as.lower() else "t.rowid"
    messages = {"id": numbered, "role": "'unknown'", "timestamp": "0.0"}
    messages |= {name: f"t.{quote(name)}" for name in spoken if name != "id" or _is_rowid(con)}
    made = {"sessions": sessions, "messages": messages}
    for table, declared in COLUMNS.items():
        made[table] |= {each.name: "NULL" for each in declared if each.name not in made[table]}
    return made


def take_away(con: apsw.Connection) -> None:
    """Remove the views from a connection, if they are there."""
    for table in COLUMNS:
        con.execute(f"DROP VIEW IF EXISTS temp.{table}")


def _is_rowid(con: apsw.Connection) -> bool:
    """Return whether the ids of messages are the numbers of their rows."""
    row = con.execute(
        "SELECT type, pk FROM pragma_table_info('messages', 'main') WHERE name = 'id'"
    ).fetchone()
    return row is not None and str(row[0]).upper() == "INTEGER" and row[1] == 1


def provide(con: apsw.Connection) -> None:
    """Create the views on a connection."""
    made = views(con)
    if not made:
        return
    tables = {table: columns(con, table) for table in COLUMNS}
    for table, selected in made.items():
        named = {"rowid": _NUMBER} | selected if table == "sessions" else selected
        listed = ", ".join(f"{sql} AS {quote(name)}" for name, sql in named.items())
        origin = f"main.{table} t"
        if table == "sessions" and "id" not in tables["sessions"]:
            origin = "(SELECT DISTINCT session_id FROM main.messages) t"
        elif table == "messages" and "session_id" not in tables["messages"]:
            listed = ", ".join(f"NULL AS {quote(name)}" for name in selected)
            origin = "(SELECT 1 WHERE 0) t"
        con.execute(f"CREATE TEMP VIEW {table} AS SELECT {listed} FROM {origin}")
