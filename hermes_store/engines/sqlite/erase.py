"""Makes deleted text unreadable, where SQLite would leave it in free pages, indexes and logs."""

from __future__ import annotations

from contextlib import suppress

from hermes_store.engines.base import Database, Progress
from hermes_store.engines.sqlite import fulltext
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.engines.sqlite.transaction import overwriting
from hermes_store.errors import DatabaseLocked, DatabaseReadOnly, DiskFull

CHINESE = (
    "Words of deleted messages may remain in messages_fts_cjk until Hermes Agent rebuilds it with "
    "'hermes sessions optimize-storage'."
)
ON_SERVER = (
    "The server reuses the space of deleted text; until then, fragments may remain in its files, "
    "and longer in its logs and backups."
)
REWRITE_BYTES = 500_000_000
"""Up to this size, about 5 s of holding the write lock, the database is rewritten at the end."""


def last_traces(db: Database, progress: Progress | None = None) -> str | None:
    """Remove deleted text from the indexes, the free space and the log of a database.

    An index keeps the words of a deleted message until its parts are merged: about 15 s for each
    gigabyte, in short transactions beside other writers. Pages keep remains from the time when
    they were split, until the database is rewritten. Return a sentence about what is left.
    """
    if not isinstance(db, SqliteDatabase):
        db.vacuum()
        return ON_SERVER
    with db.read() as tx:
        tables = [name for name in fulltext.TABLES if name in tx.caps.tables]
        beyond = CHINESE if "messages_fts_cjk" in tx.caps.tables else None
    for table in tables:
        # A tokenizer that only the agent has: nobody else can change its index.
        with suppress(DatabaseReadOnly):
            _merge(db, table, progress)
    left = [beyond, _rewrite(db)]
    if not db.truncate_log():
        left.append(
            f"Another program is using {db.path}, so deleted text may remain in its log until that "
            "program closes."
        )
    return " ".join(filter(None, left)) or None


def _rewrite(db: SqliteDatabase) -> str | None:
    if db.path.stat().st_size <= REWRITE_BYTES:
        with suppress(DatabaseLocked, DiskFull):
            db.run_outside_transaction("VACUUM")
            return None
    return (
        f"Fragments of deleted text may remain in unused space of {db.path}. "
        "'hermes sessions optimize' removes them."
    )


def _merge(db: SqliteDatabase, table: str, progress: Progress | None) -> None:
    step, more = 0, True
    while more:
        with db.write() as tx, overwriting(tx.connection):
            more = fulltext.merge_step(tx.connection, table, first=step == 0)
        step += 1
        if progress is not None:
            progress("Erasing from the index", step, 0)
