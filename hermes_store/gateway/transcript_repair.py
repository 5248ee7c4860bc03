"""Compare transcripts and sessions.json with the database, and complete transcripts.

Comparing changes nothing. Importing a transcript adds its messages to the database, and then
adds to the transcript the messages that only the database has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import BadFile
from hermes_store.gateway import routing_file
from hermes_store.gateway.transcript_files import ENDING, Transcripts
from hermes_store.records.transfer import Imported, ImportReport, Kind, Outcome
from hermes_store.sessions import messages, session_rows
from hermes_store.transfer import import_file, parse_import
from hermes_store.transfer.parse_import import Record, Refused
from hermes_store.transfer.write_imported_session import comparable, is_same


class Difference(Enum):
    """How a transcript and the database differ."""

    NONE = "the same"
    TORN = "the same, but for a last line that was cut off"
    BEHIND = "the database has more"
    AHEAD = "the transcript has more"
    APART = "they say different things"
    ORPHAN = "the database does not have the session"
    FAULTY = "the transcript cannot be read"


@dataclass(frozen=True, slots=True)
class Compared:
    """A transcript compared with the database."""

    path: Path
    difference: Difference
    messages: int = 0
    """How many messages one of the two lacks."""
    torn: bool = False
    """Whether the last line is cut off."""


def compare_all(tx: Transaction, folder: Path) -> Iterator[Compared]:
    """Compare every transcript of a folder with the database."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        yield compare(tx, path)


def compare(tx: Transaction, path: Path) -> Compared:
    """Compare a transcript with the database."""
    session_id = path.name.removesuffix(ENDING)
    try:
        with import_file.opened(path) as lines:
            record = parse_import.transcript(import_file.numbered(lines), session_id)
    except (Refused, BadFile):
        if not _is_blank(path):
            return Compared(path, Difference.FAULTY)
        record = Record({"id": session_id}, [], notes=["cut off"] * bool(path.stat().st_size))
    torn = bool(record.notes)
    if session_rows.exists(tx, session_id):
        return replace(_beside(tx, record, path), torn=torn)
    kind = Difference.ORPHAN if record.messages else Difference.NONE
    return Compared(path, kind, len(record.messages), torn)


def _is_blank(path: Path) -> bool:
    """Tell whether a transcript has no complete line, as after a crash at its start."""
    found = Transcripts(path.parent).read(path.name.removesuffix(ENDING))
    return found.meta is None and not found.messages and not found.faulty_lines


def _beside(tx: Transaction, record: Record, path: Path) -> Compared:
    stored, same = 0, True
    with closing(messages.iterate_rows(tx, record.id)) as rows:
        for row in comparable(rows, Kind.TRANSCRIPT):
            if same and stored < len(record.messages):
                same = is_same(row, record.messages[stored])
            stored += 1
    more = stored - len(record.messages)
    if not same:
        return Compared(path, Difference.APART)
    if more:
        return Compared(path, Difference.BEHIND if more > 0 else Difference.AHEAD, abs(more))
    return Compared(path, Difference.TORN if record.notes else Difference.NONE)


def lost_routes(tx: Transaction, folder: Path) -> tuple[int, bool]:
    """Return how many keys point to missing sessions, and whether sessions.json is intact."""
    path = folder / routing_file.FILE_NAME
    if not path.is_file():
        return 0, True
    try:
        content, whole = routing_file.parse(routing_file.bytes_of(path))
    except BadFile:
        return 0, False
    lost = 0
    for key, fields in content.items():
        if key.startswith("_"):
            continue
        route = routing_file.Route.read(key, fields)
        whole = whole and route is not None
        lost += route is not None and not session_rows.exists(tx, route.session_id)
    return lost, whole


def bring_in(
    db: Database, path: Path, progress: import_file.Progress | None = None
) -> ImportReport:
    """Import a file; a transcript of this home also gets the messages that it lacks."""
    folder = db.folder / "sessions"
    if path.suffix != ENDING or path.resolve().parent != folder.resolve() or not path.is_file():
        return import_file.apply(db, path, progress=progress)
    session_id = path.name.removesuffix(ENDING)
    with db.read() as tx:
        known = session_rows.exists(tx, session_id)
    if known and _is_blank(path):
        report = ImportReport(path.name, (Imported(Outcome.PRESENT, 1, session_id),))
    else:
        report = import_file.apply(db, path, progress=progress)
    return replace(report, sessions=tuple(_mended(db, path, each) for each in report.sessions))


def _mended(db: Database, path: Path, done: Imported) -> Imported:
    session_id = path.name.removesuffix(ENDING)
    if done.outcome is Outcome.SKIPPED or done.session_id != session_id:
        return done
    with db.read() as tx:
        found = compare(tx, path)
    if not found.torn and found.difference is not Difference.BEHIND:
        return done
    added = Transcripts(path.parent).catch_up(db, session_id)
    said = [done.note] if done.note else []
    if added:
        said.append(f"Added {added} messages from the database to the transcript.")
    return replace(done, note=" ".join(said) or None)
