"""Looking after the file: giving space back, and the clean-up that runs by itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from hermes_store import files, meta
from hermes_store.database import fulltext, migrations
from hermes_store.database.connection import Database, Progress
from hermes_store.errors import StoreError
from hermes_store.upkeep import MaintenanceReport, OptimizeReport

LAST_RUN_KEY = "last_auto_prune"
DAY = 86_400
HOUR = 3_600

log = logging.getLogger("hermes_store.maintenance")


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


def prune_older_than(
    db: Database, days: float, source: str | None = None, sessions_dir: Path | None = None
) -> Iterator[str]:
    """Delete ended sessions without activity for so many days, and their files; yield their ids."""
    from hermes_store import prune  # loaded when used: it knows the search language

    cutoff = time.time() - days * DAY
    with db.read() as tx:
        planned = prune.ended_before(tx, cutoff, source)
    for step in prune.apply(db.write, planned, cutoff):
        files.remove_session_files(sessions_dir, step.session_ids)
        yield from step.session_ids


def _claim(db: Database, min_interval_hours: float) -> bool:
    """Take this turn of the clean-up for this process, unless another one just had it."""
    now = time.time()
    with db.write() as tx:
        try:
            last = float(meta.get(tx, LAST_RUN_KEY) or 0)
        except ValueError:
            last = 0.0
        if last <= now < last + min_interval_hours * HOUR:
            return False
        meta.put(tx, LAST_RUN_KEY, str(now))
    return True


def auto_prune(
    db: Database,
    *,
    retention_days: float,
    min_interval_hours: float,
    vacuum_after: bool,
    sessions_dir: Path | None = None,
) -> MaintenanceReport:
    """Prune if the last time is long enough ago; never raises, says what it did."""
    gone: list[str] = []
    try:
        if not _claim(db, min_interval_hours):
            return MaintenanceReport(skipped=True)
        gone.extend(prune_older_than(db, retention_days, sessions_dir=sessions_dir))
        if gone and vacuum_after:
            vacuum(db)
    except (StoreError, OSError) as error:
        log.warning("The automatic clean-up of %s stopped: %s", db.path, error)
        return MaintenanceReport(pruned=len(gone), error=str(error), pruned_ids=tuple(gone))
    return MaintenanceReport(
        pruned=len(gone), vacuumed=bool(gone) and vacuum_after, pruned_ids=tuple(gone)
    )
