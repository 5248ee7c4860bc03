"""Automatic pruning, switched on in config.yaml."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import StoreError
from hermes_store.marks.marks import Marks
from hermes_store.records.stored_values import number
from hermes_store.records.upkeep_reports import MaintenanceReport
from hermes_store.sessions import key_values
from hermes_store.upkeep.prune_by_age import prune_older_than

log = logging.getLogger("hermes_store.auto_prune")
LAST_RUN_KEY = "last_auto_prune"
LAST_VACUUM_KEY = "last_vacuum"
"""Both keys are shared with Hermes Agent."""
AUTOMATIC = "pruned automatically"
"""The reason of a batch in the trash."""
HOUR, DAY = 3_600, 86_400


def _moment(tx: Transaction, key: str) -> float:
    return number(key_values.get(tx, key)) or 0.0


def last_run(tx: Transaction) -> float | None:
    """Return when anyone last pruned automatically; None if never."""
    return _moment(tx, LAST_RUN_KEY) or None


def claim(db: Database, min_interval_hours: float) -> bool:
    """Claim this run for this process, unless another process ran recently."""
    now = time.time()
    with db.write() as tx:
        last = _moment(tx, LAST_RUN_KEY)
        if last <= now < last + min_interval_hours * HOUR:
            return False
        key_values.put(tx, LAST_RUN_KEY, str(now))
    return True


def vacuum_if_due(db: Database, min_interval_days: float) -> bool:
    """Return free space to the disk, unless that was done recently; return whether it was done."""
    now = time.time()
    with db.read() as tx:
        last = _moment(tx, LAST_VACUUM_KEY)
    if last <= now < last + min_interval_days * DAY:
        return False
    db.vacuum()
    with db.write() as tx:
        key_values.put(tx, LAST_VACUUM_KEY, str(now))
    return True


def auto_prune(
    db: Database,
    marks: Marks,
    *,
    retention_days: float,
    min_interval_hours: float,
    vacuum_after: bool,
    min_vacuum_interval_days: float = 30,
    sessions_dir: Path | None = None,
) -> MaintenanceReport:
    """Prune for good if the last run is long enough ago and report it; never raises."""
    gone: list[str] = []
    vacuumed = False
    try:
        if not claim(db, min_interval_hours):
            return MaintenanceReport(skipped=True)
        gone.extend(prune_older_than(db, marks, retention_days, sessions_dir=sessions_dir))
        if gone and vacuum_after:
            vacuumed = vacuum_if_due(db, min_vacuum_interval_days)
    except (StoreError, OSError) as error:
        # The report has the message; a log must not quote what people wrote.
        log.warning("Automatic pruning of %s stopped: %s", db.name, type(error).__name__)
        return MaintenanceReport(pruned=len(gone), error=str(error), pruned_ids=tuple(gone))
    return MaintenanceReport(pruned=len(gone), vacuumed=vacuumed, pruned_ids=tuple(gone))
