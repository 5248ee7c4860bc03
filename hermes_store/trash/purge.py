"""Emptying the trash: permanently delete copies, transcript files and marks.

Copies are marked first, so that an interrupted purge is finished by whoever looks next: what was
purged never comes back, and none of its files stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hermes_store.engines.base import Database, Sidecar, Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.marks import marks
from hermes_store.sessions import session_rows
from hermes_store.trash import sidecar_tables
from hermes_store.trash.sidecar_tables import Entry, State


def purge(
    db: Database, sidecar: Sidecar, entries: Sequence[Entry], clock: Callable[[], float]
) -> tuple[list[Entry], list[Path]]:
    """Permanently delete copies, unless another process has just restored them.

    Return what was deleted, and the files that could not be.
    """
    # The write lock that restoring holds while it puts back a session.
    with db.write(), sidecar.write() as side:
        wanted = [entry.id for entry in entries]
        marked = set(sidecar_tables.move(side, wanted, State.PURGING))
    chosen = [entry for entry in entries if entry.id in marked]
    return chosen, finish(db, sidecar, chosen, clock)


def finish(
    db: Database, sidecar: Sidecar, entries: Sequence[Entry], clock: Callable[[], float]
) -> list[Path]:
    """Remove files, marks and copies; return the files that could not be removed.

    A session that exists again keeps its files and marks.
    """
    with db.read() as tx:
        there = session_rows.existing(tx, (entry.session_id for entry in entries))
    gone = [entry for entry in entries if entry.session_id not in there]
    with sidecar.read() as view:
        files = [] if view is None else list(_files(view, gone))
    stuck = [path for path in files if not _removed(path)]
    with sidecar.write() as side:
        marks.forget(side, (entry.session_id for entry in gone))
        sidecar_tables.drop(side, (entry.id for entry in entries), clock())
    return stuck


def _removed(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _files(side: Transaction, entries: Sequence[Entry]) -> Iterator[Path]:
    for entry in entries:
        folder = sidecar_tables.folder_of(side, entry.batch_id)
        if folder is None:
            continue
        with suppress(DatabaseCorrupt):
            for name in sidecar_tables.header_of(side, entry).files:
                if "/" not in name and "\\" not in name:
                    yield Path(folder) / name
