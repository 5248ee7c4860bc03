"""The maintenance part of a store: `store.upkeep`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hermes_store.config.settings import Config
from hermes_store.engines.base import Database, Progress, WordSource
from hermes_store.errors import StoreError
from hermes_store.marks.marks import Marks
from hermes_store.records.prune import PruneFilter, PrunePlan
from hermes_store.records.statistics import (
    Activity,
    Insights,
    ModelUsage,
    SessionUsage,
    Stats,
    Usage,
)
from hermes_store.records.trash import Deleted
from hermes_store.records.upkeep_reports import MaintenanceReport, OptimizeReport
from hermes_store.search.cancellation import Stop
from hermes_store.trash.api import Trash
from hermes_store.upkeep import auto_prune, figures, insights, optimize, prune_plan, statistics

log = logging.getLogger("hermes_store.auto_prune")


class Upkeep:
    """Statistics, pruning and optimizing."""

    def __init__(self, database: Database, words: WordSource, trash: Trash, marks: Marks) -> None:
        self._database = database
        self._words = words
        self._trash = trash
        self._marks = marks

    # -- statistics ------------------------------------------------------------------------

    def statistics(self) -> Stats:
        """Return session counts by source, and sizes on disk."""
        with self._database.read() as tx:
            return statistics.totals(tx, self._database.sizes())

    def usage_by_model(self) -> tuple[ModelUsage, ...]:
        """Return tokens and cost by model, the most expensive first."""
        with self._database.read() as tx:
            return statistics.by_model(tx)

    def heaviest_sessions(self, limit: int = 10) -> tuple[SessionUsage, ...]:
        """Return the sessions with the highest token usage."""
        with self._database.read() as tx:
            return statistics.heaviest(tx, limit)

    def insights(self, *, days: int = 30, source: str | None = None, now: float) -> Insights:
        """Return activity and cost of the sessions started in the last `days` days."""
        with self._database.read() as tx:
            return insights.gather(tx, days=days, source=source, now=now)

    def activity(
        self, now: float | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Activity:
        """Return what happened on which day, counted from all messages.

        Once it is cancelled it ends at once, with nothing.
        """
        moment = time.time() if now is None else now
        with self._database.read() as tx, Stop(cancelled).watching(tx):
            return figures.activity(tx, moment, self._database.sizes().database)
        return Activity()

    def usage(self, *, days: int | None = None, now: float | None = None) -> Usage:
        """Return tokens and costs of sessions started in the last `days` days, or of all."""
        moment = time.time() if now is None else now
        with self._database.read() as tx:
            return figures.usage(tx, days, moment)

    # -- pruning ---------------------------------------------------------------------------

    def plan_prune(self, chosen: PruneFilter | None = None, now: float | None = None) -> PrunePlan:
        """Return what a filter would prune, and what it would spare and why; changes nothing."""
        moment = time.time() if now is None else now
        with self._database.read() as tx:
            return prune_plan.plan(tx, chosen or PruneFilter(), moment, self._marks)

    def prune(
        self,
        plan: PrunePlan,
        sessions_dir: Path | None = None,
        *,
        permanently: bool = False,
        progress: Progress | None = None,
    ) -> Deleted:
        """Delete what was planned, except conversations resumed since then."""
        return self._trash.sweep(
            plan.session_ids,
            sessions_dir,
            reason="pruned",
            unless=prune_plan.changed_since(plan),
            permanently=permanently,
            progress=progress,
        )

    def auto_prune(self, config: Config, sessions_dir: Path | None = None) -> MaintenanceReport:
        """Move old conversations to trash if config.yaml asks for it and it is due; never raises.

        What it moved there as long ago as conversations are kept is deleted permanently.
        """
        wanted = config.sessions
        if not wanted.auto_prune:
            return MaintenanceReport(skipped=True)
        try:
            if not auto_prune.claim(self._database, wanted.min_interval_hours):
                return MaintenanceReport(skipped=True)
            return self._prune_to_trash(config, sessions_dir)
        except (StoreError, OSError) as error:
            # The report has the message; a log must not quote what people wrote.
            log.warning("Automatic pruning stopped: %s", type(error).__name__)
            return MaintenanceReport(error=str(error))

    def _prune_to_trash(self, config: Config, sessions_dir: Path | None) -> MaintenanceReport:
        wanted = config.sessions
        plan = self.plan_prune(PruneFilter(older_than_days=wanted.retention_days))
        gone = self._trash.sweep(
            plan.session_ids,
            sessions_dir,
            reason=auto_prune.AUTOMATIC,
            unless=prune_plan.changed_since(plan),
        )
        purged = self._trash.empty(
            wanted.retention_days, reason=auto_prune.AUTOMATIC, rewrite=False
        )
        vacuumed = False
        if (gone.session_ids or purged.sessions) and wanted.vacuum_after_prune:
            # It rewrites the whole file, and whoever writes waits; alone, nobody does.
            alone = not self._database.is_shared()
            vacuumed = alone and auto_prune.vacuum_if_due(
                self._database, wanted.min_vacuum_interval_days
            )
        return MaintenanceReport(
            pruned=len(gone.session_ids),
            vacuumed=vacuumed,
            pruned_ids=gone.session_ids,
            batch_id=gone.batch_id,
            purged=purged.sessions,
        )

    def last_auto_prune(self) -> float | None:
        """Return when anyone last pruned automatically, Hermes Agent included; None if never."""
        with self._database.read() as tx:
            return auto_prune.last_run(tx)

    # -- optimizing ------------------------------------------------------------------------

    def optimize(self, progress: Progress | None = None) -> OptimizeReport:
        """Make the database as small and its search as fast as possible; see docs/storage.md."""
        report = optimize.optimize(self._database, progress)
        listed = None if progress is None else partial(progress, "Listing words")
        self._words.prepare(self._database.read, progress=listed)
        return report
