"""Import exports and transcripts: check the whole file first, then write session by session.

Each session is one transaction, so it is imported completely or not at all. An existing session
is never changed except for messages added at its end, so importing again is harmless.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from hermes_store.engines.base import Database
from hermes_store.errors import BadFile, ConstraintViolated, DatabaseError, StoreError
from hermes_store.records.transfer import Imported, ImportPlan, ImportReport, Kind, Outcome, Planned
from hermes_store.sessions import messages
from hermes_store.transfer import parse_import, write_imported_session
from hermes_store.transfer.parse_import import Line, Record, Refused, shown

Progress = Callable[[int, int], None]

_MAX_KEYS = 50
MAX_LINE = 256 * 1024 * 1024
"""The longest line that is read, in bytes; a session is one line, so this is its limit too.

Reading a line takes up to ten times its length in memory. A lower limit would keep people from
importing what they exported.
"""
# After this many faulty lines at the beginning, it is not a file to import.
_PATIENCE = 20


# -- the plan ----------------------------------------------------------------------------------


def plan(lines: Iterable[str], name: str) -> ImportPlan:
    """Check a whole file and return what can be imported from it.

    BadFile if it is neither an export nor a transcript. `name` is the file name, which for a
    transcript is the session id.
    """
    left = numbered(lines)
    kind, read = _recognise(left, name)
    everything = chain(read, left)
    if kind is Kind.TRANSCRIPT:
        return _plan_transcript(everything, name)
    return _plan_export(everything, name)


def numbered(lines: Iterable[str]) -> Iterator[Line]:
    """Yield the lines of a file with their numbers and whether each is the last."""
    number, waiting = 0, None
    for text in lines:
        if waiting is not None:
            yield Line(number, waiting, False)
        number, waiting = number + 1, text
    if waiting is not None:
        yield Line(number, waiting, True)


def _recognise(lines: Iterator[Line], name: str) -> tuple[Kind, list[Line]]:
    """Recognize a file by its first valid line; also return the lines read so far."""
    read: list[Line] = []
    faults = 0
    for line in lines:
        read.append(line)
        if line.is_blank:
            continue
        try:
            found = parse_import.parse(line)
        except Refused:
            faults += 1
            if faults >= _PATIENCE:
                break
            continue
        if "role" in found and "messages" not in found:
            return Kind.TRANSCRIPT, read
        if "id" in found or "messages" in found:
            return Kind.EXPORT, read
        break
    raise BadFile(
        f"{name} is neither an export nor a transcript. Give a file written "
        "by 'hermes sessions export', or a gateway transcript named <session id>.jsonl."
    )


def _plan_transcript(lines: Iterable[Line], name: str) -> ImportPlan:
    session_id = Path(name).name.removesuffix(".jsonl")
    try:
        record = parse_import.transcript(lines, session_id)
    except Refused as refusal:
        skipped = Imported(Outcome.SKIPPED, 1, session_id or None, note=str(refusal))
        return ImportPlan(name, Kind.TRANSCRIPT, (), (skipped,), ())
    return ImportPlan(name, Kind.TRANSCRIPT, (_planned(record, 1),), (), _keys(record.unknown))


def _plan_export(lines: Iterable[Line], name: str) -> ImportPlan:
    planned: list[Planned] = []
    skipped: list[Imported] = []
    unknown: set[str] = set()
    for line in lines:
        if line.is_blank:
            continue
        found: dict[str, Any] = {}
        try:
            found = parse_import.parse(line)
            record = parse_import.exported(found, line.number)
        except Refused as refusal:
            session_id = found.get("id")
            known = session_id if isinstance(session_id, str) else None
            skipped.append(Imported(Outcome.SKIPPED, line.number, known, note=str(refusal)))
            continue
        planned.append(_planned(record, line.number))
        if len(unknown) < _MAX_KEYS:
            unknown |= record.unknown
    ordered = tuple(_parents_first(planned))
    return ImportPlan(name, Kind.EXPORT, ordered, tuple(skipped), _keys(unknown))


def _planned(record: Record, line: int) -> Planned:
    parent = record.columns.get("parent_session_id")
    note = " ".join(record.notes) or None
    return Planned(line, record.id, parent, len(record.messages), note)


def _keys(unknown: set[str]) -> tuple[str, ...]:
    return tuple(sorted({shown(key) for key in unknown})[:_MAX_KEYS])


def _parents_first(planned: list[Planned]) -> Iterator[Planned]:
    """Yield sessions in the order of the file, but parents before children."""
    by_id = {each.session_id: each for each in reversed(planned)}
    done: set[int] = set()
    for each in planned:
        path: dict[int, Planned] = {}
        current: Planned | None = each
        # A cycle of parents ends the walk where it meets itself.
        while current is not None and current.line not in done and current.line not in path:
            path[current.line] = current
            current = by_id.get(current.parent_id) if current.parent_id else None
        done.update(path)
        yield from reversed(path.values())


# -- the import --------------------------------------------------------------------------------


def apply(db: Database, path: Path, progress: Progress | None = None) -> ImportReport:
    """Import a file and report on each of its sessions.

    `progress` is called after each session with (done, total). Errors of the database itself
    are raised; what was imported before stays, and importing again continues from there.
    """
    with opened(path) as lines:
        checked = plan(lines, path.name)
        done = list(checked.skipped)
        if not checked.sessions:
            return ImportReport(path.name, tuple(done), checked.unknown_keys)
        # In an empty store the messages keep their ids. Otherwise they get new ones: a program
        # that polls for ids above the newest it has seen would miss older ones.
        with db.read() as tx:
            keep = messages.count(tx) == 0
        for number, planned in enumerate(checked.sessions, 1):
            done.append(_write_one(db, lines, planned, checked.kind, keep))
            if progress is not None:
                progress(number, len(checked.sessions))
    done.sort(key=lambda each: each.line)
    return ImportReport(path.name, tuple(done), checked.unknown_keys)


def _write_one(db: Database, lines: Lines, planned: Planned, kind: Kind, keep: bool) -> Imported:
    try:
        record = _read_again(lines, planned, kind)
        with db.write() as tx:
            return write_imported_session.write(
                tx, record, planned.line, kind=kind, keep_message_ids=keep
            )
    except Refused as refusal:
        reason = str(refusal)
    except StoreError as error:
        # A locked or full database affects all sessions, a refused row only this one.
        own = isinstance(error, ConstraintViolated) or type(error) is DatabaseError
        if isinstance(error, DatabaseError) and not own:
            raise
        reason = str(error)
    return Imported(Outcome.SKIPPED, planned.line, planned.session_id, note=reason)


def _read_again(lines: Lines, planned: Planned, kind: Kind) -> Record:
    if kind is Kind.TRANSCRIPT:
        record = parse_import.transcript(numbered(lines), planned.session_id)
    else:
        line = Line(planned.line, lines.at(planned.line), False)
        record = parse_import.exported(parse_import.parse(line), planned.line)
    if record.id != planned.session_id or len(record.messages) < planned.messages:
        raise Refused("The file changed while it was being read. Import it again.")
    return record


class Lines:
    """The lines of a file, in order or one at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._starts = array("Q")

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        self._starts = array("Q")
        start = 0
        while line := self._file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise BadFile(
                    f"Line {len(self._starts) + 1} of {self._file.name} is longer than "
                    f"{MAX_LINE // 1024**2} MB, which is too long to import. Nothing was imported."
                )
            self._starts.append(start)
            start += len(line)
            yield line.decode("utf-8", "surrogateescape")

    def at(self, number: int) -> str:
        """Return a line that iteration has already passed."""
        self._file.seek(self._starts[number - 1])
        return self._file.readline(MAX_LINE).decode("utf-8", "surrogateescape")


@contextmanager
def opened(path: Path) -> Iterator[Lines]:
    """Open a file for the block and give its lines; BadFile if it cannot be read."""
    if path.is_dir():
        raise BadFile(f"{path} is a folder. Give the name of a file in it.")
    if not path.is_file():
        raise BadFile(f"There is no file {path}. Check the name.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}). Check its permissions.") from None
    with file:
        yield Lines(file)
