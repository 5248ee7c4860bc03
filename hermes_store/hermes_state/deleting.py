"""Deleting and pruning for good, as programs written for Hermes Agent expect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes_store.hermes_state.holds_store import HoldsStore
from hermes_store.sessions import lineage, session_files, session_rows
from hermes_store.trash import delete_from_database


def delete_session(self: HoldsStore, session_id: str, sessions_dir: Path | None = None) -> bool:
    """Permanently delete only this session; its children move to its parent."""
    deleted = delete_from_database.total(
        delete_from_database.delete_in_steps(self.store.database.write, [(session_id,)])
    )
    session_files.remove_session_files(sessions_dir, deleted.session_ids)
    return bool(deleted.session_ids)


def delete_sessions(
    self: HoldsStore, session_ids: Sequence[str], sessions_dir: Path | None = None
) -> int:
    """Permanently delete sessions and their sub-agents, all or none; return how many.

    Unknown ids are skipped; sub-agents are not counted.
    """
    with self.store.database.write() as tx:
        named = session_rows.existing(tx, (each for each in session_ids if isinstance(each, str)))
        group = lineage.with_agents(tx, named)
        for session_id in group:
            delete_from_database.delete_session(tx, session_id)
    session_files.remove_session_files(sessions_dir, group)
    return len(named)


def prune_sessions(
    self: HoldsStore,
    older_than_days: float = 90,
    source: str | None = None,
    sessions_dir: Path | None = None,
) -> int:
    """Permanently delete ended sessions inactive for this many days; return how many."""

    from hermes_store.upkeep.prune_by_age import prune_older_than

    gone = prune_older_than(
        self.store.database, self.store.marks, older_than_days, source, sessions_dir
    )
    return sum(1 for _ in gone)


def vacuum(self: HoldsStore) -> None:
    """Return free space in the database to the disk."""
    self.store.database.vacuum()


def maybe_auto_prune_and_vacuum(
    self: HoldsStore,
    retention_days: float = 90,
    min_interval_hours: float = 24,
    vacuum: bool = True,
    sessions_dir: Path | None = None,
    *,
    min_vacuum_interval_days: float = 30,
) -> dict[str, Any]:
    """Prune if the last run is long enough ago; never raises, returns what it did."""

    from hermes_store.upkeep import auto_prune

    report = auto_prune.auto_prune(
        self.store.database,
        self.store.marks,
        retention_days=retention_days,
        min_interval_hours=min_interval_hours,
        vacuum_after=vacuum,
        min_vacuum_interval_days=min_vacuum_interval_days,
        sessions_dir=sessions_dir,
    )
    result: dict[str, Any] = {
        "skipped": report.skipped,
        "pruned": report.pruned,
        "vacuumed": report.vacuumed,
    }
    return result | ({"error": report.error} if report.error else {})
