"""Optimizing: a compact full-text index and a database file without free space."""

from __future__ import annotations

from hermes_store.engines.base import Database, Progress
from hermes_store.engines.sqlite import fulltext, migrations
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.records.upkeep_reports import OptimizeReport


def optimize(db: Database, progress: Progress | None = None) -> OptimizeReport:
    """Give the database the compact index layout, merge the index and vacuum.

    Works in short transactions beside other writers, except for the final vacuum, and continues
    where it stopped after an interruption. The database of a newer Hermes is left alone.
    """
    before = _size(db)
    if not isinstance(db, SqliteDatabase):
        if progress is not None:
            progress("Vacuuming", 0, 1)
        db.vacuum()
        return OptimizeReport(before, _size(db))
    with db.read() as tx:
        if tx.caps.foreign:
            return OptimizeReport(before, before, left_alone=True)
    with db.write() as tx:
        converted = not fulltext.is_external(tx.connection)
        if converted:
            fulltext.start_rebuild(tx.connection)
    migrations.finish_rebuild(db.write, progress)
    for table in fulltext.TABLES:
        _merge(db, table, progress)
    if progress is not None:
        progress("Shrinking the database", 0, 1)
    db.vacuum()
    db.truncate_log()
    return OptimizeReport(before, _size(db), converted=converted)


def _merge(db: SqliteDatabase, table: str, progress: Progress | None) -> None:
    step, more = 0, True
    while more:
        with db.write() as tx:
            more = fulltext.merge_step(tx.connection, table, first=step == 0)
        step += 1
        if progress is not None:
            progress("Merging the index", step, 0)


def _size(db: Database) -> int:
    """Return the size of a database on disk, including its log."""
    sizes = db.sizes()
    return sizes.database + sizes.log
