"""Pruning by age alone, session by session, as programs written for Hermes Agent expect."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hermes_store.engines.base import Database, Transaction
from hermes_store.marks.marks import Marks
from hermes_store.records.sources import of_source
from hermes_store.records.trash import Deleted
from hermes_store.sessions import lineage, session_files
from hermes_store.trash import delete_from_database
from hermes_store.trash.delete_from_database import Group

DAY = 86_400
KEPT = ("archived", "pinned")
"""Marks that keep a conversation however old it is."""


def prune_older_than(
    db: Database,
    marks: Marks,
    days: float,
    source: str | None = None,
    sessions_dir: Path | None = None,
) -> Iterator[str]:
    """Delete ended sessions inactive for `days` days and their files; yield their ids."""
    cutoff = time.time() - days * DAY
    with db.read() as tx:
        planned = ended_before(tx, cutoff, source, marks)
        groups = delete_from_database.conversations(tx, planned)
    for step in apply(db.write, groups, cutoff, marks):
        session_files.remove_session_files(sessions_dir, step.session_ids)
        yield from step.session_ids


def _candidates(tx: Transaction, cutoff: float, source: str | None) -> tuple[str, list[Any]]:
    chosen, names = of_source("a.source", source)
    conditions = ["s.ended_at IS NOT NULL", "a.last_active < ?", chosen]
    conditions += [f"NOT {kept}" for kept in _kept(tx)]
    origin = "session_activity a CROSS JOIN sessions s ON s.id = a.session_id"
    return f"FROM {origin} WHERE {' AND '.join(conditions)}", [cutoff, *names]


def _kept(tx: Transaction) -> list[str]:
    """Return the SQL conditions under which a session is kept at any age."""
    present = (name for name in KEPT if tx.caps.has_session(name))
    return [f"COALESCE(s.{name}, 0) <> 0" for name in present]


def ended_before(
    tx: Transaction, cutoff: float, source: str | None, marks: Marks
) -> tuple[str, ...]:
    """Return the sessions whose conversation has ended and was last active before `cutoff`."""
    clause, values = _candidates(tx, cutoff, source)
    found = tx.rows(f"SELECT s.id, s.parent_session_id, s.end_reason {clause}", values)
    marked = {each for mark in KEPT for each in marks.sessions_with(tx, mark)}
    return tuple(
        session_id
        for session_id, parent, reason in list(found)
        if session_id not in marked
        and ((parent is None and reason != "compression") or _is_over(tx, session_id, cutoff))
    )


def _is_over(tx: Transaction, session_id: str, cutoff: float) -> bool:
    """Tell whether a whole chain has ended, was last active before `cutoff` and has no mark."""
    kept = " OR ".join(_kept(tx)) or "FALSE"
    alive = tx.one(
        f"{lineage.CHAIN}SELECT 1 FROM chain CROSS JOIN sessions s ON s.id = chain.id "
        "CROSS JOIN session_activity a ON a.session_id = s.id "
        f"WHERE s.ended_at IS NULL OR a.last_active >= ? OR {kept} LIMIT 1",
        (json.dumps([lineage.roots(tx, [session_id])[session_id]]), cutoff),
    )
    return alive is None


def apply(
    write: delete_from_database.Write, groups: Sequence[Group], cutoff: float, marks: Marks
) -> Iterator[Deleted]:
    """Delete planned sessions in short transactions, checking each one again first."""

    def kept(tx: Transaction, group: Group) -> bool:
        found = marks.of_rows(tx, list(group))
        marked = any(each.pinned or each.archived for each in found.values())
        return marked or not all(_is_over(tx, session_id, cutoff) for session_id in group)

    return delete_from_database.delete_in_steps(write, groups, kept)
