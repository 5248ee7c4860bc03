"""Which files stand behind a path: the database and its log, as they were when it was opened.

A program that replaces the database, or removes its log, does not close our connections: they go
on with files that have no name any more, and whatever is written there is lost.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hermes_store import errors
from hermes_store.config.paths import expanded

_ROLLBACK_MAGIC = bytes.fromhex("d9d505f920a163d7")


def real_path(path: Path | str) -> Path:
    """Return the absolute path with every symbolic link resolved."""
    return Path(os.path.realpath(expanded(Path(path))))


def beside(path: Path, ending: str) -> Path:
    """Return the path of the file beside another one, named like it plus `ending`."""
    return path.with_name(path.name + ending)


def identity(path: Path | str) -> tuple[int, int] | None:
    """Return what distinguishes a file from another one of the same name; None if missing.

    The number of a file is not used again while somebody has it open.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The database and its log at one moment."""

    database: tuple[int, int] | None
    log: tuple[int, int] | None

    @staticmethod
    def at(path: Path) -> FilesSeen:
        """Look at the files that are there now."""
        return FilesSeen(identity(path), identity(f"{path}-wal"))


def replaced(given: Path) -> errors.DatabaseReplaced:
    """Return the error for a database that is not the one that was opened."""
    return errors.DatabaseReplaced(
        f"{given} was replaced, or its log was removed, by another program. Nothing was changed. "
        "Try again; if this happens often, find that program with 'hermes sessions doctor'."
    )


def unfinished(path: Path) -> Path | None:
    """Return the log or journal without which the database is not complete, if there is one."""
    log = beside(path, "-wal")
    if _size(log):
        return log
    journal = beside(path, "-journal")
    if not _size(journal):
        return None
    try:
        with journal.open("rb") as file:
            # A journal whose first bytes are zeroed is finished and only kept for the next time.
            return journal if file.read(8) == _ROLLBACK_MAGIC else None
    except OSError:
        return journal


def refuse_unfinished(path: Path, given: Path) -> None:
    """Raise if the database is not complete without a log or journal."""
    needed = unfinished(path)
    if needed is None:
        return
    copied = "Copy both files to a folder you can write to, and open the copy."
    if needed == beside(path, "-wal"):
        raise errors.DatabaseUnreadable(
            f"{given} has unmerged changes in {needed.name} and its folder is write-protected. "
            f"{copied}"
        )
    way = "Start Hermes Agent once, or run 'hermes sessions doctor --repair'."
    raise errors.DatabaseUnreadable(
        f"{given} was left in the middle of a change, and {needed.name} is needed to undo it. "
        f"{way if os.access(path.parent, os.W_OK) else copied}"
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError:
        return 1  # it is there, but not for us to look at
