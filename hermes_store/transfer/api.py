"""Exports and imports of a store: `store.transfer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hermes_store.engines.base import Database
from hermes_store.records.transfer import ImportReport, PullReport, PushReport
from hermes_store.sessions import messages, session_rows
from hermes_store.sessions.messages import Which
from hermes_store.transfer import import_file
from hermes_store.transfer.export import Format, Sink, export, export_to_file
from hermes_store.transfer.pull import pull
from hermes_store.transfer.push import push

Progress = Callable[[int, int], None]
Import = Callable[[Database, Path, Progress | None], ImportReport]


class Transfer:
    """Exports and imports sessions; see docs/export-import.md."""

    def __init__(self, database: Database, importer: Import = import_file.apply) -> None:
        """`importer` imports a file; a store passes one that also completes transcripts."""
        self._database = database
        self._importer = importer

    def export(
        self,
        sink: Sink,
        fmt: str = "jsonl",
        session_ids: Iterable[str] | None = None,
        redact: bool = False,
        progress: Progress | None = None,
        *,
        everything: bool = False,
    ) -> int:
        """Write sessions, by default all, as jsonl, markdown or html; return how many.

        With `everything`, include messages that were taken back or are hidden.
        """
        return export(
            self._database,
            session_ids,
            sink,
            Format(fmt),
            redact=redact,
            everything=everything,
            progress=progress,
        )

    def export_file(
        self,
        path: Path | str,
        fmt: str = "jsonl",
        session_ids: Iterable[str] | None = None,
        redact: bool = False,
        progress: Progress | None = None,
        *,
        everything: bool = False,
    ) -> int:
        """Write the same to a file, complete or not at all."""
        return export_to_file(
            self._database,
            session_ids,
            Path(path),
            Format(fmt),
            redact=redact,
            everything=everything,
            progress=progress,
        )

    def as_dictionary(self, session_id: str, which: Which = Which.SENT) -> dict[str, Any] | None:
        """Return a session with its messages, None if there is no such session."""
        with self._database.read() as tx:
            found = session_rows.row(tx, session_id)
            if found is None:
                return None
            return found | {"messages": messages.rows(tx, session_id, which)}

    def push(
        self,
        hub: Database,
        *,
        host: str,
        origin: str | None = None,
        full: bool = False,
        progress: Progress | None = None,
    ) -> PushReport:
        """Send what is new here to a server, as what it has of this file on a machine.

        With `full`, every message is compared, also in sessions that seem unchanged.
        """
        name = origin or f"{host}:{self._database.name}"
        return push(self._database, hub, host=host, origin=name, full=full, progress=progress)

    def pull(
        self, hub: Database, session_ids: Sequence[str], progress: Progress | None = None
    ) -> PullReport:
        """Bring sessions of a server here."""
        return pull(hub, self._database, session_ids, progress)

    def import_file(self, path: Path | str, progress: Progress | None = None) -> ImportReport:
        """Import the sessions of an export or a transcript."""
        return self._importer(self._database, Path(path), progress)
