"""Export sessions as a stream: one message at a time, one short snapshot per session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from hermes_store.browse import recent_sessions
from hermes_store.engines.base import Database
from hermes_store.errors import InvalidInput, SessionNotFound
from hermes_store.sessions import messages, session_rows
from hermes_store.sessions.messages import Which
from hermes_store.transfer import export_html, export_jsonl, export_markdown, output_file
from hermes_store.transfer.readable_export import Head
from hermes_store.transfer.redact import redact_row

Progress = Callable[[int, int], None]

_HEADS_AT_ONCE = 500


class Format(StrEnum):
    """The formats of an export."""

    JSONL = "jsonl"
    """One complete session per line as a JSON object: for programs, and for importing."""
    MARKDOWN = "markdown"
    """A readable transcript."""
    HTML = "html"
    """A transcript as one page for a browser."""

    @classmethod
    def _missing_(cls, value: object) -> Format:
        if value == "md":
            return cls.MARKDOWN
        raise InvalidInput(f"Unknown format '{value}'. Choose {', '.join(cls)}.")


class Sink(Protocol):
    """Takes the text of an export."""

    def write(self, text: str, /) -> object:
        """Write a piece."""


class _Writer(Protocol):
    """The functions of a format module."""

    def opening(self, heads: Iterator[Head], total: int) -> Iterator[str]: ...

    def session(
        self, row: Mapping[str, Any], messages: Iterator[Mapping[str, Any]], number: int
    ) -> Iterator[str]: ...

    def closing(self) -> Iterator[str]: ...


_WRITERS: dict[Format, _Writer] = {
    Format.JSONL: export_jsonl,
    Format.MARKDOWN: export_markdown,
    Format.HTML: export_html,
}


def export(
    db: Database,
    session_ids: Iterable[str] | None,
    sink: Sink,
    fmt: Format,
    *,
    redact: bool = False,
    everything: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write sessions to an open text file and return how many were written.

    Without ids, writes all, the most recently active first. An unknown id raises SessionNotFound
    before anything is written; a session deleted during the export is left out. `progress` is
    called after each session with (done, total). Summarised messages are included, marked as such;
    with `everything`, also those that were taken back or are hidden.
    """
    ids = _chosen(db, session_ids)
    writer = _WRITERS[fmt]
    guard = redact_row if redact else dict
    which = Which.ALL if everything else Which.READ
    for piece in writer.opening(_heads(db, ids, guard), len(ids)):
        sink.write(piece)
    written = 0
    for number, session_id in enumerate(ids, 1):
        written += _write_one(db, session_id, writer, sink, number, guard, which)
        if progress is not None:
            progress(number, len(ids))
    for piece in writer.closing():
        sink.write(piece)
    return written


def export_to_file(
    db: Database,
    session_ids: Iterable[str] | None,
    path: Path,
    fmt: Format,
    *,
    redact: bool = False,
    everything: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write sessions to a file, complete or not at all; return how many were written."""
    place = Path(os.path.realpath(path))
    output_file.refuse_unusable(place, db)
    with output_file.written(place) as sink:
        return export(
            db, session_ids, sink, fmt, redact=redact, everything=everything, progress=progress
        )


def _chosen(db: Database, session_ids: Iterable[str] | None) -> list[str]:
    with db.read() as tx:
        if session_ids is None:
            return recent_sessions.recent_ids(tx)
        ids = list(dict.fromkeys(session_ids))
        for session_id in ids:
            if not session_rows.exists(tx, session_id):
                raise SessionNotFound(session_id)
    return ids


_Guard = Callable[[Mapping[str, Any]], dict[str, Any]]


def _write_one(
    db: Database,
    session_id: str,
    writer: _Writer,
    sink: Sink,
    number: int,
    guard: _Guard,
    which: Which,
) -> bool:
    with db.read() as tx:
        row = session_rows.row(tx, session_id)
        if row is None:
            return False
        # Closed explicitly: if the sink raises, the query and its snapshot would stay open.
        with closing(messages.iterate_rows(tx, session_id, which)) as found:
            for piece in writer.session(guard(row), map(guard, found), number):
                sink.write(piece)
    return True


def _heads(db: Database, ids: Sequence[str], guard: _Guard) -> Iterator[Head]:
    for start in range(0, len(ids), _HEADS_AT_ONCE):
        with db.read() as tx:
            found = [session_rows.find(tx, each) for each in ids[start : start + _HEADS_AT_ONCE]]
        for session_id, session in zip(ids[start : start + _HEADS_AT_ONCE], found, strict=True):
            title = guard({"title": session.title})["title"] if session else None
            yield Head(session_id, title, session.started_at if session else None)
