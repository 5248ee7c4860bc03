"""The names of Hermes Agent's module `hermes_state`, for programs that import them.

    # from hermes_state import DEFAULT_DB_PATH, SessionDB
    from hermes_store.hermes_state import DEFAULT_DB_PATH, SessionDB

The modules of this folder are the groups of methods that `SessionDB` has besides its own.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Protocol

from hermes_store.config import paths
from hermes_store.engines.sqlite import fulltext, schema
from hermes_store.engines.sqlite.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_store.sessiondb import SessionDB

    DEFAULT_DB_PATH: Path

__all__ = [
    "DEFAULT_DB_PATH",
    "FTS_SQL",
    "FTS_TRIGRAM_SQL",
    "SCHEMA_SQL",
    "SCHEMA_VERSION",
    "SessionDB",
    "apply_wal_with_fallback",
    "format_session_db_unavailable",
    "get_last_init_error",
]

log = logging.getLogger("hermes_store.hermes_state")

_NO_LOG_HERE = ("locking protocol", "not authorized", "disk i/o error")
"""What SQLite says where a file system does not support write-ahead logging."""
_CREATE = re.compile(r"CREATE (VIEW|VIRTUAL TABLE|TRIGGER) (?!IF )")
_IF_MISSING = r"CREATE \1 IF NOT EXISTS "
_warned: set[str] = set()
_last_init_error: str | None = None


def _script(*statements: str) -> str:
    """Return a script that creates only what is missing."""
    return "".join(f"{_CREATE.sub(_IF_MISSING, each)};\n" for each in statements)


def _index(table: str, view: str) -> str:
    triggers = fulltext.triggers().items()
    made = [sql for name, sql in triggers if name.rpartition("_")[0] == table]
    return _script(fulltext.VIEWS[view], fulltext.TABLES[table], *made)


SCHEMA_SQL = _script(*schema.STATEMENTS)
FTS_SQL = _index(fulltext.WORDS, fulltext.WORDS_VIEW)
FTS_TRIGRAM_SQL = _index(fulltext.TRIGRAM, fulltext.TRIGRAM_VIEW)


def __getattr__(name: str) -> Any:
    if name == "SessionDB":  # loads this module itself
        from hermes_store.sessiondb import SessionDB

        return SessionDB
    if name == "DEFAULT_DB_PATH":  # follows HERMES_HOME, unless a program sets it here
        return paths.database_path()
    if name == "session_search":  # loads all of search
        import hermes_store.hermes_state.session_search as tool

        return tool
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


# -- when no database can be opened ------------------------------------------------------------


def record_init_error(error: Exception) -> None:
    """Remember why a `SessionDB` could not be opened; a later success does not forget it."""
    global _last_init_error
    _last_init_error = f"{type(error).__name__}: {error}"


def get_last_init_error() -> str | None:
    """Return why a `SessionDB` could not be opened in this process, or None."""
    return _last_init_error


def format_session_db_unavailable(prefix: str = "Session database not available") -> str:
    """Return a sentence for the user, with the reason if one is known."""
    reason = get_last_init_error()
    if not reason:
        return f"{prefix}."
    hint = ""
    if any(sign in reason.lower() for sign in _NO_LOG_HERE):
        hint = " (is it on NFS/SMB? See https://www.sqlite.org/wal.html)"
    return f"{prefix}: {reason.removesuffix('.')}{hint}."


# -- for programs with SQLite databases of their own -------------------------------------------


class Executes(Protocol):
    """A connection of `sqlite3`."""

    def execute(self, sql: str, /) -> object:
        """Run a statement."""


def apply_wal_with_fallback(conn: Executes, *, db_label: str = "state.db") -> str:
    """Turn write-ahead logging on, or a rollback journal where it is not supported.

    Returns "wal" or "delete". For databases that the program opened itself with `sqlite3`; a
    `SessionDB` needs no help.
    """
    import sqlite3

    try:
        conn.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if not any(sign in str(error).lower() for sign in _NO_LOG_HERE):
            raise
        if db_label not in _warned:
            _warned.add(db_label)
            log.warning(
                "The file system of %s does not support write-ahead logging (%s); using "
                "journal_mode=DELETE instead. Readers and writers will wait for each other.",
                db_label,
                error,
            )
        conn.execute("PRAGMA journal_mode=DELETE")
        return "delete"
    return "wal"
