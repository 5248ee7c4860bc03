"""Where an export may go: a name to suggest, and files that it must not replace."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hermes_store.config import paths
from hermes_store.errors import InvalidInput, StoreError

_OTHERS = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100


def suggested_name(session_id: str, ending: str) -> str:
    """Return a name for a file in the current folder; an id may contain anything."""
    stem = _OTHERS.sub("-", session_id)[:_LONGEST].strip("-.")
    return f"{stem or 'session'}{ending}"


def typed_path(text: str) -> Path:
    """Return the path that somebody typed; InvalidInput if there can be none."""
    if "\0" in text:
        raise InvalidInput("A path cannot contain a null character.")
    return paths.expanded(Path(text))


def refuse_own_file(path: Path, database: Path) -> None:
    """Raise a StoreError for a file that Hermes itself needs."""
    if any(_is_same(path, own) for own in paths.own_files(database)) or _is_transcript(
        path, database
    ):
        raise StoreError(f"{path} is a file that Hermes needs. Choose another file.")


def _is_transcript(path: Path, database: Path) -> bool:
    real = Path(os.path.realpath(path))
    folder = paths.sessions_dir(database.parent)
    return real.suffix == ".jsonl" and real.is_file() and _is_same(real.parent, folder)


def _is_same(path: Path, other: Path) -> bool:
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return path.samefile(other)
    except OSError:
        return False
