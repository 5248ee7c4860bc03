"""Explicit WAL checkpoints: when to run one, and a warning when a reader blocks them.

SQLite's own auto-checkpoint is off on our writers; a commit reports the length of the log and
this module decides. Small, frequent checkpoints keep single writes short.
"""

from __future__ import annotations

import logging
from pathlib import Path

import apsw

from hermes_store.engines.sqlite.closing import empty_log

EVERY_WRITES = 50
EVERY_PAGES = 2_000
RESTART_PAGES = 8_000
"""From here on (32 MB) a checkpoint also waits for readers, so that the log can restart."""
WARN_PAGES = 32_000
"""From here on (128 MB) a warning is logged."""
SIZE_LIMIT = 8_500_000
"""The size to which SQLite truncates the log file when it restarts."""

log = logging.getLogger("hermes_store.checkpoint")


class Checkpointer:
    """Counts the commits of one connection and moves the log into the database when due."""

    def __init__(self, con: apsw.Connection, path: Path) -> None:
        self._con = con
        self._path = path
        self._writes = 0
        self._pages = 0
        self._stuck_at = 0
        self._warned = False
        con.set_wal_hook(self._committed)

    def _committed(self, _con: apsw.Connection, _name: str, pages: int) -> int:
        self._writes += 1
        self._pages = pages
        return apsw.SQLITE_OK

    @property
    def due(self) -> bool:
        """Whether enough has been written since the last checkpoint."""
        # After a checkpoint that a reader cut short, retrying on each commit is no use.
        return self._writes >= EVERY_WRITES or self._pages - self._stuck_at >= EVERY_PAGES

    def run_if_due(self) -> None:
        """Run a checkpoint if one is due; never raises, a busy log waits for the next time."""
        if self.due:
            self.run()

    def empty(self) -> bool:
        """Move the whole log into the database and truncate it; False if somebody needs it."""
        if not empty_log(self._con, self._path):
            return False
        self._writes = self._pages = self._stuck_at = 0
        return True

    def run(self) -> None:
        """Move the part of the log that no reader needs into the database file."""
        self._writes = 0
        mode = (
            apsw.SQLITE_CHECKPOINT_RESTART
            if self._pages >= RESTART_PAGES
            else apsw.SQLITE_CHECKPOINT_PASSIVE
        )
        try:
            pages, done = self._con.wal_checkpoint(mode=mode)
        except (apsw.BusyError, apsw.LockedError):
            pages, done = self._pages, 0
        except apsw.Error as error:
            # The change is committed: a full disk, say, delays only the move into the database.
            what = type(error).__name__
            log.warning("The log of %s could not be moved (%s).", self._path, what)
            pages, done = self._pages, 0
        if done >= pages:
            self._pages, self._stuck_at, self._warned = 0, 0, False
            return
        self._stuck_at = pages
        if pages >= WARN_PAGES and not self._warned:
            self._warned = True
            log.warning(
                "The write-ahead log of %s has grown to %d MB because another program keeps an "
                "old snapshot of the database open. It shrinks when that program ends its query.",
                self._path,
                pages * 4096 // 1_000_000,
            )
