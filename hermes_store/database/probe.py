"""What a database file can do: its version, its columns, its full-text layout.

A file of a newer Hermes is probed, not assumed; the rest of the store asks these answers
instead of the version number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import apsw

from hermes_store.database import activity, fulltext
from hermes_store.database.schema import SCHEMA_VERSION


class FullText(Enum):
    """How the messages of a file are indexed."""

    NONE = "none"
    INLINE = "inline"
    """Both indexes keep a copy of the text (real Hermes up to schema 22)."""
    EXTERNAL = "external"
    """This store's layout: text from views, trigrams for CJK rows only."""
    COLUMNS = "columns"
    """Schema 23 and later: content, tool_name and tool_calls in columns of their own."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The answers of a probe."""

    version: int
    session_columns: tuple[str, ...]
    message_columns: tuple[str, ...]
    tables: frozenset[str]
    words: FullText
    trigram: FullText
    activity: bool
    """Whether `session_activity` is there and kept current."""
    rebuild_floor: int | None
    """The lowest indexed message id while an index is being rebuilt."""

    @property
    def foreign(self) -> bool:
        """Whether a newer Hermes owns the file: no DDL, no change of its version."""
        return self.version > SCHEMA_VERSION

    @property
    def empty(self) -> bool:
        """Whether the file has no session tables yet."""
        return not self.session_columns

    def has_session(self, column: str) -> bool:
        """Tell whether `sessions` has a column."""
        return column in self.session_columns

    def has_message(self, column: str) -> bool:
        """Tell whether `messages` has a column."""
        return column in self.message_columns


def _columns(con: apsw.Connection, table: str) -> tuple[str, ...]:
    return tuple(row[1] for row in con.execute(f"PRAGMA table_info({table})"))


def _layout(tables: dict[str, str], name: str) -> FullText:
    sql = tables.get(name)
    if sql is None:
        return FullText.NONE
    if sql == fulltext.TABLES[name]:
        return FullText.EXTERNAL
    if "tool_calls" in sql or "tool_name" in sql:
        return FullText.COLUMNS
    # The oldest layout took only the content, from the messages table itself; it is never
    # searched because migration replaces it, but a read-only opener may meet it.
    return FullText.INLINE


def version(con: apsw.Connection) -> int:
    """Return the schema version of a file; 0 for an empty one, 1 for one that lacks the row."""
    tables = fulltext.stored(con, "table")
    if "schema_version" in tables:
        found = con.execute("SELECT MAX(version) FROM schema_version").get
        if found is not None:
            return int(found)
    return 1 if "sessions" in tables else 0


def probe(con: apsw.Connection) -> Capabilities:
    """Look at a file; costs a handful of reads of its schema."""
    tables = fulltext.stored(con, "table")
    floor = fulltext.floor(con) if "state_meta" in tables else None
    return Capabilities(
        version=version(con),
        session_columns=_columns(con, "sessions"),
        message_columns=_columns(con, "messages"),
        tables=frozenset(tables),
        words=_layout(tables, fulltext.WORDS),
        trigram=_layout(tables, fulltext.TRIGRAM),
        activity=activity.is_intact(con),
        rebuild_floor=floor,
    )
