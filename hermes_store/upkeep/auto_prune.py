"""Automatic pruning, switched on in config.yaml."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.errors import StoreError
from hermes_store.marks.marks import Marks
from hermes_store.records.upkeep_reports import MaintenanceReport
from hermes_store.sessions import key_values
from hermes_store.upkeep.optimize import vacuum
from hermes_store.upkeep.prune_by_age import prune_older_than

log = logging.getLogger("hermes_store.auto_prune")
LAST_RUN_KEY = "last_auto_prune"
HOUR = 3_600


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
        # The report has the message; a log must not quote what people wrote.
        log.warning("Automatic pruning of %s stopped: %s", db.path, type(error).__name__)
        return MaintenanceReport(pruned=len(gone), error=str(error), pruned_ids=tuple(gone))
    return MaintenanceReport(
        pruned=len(gone), vacuumed=bool(gone) and vacuum_after, pruned_ids=tuple(gone)
    )
