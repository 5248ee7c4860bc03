"""Emptying the trash: permanently delete copies and transcript files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.marks import marks
from hermes_store.records.trash import Purged
from hermes_store.trash import sidecar_tables
from hermes_store.trash.copy_states import States, existing
from hermes_store.trash.sidecar_tables import Entry


def purge(
    db: Database,
    sidecar: Sidecar,
    states: States,
    batch_ids: set[int],
    clock: Callable[[], float],
) -> Purged:
    """Permanently delete batches; sessions that exist again keep their files and marks."""
    if not batch_ids:
        return Purged()
    hidden = states.tidy()
    with sidecar.write() as side:
        entries = [
            entry
            for entry in sidecar_tables.all_entries(side)
            if entry.batch_id in batch_ids and entry.id not in hidden
        ]
        with db.read() as tx:
            there = existing(tx, (entry.session_id for entry in entries))
        gone = [entry for entry in entries if entry.session_id not in there]
        left_files = list(_files(side, gone))
        marks.forget(side, (entry.session_id for entry in gone))
        sidecar_tables.drop(side, (entry.id for entry in entries), clock())
    for path in left_files:
        with suppress(OSError):
            path.unlink()
    sidecar_tables.give_space_back(sidecar)
    return sidecar_tables.purged(entries)


def _files(side: Transaction, entries: Sequence[Entry]) -> Iterator[Path]:
    for entry in entries:
        folder = sidecar_tables.folder_of(side, entry.batch_id)
        if folder is None:
            continue
        for name in sidecar_tables.header_of(side, entry).files:
            if "/" not in name and "\\" not in name:
                yield Path(folder) / name
