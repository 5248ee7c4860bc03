"""Looking after the file: giving space back, and the clean-up that runs by itself."""

from __future__ import annotations

import logging

from hermes_store.engines.base import Progress
from hermes_store.engines.sqlite import fulltext, migrations
from hermes_store.engines.sqlite.session_database import Database
from hermes_store.records.upkeep_reports import OptimizeReport

log = logging.getLogger("hermes_store.optimize")


def vacuum(db: Database) -> None:
    """Rewrite the file without its free pages."""
    db.run_outside_transaction("VACUUM")


def optimize(db: Database, progress: Progress | None = None) -> OptimizeReport:
    """Give the file the compact index layout, merge its index and rewrite it without gaps.

    Works in short transactions beside other writers, up to the rewriting at the end; after an
    interruption it goes on where it stopped. A newer Hermes' file is left alone.
    """
    before = _size(db)
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
        progress("Shrinking the file", 0, 1)
    vacuum(db)
    db.truncate_log()
    return OptimizeReport(before, _size(db), converted=converted)


def _merge(db: Database, table: str, progress: Progress | None) -> None:
    step, more = 0, True
    while more:
        with db.write() as tx:
            more = fulltext.merge_step(tx.connection, table, first=step == 0)
        step += 1
        if progress is not None:
            progress("Merging the index", step, 0)


def _size(db: Database) -> int:
    """Return what a database takes on disk, its log included."""
    log = db.path.with_name(db.path.name + "-wal")
    return sum(path.stat().st_size for path in (db.path, log) if path.exists())
