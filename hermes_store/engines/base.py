"""What an engine offers the rest of the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Progress = Callable[[str, int, int], None]
Synchronous = Literal["FULL", "NORMAL"]
ALL_TEXT_SINCE = 11
"""The first schema version whose indexes include tool names and tool calls."""


class FullText(Enum):
    """How the messages of a database are indexed."""

    NONE = "none"
    INLINE = "inline"
    """Both indexes store a copy of the text (Hermes Agent up to schema 22)."""
    EXTERNAL = "external"
    """This store's layout: text from views, trigrams only for CJK rows."""
    COLUMNS = "columns"
    """Schema 23 and later: content, tool_name and tool_calls in separate columns."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a database can do, as found by probing it."""

    version: int
    foreign: bool
    """Whether a newer Hermes owns the database: no DDL, no change of its version."""
    session_columns: tuple[str, ...]
    message_columns: tuple[str, ...]
    tables: frozenset[str]
    words: FullText
    trigram: FullText
    activity: bool
    """Whether `session_activity` exists as an up-to-date table."""
    unindexed: tuple[int, int] | None
    """The first and last id that an index which is being rebuilt does not hold yet."""
    missing: tuple[str, ...] = ()
    """Tables and columns that every version has had but this file has not; it is only read."""

    @property
    def holds_all_text(self) -> bool:
        """Whether the indexes include tool names and tool calls."""
        return self.version >= ALL_TEXT_SINCE

    @property
    def empty(self) -> bool:
        """Whether the database has no session tables yet."""
        return not self.session_columns

    def has_session(self, column: str) -> bool:
        """Return whether `sessions` has a column."""
        return column in self.session_columns

    def session_column(self, column: str, alias: str = "s") -> str:
        """Return the SQL for a column of `sessions`, which is NULL where it does not exist."""
        return f"{alias}.{column}" if self.has_session(column) else "NULL"

    def has_message(self, column: str) -> bool:
        """Return whether `messages` has a column."""
        return column in self.message_columns
