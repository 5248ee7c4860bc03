"""Bring sessions from a server into a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.transfer import Outcome, PullReport
from hermes_store.transfer import import_file, same_session
from hermes_store.transfer.export import Format, export_to_file
from hermes_store.transfer.stored_forms import MESSAGE

Progress = Callable[[int, int], None]


def pull(
    hub: Database, target: Database, session_ids: Sequence[str], progress: Progress | None = None
) -> PullReport:
    """Add sessions of a server to a file, and what was said there since to those that it has.

    They take the way of an export, so a session comes whole or not at all. What is in the file
    afterwards is compared with the server.
    """
    if not session_ids:
        return PullReport(0, 0, 0)
    descriptor, name = tempfile.mkstemp(suffix=".jsonl")
    os.close(descriptor)
    path = Path(name)
    try:
        missing = _missing(hub, target, session_ids)
        if not missing:
            return PullReport(len(session_ids), 0, 0)
        export_to_file(hub, missing, path, Format.JSONL, everything=True)
        report = import_file.apply(target, path, progress=progress)
    finally:
        path.unlink(missing_ok=True)
    messages, wrong = 0, list[str]()
    for each in report.sessions:
        if each.session_id is not None and each.outcome in (Outcome.ADDED, Outcome.EXTENDED):
            messages += each.messages
            if not _is_equal(hub, target, each.session_id):
                wrong.append(each.session_id)
    if wrong:
        raise DatabaseCorrupt(
            f"What the file has of {', '.join(wrong[:5])} is not what the server has. Delete "
            "that there and pull it again."
        )
    skipped = tuple(
        f"{each.session_id}: {each.note}"
        for each in report.sessions
        if each.outcome is Outcome.SKIPPED
    )
    return PullReport(
        len(session_ids),
        report.count(Outcome.ADDED),
        messages,
        report.count(Outcome.EXTENDED),
        skipped,
    )


def _is_equal(hub: Database, target: Database, session_id: str) -> bool:
    with hub.read() as there, target.read() as here:
        shared = [name for name in MESSAGE if here.caps.has_message(name)]
        expected = same_session.sums(there, session_id, shared)
        return expected == same_session.sums(here, session_id, shared)


def _missing(hub: Database, target: Database, session_ids: Sequence[str]) -> list[str]:
    """Return the sessions that the file does not have, also not under the name they had there."""
    with hub.read() as there, target.read() as here:
        if here.caps.empty:
            return list(session_ids)
        return [each for each in session_ids if not _has(here, there, each)]


def _has(here: Transaction, there: Transaction, hub_id: str) -> bool:
    row = there.one("SELECT origin_id, started_at FROM sessions WHERE id = ?", (hub_id,))
    if row is None or row[0] is None:
        return False
    same = "SELECT 1 FROM sessions WHERE id = ? AND started_at = ?"
    return here.one(same, row) is not None and same_session.is_beginning(
        there, hub_id, here, row[0]
    )
