"""Reads what a database says about its own tables, whatever bytes a damaged one holds there."""

from __future__ import annotations

import apsw

from hermes_store.records.stored_values import text


def stored(con: apsw.Connection, kind: str) -> dict[str, str]:
    """Return the name and SQL of all objects of a kind ('trigger', 'view', 'table', 'index')."""
    rows = con.execute(
        "SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM main.sqlite_master WHERE type = ?",
        (kind,),
    )
    return {text(name): text(sql) for name, sql in rows}


def columns(con: apsw.Connection, table: str) -> tuple[str, ...]:
    """Return the columns of a table in order, none if it does not exist."""
    rows = con.execute("SELECT CAST(name AS BLOB) FROM pragma_table_info(?, 'main')", (table,))
    return tuple(text(name) for (name,) in rows)


def quote(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'
