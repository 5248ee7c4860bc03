"""Leaving a database: no log is removed that is in use, and none is left that nobody needs."""

from __future__ import annotations

import logging
from array import array
from pathlib import Path

import apsw

log = logging.getLogger("hermes_store.checkpoint")


def empty_log(con: apsw.Connection, path: Path) -> bool:
    """Move the whole log into the database and truncate it; False if somebody needs it."""
    try:
        con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (apsw.BusyError, apsw.LockedError):
        return False
    except apsw.Error as error:
        log.warning("The log of %s could not be emptied (%s).", path, type(error).__name__)
        return False
    return True


def guard_close(con: apsw.Connection) -> None:
    """Make sure that closing this connection never unlinks a log that is still in use.

    SQLite removes the log when it believes it is the last user, which is wrong if another
    process has lost its locks on the file. Either guard prevents this; both cost nothing.
    """
    con.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    keep = array("i", [1])  # SQLite needs the address of an int; ctypes is slow to load
    con.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, keep.buffer_info()[0])
