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
from pathlib import Path

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


class _Held:
    def __init__(self) -> None:
        self.users = 0
        self.descriptors: list[int] = []


def hold(path: Path) -> tuple[int, int] | None:
    """Lock a database with a write-ahead log; return what `release` needs, None if not locked.

    Call it while a connection is open, and `release` after that connection is closed.
    """
    found = identity(path)
    if not OFFERED or found is None or not beside(path, "-shm").exists():
        return None
    with _guard:
        held = _held.setdefault(found, _Held())
        held.users += 1
        if not held.descriptors:
            for each, byte in (
                (path, _FIRST_READER_BYTE),
                (beside(path, "-shm"), _INDEX_IN_USE_BYTE),
            ):
                _lock(held, each, byte)
    return found


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


def release(found: tuple[int, int] | None) -> None:
    """Give up a lock; it ends with the last connection of this process that needs it."""
    if found is None:
        return
    with _guard:
        held = _held[found]
        held.users -= 1
        if held.users:
            return
        del _held[found]
        for descriptor in held.descriptors:
            os.close(descriptor)
