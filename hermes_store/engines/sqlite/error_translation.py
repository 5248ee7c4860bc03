"""Turns SQLite's errors into the store's own exceptions, with messages for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from hermes_store import errors
from hermes_store.engines.base import ConstraintFailed
from hermes_store.records.safe_text import clean, one_line, shorten

MAX_WORDS = 200
"""The most of SQLite's own message that is shown; it may quote a whole declaration."""


def translate(error: apsw.Error, path: Path) -> errors.DatabaseError:
    """Return the store's exception for an SQLite error on a file."""
    said = shorten(one_line(clean(str(error))), MAX_WORDS)
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return errors.DatabaseLocked(
                f"{path} stayed locked by another program. Nothing was changed. Try again when "
                "that program has finished, or find it with 'hermes sessions doctor'."
            )
        case apsw.NotADBError():
            return errors.NotADatabase(
                f"{path} is not a session database. Check the path, or move the file elsewhere."
            )
        case apsw.CorruptError():
            return errors.DatabaseCorrupt(
                f"{path} is damaged ({said}). Run 'hermes sessions doctor --repair', which keeps "
                "a copy of the damaged file."
            )
        case apsw.FullError():
            return errors.DiskFull(
                f"The disk that holds {path} is full. The change was rolled back; free some space "
                "and try again."
            )
        case apsw.ReadOnlyError():
            return errors.DatabaseReadOnly(
                f"{path} cannot be changed: the file or its folder is write-protected."
            )
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            return _cannot_open(path)
        case apsw.IOError():
            return errors.DatabaseUnreadable(
                f"Reading or writing {path} failed ({said}). Check the disk and its free space."
            )
        case apsw.SQLError() if "no such tokenizer" in str(error):
            return errors.DatabaseReadOnly(
                f"{path} has a full-text index that only its own Hermes Agent can update "
                f"({said}), so messages cannot be added or removed here. Reading works."
            )
        case apsw.ConstraintError():
            return errors.ConstraintViolated(
                f"{path} refused the change ({said}). Nothing was written."
            )
        case _:
            return errors.DatabaseError(f"{path}: {said}.")


def _cannot_open(path: Path) -> errors.DatabaseError:
    if path.is_dir():
        return errors.NotADatabase(f"{path} is a folder. Give the path of the database file in it.")
    if not path.exists():
        return missing(path)
    return errors.DatabaseUnreadable(
        f"{path} cannot be opened. Check that you can read the file and write to its folder."
    )


def missing(path: Path) -> errors.DatabaseMissing:
    """Return the exception for a database that does not exist."""
    return errors.DatabaseMissing(
        f"There is no session database at {path} yet. Your first conversation creates it; "
        "to look elsewhere, use --home or set HERMES_HOME."
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise the store's own exceptions for whatever SQLite raises inside the block."""
    try:
        yield
    except apsw.InterruptError:
        raise
    except ConstraintFailed as error:
        cause = error.__cause__
        if not isinstance(cause, apsw.Error):
            raise
        raise translate(cause, path) from cause
    except OverflowError as error:
        raise errors.InvalidInput("A number is too large to store.") from error
    except apsw.Error as error:
        raise translate(error, path) from error
