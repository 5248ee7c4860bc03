"""Probes what a database can do: its version, its columns, its full-text layout.

Nothing is assumed about a database of a newer Hermes; the rest of the store uses these answers
instead of the version number.
"""

from __future__ import annotations

import re

import apsw

from hermes_store.engines.base import Capabilities, FullText
from hermes_store.engines.sqlite import fulltext, session_activity_table, unknown_layout
from hermes_store.engines.sqlite.dialect import DIALECT
from hermes_store.engines.sqlite.schema import COLUMNS, PLACE_COLUMNS, SCHEMA_VERSION
from hermes_store.engines.sqlite.schema_reader import columns, stored
from hermes_store.records.stored_values import number

# An index with a tokenizer of another program cannot be asked.
_TOKENIZER = {
    fulltext.WORDS: re.compile(
        r"^(?!.*tokenize\s*=)|tokenize\s*=\s*[\"']\s*unicode61\s*[\"']", re.I | re.S
    ),
    fulltext.TRIGRAM: re.compile(r"tokenize\s*=\s*[\"']\s*trigram\b", re.I),
}
_REBUILD_KEYS = ("fts_rebuild_high_water", "fts_rebuild_progress")
UNREADABLE = 1_000_000
"""The version of a database whose own record of it is damaged or lost."""


def _layout(tables: dict[str, str], name: str) -> FullText:
    sql = tables.get(name)
    if sql is None or not _TOKENIZER[name].search(sql):
        return FullText.NONE
    if fulltext.has_layout(sql, name):
        return FullText.EXTERNAL
    if "tool_calls" in sql or "tool_name" in sql:
        return FullText.COLUMNS
    # The oldest layout indexed only the content, from the messages table itself. Migration
    # replaces it before any search, but it may be found when opening read-only.
    return FullText.INLINE


def version(con: apsw.Connection) -> int:
    """Return the schema version of a database; 0 if it is empty, 1 if it does not record one.

    A version that is not a number, or missing in a database with columns that schema 11 does not
    have, is UNREADABLE, so that nobody's newer database is migrated.
    """
    tables = stored(con, "table")
    if "schema_version" in tables:
        found, odd = con.execute(
            "SELECT MAX(version) FILTER (WHERE typeof(version) = 'integer'), "
            "MAX(typeof(version) NOT IN ('integer', 'null')) FROM schema_version"
        ).get
        if found is not None:
            return int(found)
        if odd:
            return UNREADABLE
    if any(_has_newer_columns(con, table) for table in COLUMNS):
        return UNREADABLE
    return 1 if "sessions" in tables else 0


def _has_newer_columns(con: apsw.Connection, table: str) -> bool:
    known = {each.name for each in (*COLUMNS[table], *PLACE_COLUMNS)}
    return not known.issuperset(columns(con, table))


def _unindexed(con: apsw.Connection) -> tuple[int, int] | None:
    """Return the ids that a rebuild, ours or Hermes Agent's, has not reached yet.

    Ours goes from the newest message down; Hermes Agent's from the oldest up to the one that was
    the newest when it began.
    """
    floor = fulltext.floor(con)
    if floor is not None:
        return 0, floor - 1
    if "state_meta" not in stored(con, "table"):
        return None
    found = dict(
        con.execute(
            "SELECT key, CAST(value AS BLOB) FROM state_meta WHERE key IN (?, ?)", _REBUILD_KEYS
        )
    )
    high = number(found.get(_REBUILD_KEYS[0]))
    done = number(found.get(_REBUILD_KEYS[1])) or 0
    return None if high is None else (int(done) + 1, int(high))


def probe(con: apsw.Connection) -> Capabilities:
    """Probe a database; costs a handful of reads of its schema."""
    tables = stored(con, "table")
    found = version(con)
    present = {table: columns(con, table) for table in COLUMNS}
    # What an older file lacks is added before it is written to.
    unknown = found > SCHEMA_VERSION and any(present.values())
    lacking = unknown_layout.missing(con) if unknown else ()
    if lacking:
        views = unknown_layout.views(con)
        present = {table: tuple(views.get(table, ())) for table in COLUMNS}
    return Capabilities(
        version=found,
        foreign=found > SCHEMA_VERSION,
        session_columns=present["sessions"],
        message_columns=present["messages"],
        tables=frozenset(tables),
        words=_layout(tables, fulltext.WORDS),
        trigram=_layout(tables, fulltext.TRIGRAM),
        activity=found == SCHEMA_VERSION and session_activity_table.is_intact(con),
        unindexed=_unindexed(con),
        dialect=DIALECT,
        missing=lacking,
    )
