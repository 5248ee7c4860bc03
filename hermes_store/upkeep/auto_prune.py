"""Automatic pruning, switched on in config.yaml."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.errors import StoreError
from hermes_store.marks.marks import Marks
from hermes_store.records.upkeep_reports import MaintenanceReport
from hermes_store.sessions import key_values, session_files
from hermes_store.upkeep.optimize import vacuum

log = logging.getLogger("hermes_store.auto_prune")
LAST_RUN_KEY = "last_auto_prune"
DAY = 86_400
HOUR = 3_600


def prune_older_than(
    db: Database,
    marks: Marks,
    days: float,
    source: str | None = None,
    sessions_dir: Path | None = None,
) -> Iterator[str]:
    """Delete ended sessions inactive for `days` days and their files; yield their ids."""
    from hermes_store.upkeep import prune

    cutoff = time.time() - days * DAY
    with db.read() as tx:
        planned = prune.ended_before(tx, cutoff, source, marks)
    for step in prune.apply(db.write, planned, cutoff, marks):
        session_files.remove_session_files(sessions_dir, step.session_ids)
        yield from step.session_ids


def _claim(db: Database, min_interval_hours: float) -> bool:
    """Claim this run for this process, unless another process ran recently."""
    now = time.time()
    with db.write() as tx:
        try:
            last = float(key_values.get(tx, LAST_RUN_KEY) or 0)
        except ValueError:
            last = 0.0
        if last <= now < last + min_interval_hours * HOUR:
            return False
        key_values.put(tx, LAST_RUN_KEY, str(now))
    return True


def auto_prune(
    db: Database,
    marks: Marks,
    *,
    retention_days: float,
    min_interval_hours: float,
    vacuum_after: bool,
    sessions_dir: Path | None = None,
) -> MaintenanceReport:
    """Prune if the last run is long enough ago and report it; never raises."""
    gone: list[str] = []
    try:
        if not _claim(db, min_interval_hours):
            return MaintenanceReport(skipped=True)
        gone.extend(prune_older_than(db, marks, retention_days, sessions_dir=sessions_dir))
        if gone and vacuum_after:
            vacuum(db)
    except (StoreError, OSError) as error:
        log.warning("Automatic pruning of %s stopped: %s", db.path, error)
        return MaintenanceReport(pruned=len(gone), error=str(error), pruned_ids=tuple(gone))
    return MaintenanceReport(
        pruned=len(gone), vacuumed=bool(gone) and vacuum_after, pruned_ids=tuple(gone)
    )
