"""Transcripts: `<session id>.jsonl`, the messages of a session, one JSON object per line.

The database is written first, then the transcript; if a crash separates them, the next message
brings the transcript up to date. Lines are only ever added, except that a line cut off by a
crash is removed before the next one is written.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from hermes_store.config.paths import create_folder
from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import InvalidInput
from hermes_store.gateway import file_lock
from hermes_store.records.message_content import decode_json
from hermes_store.records.safe_text import storable
from hermes_store.records.transfer import Kind
from hermes_store.sessions import messages, session_rows
from hermes_store.transfer.export_jsonl import dump
from hermes_store.transfer.write_imported_session import comparable, is_same

META = "session_meta"
ENDING = ".jsonl"
MAX_LINE = 32 * 1024 * 1024
"""The longest line that is read, in bytes; the rest of a longer one is passed over."""
_BLOCK = 1024 * 1024

_PLAIN = ("tool_call_id", "token_count", "finish_reason", "reasoning", "reasoning_content")
_JSON = ("reasoning_details", "codex_reasoning_items", "codex_message_items")

log = logging.getLogger("hermes_store.gateway")


@dataclass(frozen=True, slots=True)
class Transcript:
    """The content of a transcript."""

    meta: Mapping[str, Any] | None
    """The note about the session at its start."""
    messages: tuple[dict[str, Any], ...]
    torn: str | None = None
    """A last line that is cut off."""
    faulty_lines: tuple[int, ...] = ()
    """Numbers of other lines that are not JSON objects."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far this process has written a transcript."""

    size: int
    last_id: int


class Transcripts:
    """The transcripts in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._places: dict[str, _Place] = {}

    def path(self, session_id: str) -> Path:
        """Return the file of a session; InvalidInput if its id cannot be a file name."""
        impossible = set(session_id) & set("/\\\0") or storable(session_id) != session_id
        if not session_id or session_id in (".", "..") or impossible:
            raise InvalidInput(f"'{session_id}' cannot be the name of a transcript file.")
        return self.folder / (session_id + ENDING)

    def read(self, session_id: str) -> Transcript:
        """Return the content of a transcript, empty if there is none."""
        path = self.path(session_id)
        with file_lock.told(path):
            try:
                with path.open("rb") as file:
                    return _understood(_lines(file))
            except FileNotFoundError:
                return Transcript(None, ())

    def catch_up(self, db: Database, session_id: str, newest_id: int | None = None) -> int:
        """Add the messages that a transcript lacks; return how many were added.

        A transcript that differs from the database keeps its content and gets only the
        message `newest_id`.
        """
        path = self.path(session_id)
        with file_lock.told(path), _open_locked(path) as descriptor:
            known = self._places.get(session_id)
            size = os.fstat(descriptor).st_size
            with db.read() as tx:
                if known is not None and known.size == size:
                    after = known.last_id
                else:
                    after = _place(tx, descriptor, path, session_id, newest_id)
                lines, last_id = _missing(tx, session_id, after)
                begins = bool(lines) and os.fstat(descriptor).st_size == 0
                first = _meta(tx, session_id) if begins else ""
            _write(descriptor, first + "".join(lines))
            self._places[session_id] = _Place(os.fstat(descriptor).st_size, last_id)
        return len(lines)


@contextmanager
def _open_locked(path: Path) -> Iterator[int]:
    create_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        file_lock.wait_for(descriptor, path)
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, text: str) -> None:
    left = text.encode("utf-8")
    while left:
        left = left[os.write(descriptor, left) :]


# -- reading -----------------------------------------------------------------------------------


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long, only the beginning."""
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE and not line.endswith(b"\n") and _skip_line(file):
            line += b"\n"
        yield line


def _skip_line(file: BinaryIO) -> bool:
    """Pass over the rest of a line; tell whether it has an end."""
    while block := file.read(_BLOCK):
        place = block.find(b"\n")
        if place >= 0:
            file.seek(place + 1 - len(block), os.SEEK_CUR)
            return True
    return False


def _understood(lines: Iterable[bytes]) -> Transcript:
    meta, said, torn, faulty = None, [], None, []
    for number, line in enumerate(lines, 1):
        found = _object(line)
        if found is None and not line.endswith(b"\n"):
            torn = line.decode("utf-8", "replace")
        elif found is None:
            faulty += [number] if line.strip() else []
        elif found.get("role") == META:
            meta = meta or found
        else:
            said.append(found)
    return Transcript(meta, tuple(said), torn, tuple(faulty))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _place(
    tx: Transaction, descriptor: int, path: Path, session_id: str, newest_id: int | None
) -> int:
    """Return the id of the last message in a transcript; repair its end."""
    with path.open("rb") as file:
        found = _understood(_lines(file))
    _end_line(descriptor, path, found.torn)
    last_id, said = 0, 0
    same = not found.faulty_lines
    with closing(messages.iterate_rows(tx, session_id)) as rows:
        for row in comparable(rows, Kind.TRANSCRIPT):
            if not same or said == len(found.messages):
                break
            line = found.messages[said]
            same = is_same(row, {"role": line.get("role"), "content": line.get("content")})
            last_id, said = int(row["id"]), said + 1
    if same and said == len(found.messages):
        return last_id
    log.warning(
        "%s differs from the database. New messages are added to both; "
        "'hermes sessions doctor' reports the difference.",
        path,
    )
    newest = messages_end(tx, session_id)
    return newest if newest_id is None else newest_id - 1


def messages_end(tx: Transaction, session_id: str) -> int:
    """Return the id of the newest message of a session, 0 if it has none."""
    newest = tx.value("SELECT MAX(id) FROM messages WHERE session_id = ?", (session_id,))
    return int(newest or 0)


def _end_line(descriptor: int, path: Path, torn: str | None) -> None:
    """Make sure that the next write starts a new line."""
    size = os.fstat(descriptor).st_size
    if torn is not None:
        with path.open("rb") as file:
            whole = _end_of_lines(file, size)
        log.warning("The last line of %s was cut off; removed its %d bytes.", path, size - whole)
        os.ftruncate(descriptor, whole)
    elif size:
        with path.open("rb") as file:
            file.seek(size - 1)
            ended = file.read(1) == b"\n"
        if not ended:
            _write(descriptor, "\n")


def _end_of_lines(file: BinaryIO, size: int) -> int:
    """Return where the last whole line of a file ends."""
    while size:
        start = max(0, size - _BLOCK)
        file.seek(start)
        place = file.read(size - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        size = start
    return 0


# -- writing -----------------------------------------------------------------------------------


def _missing(tx: Transaction, session_id: str, after_id: int) -> tuple[list[str], int]:
    lines, last_id = [], after_id
    with closing(messages.iterate_rows(tx, session_id, after_id=after_id)) as rows:
        for row in comparable(rows, Kind.TRANSCRIPT):
            lines.append(dump(_spoken(row)) + "\n")
            last_id = int(row["id"])
    return lines, last_id


def _spoken(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in transcript form: as sent to a model, with its time."""
    said: dict[str, Any] = {"role": row["role"], "content": row["content"]}
    if row["tool_calls"]:
        said["tool_calls"] = row["tool_calls"]
    if row["tool_name"]:
        said["name" if row["role"] == "tool" else "tool_name"] = row["tool_name"]
    said |= {name: row[name] for name in _PLAIN if row.get(name) is not None}
    said |= {name: decode_json(row[name]) for name in _JSON if row.get(name)}
    return said | {"timestamp": _iso(row["timestamp"])}


def _meta(tx: Transaction, session_id: str) -> str:
    session = session_rows.get(tx, session_id)
    note: dict[str, Any] = {
        "role": META,
        "tools": [],
        "model": session.model,
        "platform": session.source,
        "timestamp": _iso(session.started_at),
    }
    return dump(note) + "\n"


def _iso(moment: float) -> str:
    # With the UTC offset: without it, the hour repeated in autumn is ambiguous.
    return datetime.fromtimestamp(moment).astimezone().isoformat()
