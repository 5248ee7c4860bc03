"""Bring sessions from a server into a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.transfer import Outcome, PullReport
from hermes_store.transfer import import_file, stored_forms
from hermes_store.transfer.export import Format, export_to_file
from hermes_store.transfer.stored_forms import MESSAGE

Progress = Callable[[int, int], None]


def pull(
    hub: Database, target: Database, session_ids: Sequence[str], progress: Progress | None = None
) -> PullReport:
    """Add sessions of a server to a file; those that it has already stay as they are.

    They take the way of an export, so a session comes whole or not at all. What is in the file
    afterwards is compared with the server.
    """
    if not session_ids:
        return PullReport(0, 0, 0)
    descriptor, name = tempfile.mkstemp(suffix=".jsonl")
    os.close(descriptor)
    path = Path(name)
    try:
        export_to_file(hub, session_ids, path, Format.JSONL, everything=True)
        report = import_file.apply(target, path, progress=progress)
    finally:
        path.unlink(missing_ok=True)
    messages = 0
    for each in report.sessions:
        if each.session_id is not None and each.outcome in (Outcome.ADDED, Outcome.EXTENDED):
            messages += _compare(hub, target, each.session_id)
    return PullReport(len(session_ids), report.count(Outcome.ADDED), messages)


def _compare(hub: Database, target: Database, session_id: str) -> int:
    with hub.read() as there, target.read() as here:
        shared = [name for name in MESSAGE if here.caps.has_message(name)]
        expected = _sums(there, session_id, shared)
        found = _sums(here, session_id, shared)
    if expected != found:
        raise DatabaseCorrupt(
            f"What the file has of session {session_id} is not what the server has. Delete it "
            "there and pull it again."
        )
    return len(found)


def _sums(tx: Transaction, session_id: str, names: Sequence[str]) -> list[int]:
    selected = ", ".join(f"m.{name}" if name in names else "NULL" for name in MESSAGE)
    rows = tx.stream(
        f"SELECT {selected} FROM messages m WHERE m.session_id = ? ORDER BY m.id", (session_id,)
    )
    return [stored_forms.checksum(stored_forms.formed(MESSAGE, values)) for values in rows]
