"""Detects changes, cheaply enough to be asked several times a second.

`PRAGMA data_version` costs microseconds and changes with every commit of another connection.
A file that appears, disappears or is replaced is a change, too.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_store.engines.sqlite.files_seen import beside, identity
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.engines.sqlite.sqlite_file import SqliteFile
from hermes_store.errors import DatabaseError


class SqliteWatch:
    """Watches one database and its sidecar, from one thread."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path, read_only=True)
        self._sidecar = path_for(path)
        self._seen: tuple[object, ...] | None = None

    def changed(self) -> bool:
        """Return whether anything was committed since the last call; False on the first call."""
        now = (identity(self._file.path), self._version(), self._sidecar_stamp())
        before, self._seen = self._seen, now
        return before is not None and before != now

    def close(self) -> None:
        """Close the connection; asking again opens it."""
        self._file.forget_connections()

    def _version(self) -> tuple[int, int] | None:
        """Return a number that changes with each commit; only one connection can compare it."""
        try:
            con = self._file.take_reader()
        except (apsw.Error, DatabaseError):
            # Briefly locked, or not a database (any more): try again next time.
            return None
        try:
            return self._file.generation, int(con.execute("PRAGMA data_version").get)
        except apsw.Error:
            return None
        finally:
            self._file.give_back(con)

    def _sidecar_stamp(self) -> tuple[tuple[int, int] | None, ...]:
        # Commits stay in the log for a while before they reach the file itself.
        return _stamp(self._sidecar), _stamp(beside(self._sidecar, "-wal"))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
