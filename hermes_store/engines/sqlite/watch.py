"""Has anything changed? A cheap question to ask several times a second.

`PRAGMA data_version` costs microseconds and changes with every commit of another connection.
A file that appears, vanishes or is replaced is a change, too.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_store.engines.sqlite.file import guard_close
from hermes_store.engines.sqlite.sidecar import path_for


class Watch:
    """Watches one database file, and its companion, from one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._companion = path_for(path)
        self._con: apsw.Connection | None = None
        self._seen: tuple[object, ...] | None = None

    def changed(self) -> bool:
        """Tell whether something was committed since the last call; the first says no."""
        now = (self._identity(), self._version(), self._companion_stamp())
        before, self._seen = self._seen, now
        return before is not None and before != now

    def close(self) -> None:
        """Close the connection."""
        if self._con is not None:
            self._con.close()
            self._con = None

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            self.close()
            return None
        identity = (found.st_dev, found.st_ino)
        if self._seen is not None and self._seen[0] != identity:
            self.close()
        return identity

    def _version(self) -> int | None:
        try:
            if self._con is None:
                con = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
                guard_close(con)
                self._con = con
            return int(self._con.execute("PRAGMA data_version").get)
        except apsw.Error:
            # Locked for a moment, or not a database (any more): asked again next time.
            self.close()
            return None

    def _companion_stamp(self) -> tuple[tuple[int, int] | None, ...]:
        # What was committed stays in the log for a while before it reaches the file itself.
        log = self._companion.with_name(self._companion.name + "-wal")
        return _stamp(self._companion), _stamp(log)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
