"""Repairing a damaged database: copy everything readable into a new file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from hermes_store.engines.sqlite import schema
from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.upkeep_reports import Repair
from hermes_store.upkeep.doctor import holders

MAX_FAILURES = 2_000


def repair(path: Path) -> Repair:
    """Copy everything readable into a new file that replaces the damaged one.

    The damaged file and its log are kept under another name. While another program has the
    database open, nothing is moved and the repaired copy stays beside it.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    mended = path.with_name(f"{path.name}.repaired-{stamp}")
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    target = Database(mended, synchronous="NORMAL")
    try:
        lost = _salvage(source, target, "sessions") + _salvage(source, target, "messages")
        with target.read() as tx:
            sessions = int(tx.value("SELECT COUNT(*) FROM sessions"))
            messages = int(tx.value("SELECT COUNT(*) FROM messages"))
    finally:
        source.close()
        target.close()
    if holders(path):
        return Repair(mended, path, sessions, messages, lost, in_place=False)
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    for ending in ("", "-wal", "-shm"):
        old = path.with_name(path.name + ending)
        if old.exists():
            old.rename(kept.with_name(kept.name + ending))
    mended.with_name(mended.name + ".writers").unlink(missing_ok=True)
    for ending in ("", "-wal", "-shm"):
        new = mended.with_name(mended.name + ending)
        if new.exists():
            new.rename(path.with_name(path.name + ending))
    return Repair(path, kept, sessions, messages, lost, in_place=True)


def _salvage(source: apsw.Connection, target: Database, table: str) -> int:
    """Copy the readable rows of a table; return how many were lost."""
    names = [column.name for column in schema.COLUMNS[table]]
    present = {str(row[1]) for row in source.execute(f"PRAGMA table_info({table})")}
    selected = ", ".join(name if name in present else "NULL" for name in names)
    marks = ", ".join("?" * len(names))
    lost = 0
    with target.write() as tx:
        tx.connection.execute("PRAGMA defer_foreign_keys = ON")
        for row in _readable_rows(source, table, selected):
            if row is None or not _keep(tx, table, names, marks, row):
                lost += 1
        _drop_strays(tx)
    return lost


def _readable_rows(
    source: apsw.Connection, table: str, selected: str
) -> Iterator[tuple[object, ...] | None]:
    """Yield the rows of a table, None for each unreadable place."""
    reached, failures = 0, 0
    while failures < MAX_FAILURES:
        try:
            for row in source.execute(
                f"SELECT rowid, {selected} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid",
                (reached,),
            ):
                reached, failures = int(row[0]), 0
                yield tuple(row[1:])
            return
        except apsw.Error:
            # Skip unreadable rows, in growing strides until one can be read.
            failures += 1
            reached += failures * failures
            yield None


def _keep(
    tx: Transaction, table: str, names: list[str], marks: str, row: tuple[object, ...]
) -> bool:
    try:
        return (
            tx.run(f"INSERT OR IGNORE INTO {table}({', '.join(names)}) VALUES ({marks})", row) > 0
        )
    except (apsw.ConstraintError, apsw.MismatchError):
        return False


def _drop_strays(tx: Transaction) -> None:
    """Delete messages without a session and links to lost parents."""
    tx.run("DELETE FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)")
    tx.run(
        "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IS NOT NULL "
        "AND parent_session_id NOT IN (SELECT id FROM sessions)"
    )
