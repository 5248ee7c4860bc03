"""Creating a database file with the right rights, and closing it without harm to others."""

from __future__ import annotations

import os
from array import array
from pathlib import Path

import apsw

from hermes_store import errors


def create_file(path: Path) -> None:
    """Create a missing file with owner-only rights; SQLite gives its log the same ones."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
    except FileExistsError:
        if not path.parent.is_dir():
            raise errors.DatabaseUnreadable(
                f"{path.parent} is not a folder, so {path.name} cannot be kept there."
            ) from None
    except OSError as error:
        raise errors.DatabaseUnreadable(
            f"{path} cannot be created: {error.strerror}. Check the rights of its "
            "folder, or set HERMES_HOME to one you may write to."
        ) from error


def guard_close(con: apsw.Connection) -> None:
    """Make sure that closing this connection never unlinks a log that somebody still uses.

    SQLite removes the log when it believes to be the last user, and it is wrong when another
    process has lost its locks on the file. Either guard prevents it; both cost nothing.
    """
    con.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    keep = array("i", [1])  # SQLite wants the address of an int; ctypes is slow to load
    con.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, keep.buffer_info()[0])
