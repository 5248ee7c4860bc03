"""Makes commits survive a power failure without blocking other writers.

With `synchronous = FULL`, SQLite waits for the disk while holding the write lock. Here a commit
is written as with NORMAL, the lock goes to the next writer, and only then does this writer wait
for the log to reach the disk. No commit is reported before it is safe, but one wait for the disk
serves all earlier commits.

For this the log is opened as a separate file. It carries none of SQLite's locks, so opening and
closing it is harmless, unlike the database and its shared memory.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from hermes_store.errors import DatabaseUnreadable


class LogSync:
    """Waits for the write-ahead log of one database to reach the disk."""

    def __init__(self, log: Path) -> None:
        self._path = log
        self._descriptor: int | None = None

    def wait(self) -> None:
        """Return when everything in the log is on disk."""
        try:
            if self._descriptor is None:
                # Kept open: nothing can replace the log while the writer has it open.
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise DatabaseUnreadable(
                f"The change was made, but {self._path} could not be flushed to disk "
                f"({error.strerror}), so a power failure may still undo it. Check the disk."
            ) from error

    def close(self) -> None:
        """Close the log."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def configure(con: apsw.Connection, log: Path, *, full: bool) -> LogSync | None:
    """Set the durability of commits; return what to wait for after each, if anything.

    Without a log, or without a way to wait for a single file, SQLite's own FULL is used.
    """
    logged = con.execute("PRAGMA journal_mode").get == "wal" and hasattr(os, "fdatasync")
    own = full and logged
    con.execute(f"PRAGMA synchronous = {'FULL' if full and not own else 'NORMAL'}")
    return LogSync(log) if own else None
