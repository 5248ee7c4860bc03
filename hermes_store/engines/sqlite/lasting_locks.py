"""Locks that show other copies of SQLite that this process has a database open.

SQLite's own locks on a file belong to the process. Python's `sqlite3` module is a second copy of
SQLite: in the same process it does not see the locks of ours, and when it closes the file, the
system drops them all. It then takes itself for the only user, truncates the index of the log at
its first read and removes the log when it closes, with everything that is written to it later.

The locks taken here belong to an open file instead (Linux: "open file description locks"). Every
other copy of SQLite sees them, in this process or another one, and closing a file elsewhere does
not drop them. They say no more than SQLite's own: "a reader is here". Where the system does not
offer them, `FilesSeen` still notices a log that was removed.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from hermes_store.engines.sqlite.files_seen import beside, identity

try:
    import fcntl
except ImportError:  # Windows
    OFFERED = False
else:
    # The layout of `struct flock` below is that of 64-bit Linux.
    OFFERED = sys.platform == "linux" and sys.maxsize > 2**32 and hasattr(fcntl, "F_OFD_SETLK")

# Declared by SQLite's file format: the bytes that its readers lock.
_FIRST_READER_BYTE = 0x40000002
_INDEX_IN_USE_BYTE = 128

_guard = threading.Lock()
_held: dict[tuple[int, int], _Held] = {}
_given_up: deque[tuple[int, int]] = deque()


class _Held:
    def __init__(self) -> None:
        self.users = 0
        self.descriptors: list[int] = []


class LastingLocks:
    """The locks of one database, for as long as it has connections. Safe between threads."""

    def __init__(self) -> None:
        self._found: tuple[int, int] | None = None

    def join(self, path: Path) -> None:
        """Announce a connection that is about to be opened.

        The end of another connection must not close a descriptor, and with it drop SQLite's own
        locks, while this one is being opened.
        """
        with _guarded():
            if self._found is None and OFFERED:
                self._found = identity(path)
                if self._found is not None:
                    _held.setdefault(self._found, _Held()).users += 1

    def hold(self, con: apsw.Connection, path: Path) -> None:
        """Lock the database that a connection has opened, if it has a write-ahead log."""
        # Without a log, a lasting lock would keep every writer out.
        if con.execute("PRAGMA journal_mode").get != "wal":
            return
        index = beside(path, "-shm")
        with _guarded():
            held = None if self._found is None else _held[self._found]
            if held is not None and not held.descriptors and index.exists():
                _lock(held, path, _FIRST_READER_BYTE)
                _lock(held, index, _INDEX_IN_USE_BYTE)

    def release(self) -> None:
        """Give the locks up; they end with the last connection of this process."""
        with _guarded():
            self.abandon()

    def abandon(self) -> None:
        """Give the locks up soon. Python may call this at any moment, so it takes no lock."""
        found, self._found = self._found, None
        if found is not None:
            _given_up.append(found)


@contextmanager
def _guarded() -> Iterator[None]:
    with _guard:
        yield
        while _given_up:
            found = _given_up.popleft()
            held = _held[found]
            held.users -= 1
            if not held.users:
                del _held[found]
                for descriptor in held.descriptors:
                    os.close(descriptor)


def _lock(held: _Held, path: Path, byte: int) -> None:
    """Lock a byte of a file for reading; a system that refuses leaves only SQLite's own lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    # Not closed before the end, even if it is of no use: closing drops SQLite's own locks.
    held.descriptors.append(descriptor)
    request = struct.pack("hhqqi0q", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    except OSError:
        return
