"""The files of a session outside the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape
from os.path import isfile
from pathlib import Path


def session_files(folder: Path, session_id: str) -> Iterator[Path]:
    """Yield the existing transcript, snapshots and request dumps of a session."""
    if "/" in session_id or "\\" in session_id:
        return  # not one of our ids; it must never reach outside the folder
    for name in (f"{session_id}.jsonl", f"{session_id}.json", f"session_{session_id}.json"):
        # Unlike Path.is_file, this returns False for a name that no file system can hold.
        if isfile(folder / name):
            yield folder / name
    yield from sorted(folder.glob(f"request_dump_{escape(session_id)}_*.json"))


def remove_session_files(folder: Path | None, session_ids: Iterable[str]) -> None:
    """Remove all files of deleted sessions; missing files are ignored."""
    if folder is None or not folder.is_dir():
        return
    for session_id in session_ids:
        for path in session_files(folder, session_id):
            with suppress(FileNotFoundError):
                path.unlink()
