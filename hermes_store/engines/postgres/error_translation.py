"""Turns PostgreSQL's errors into the store's own exceptions, with messages for the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

from hermes_store import errors
from hermes_store.engines.base import ConstraintFailed, Interrupted, NoSuchRow, NotUnique
from hermes_store.records.safe_text import clean, one_line, shorten

MAX_WORDS = 200
"""The most of the server's own message that is shown."""

_NO_DATABASE = re.compile('FATAL: +database "[^"]*" does not exist')
_NO_LOGIN = re.compile(
    'password authentication failed|no password supplied|role "[^"]*" does not exist'
    "|pg_hba.conf|is not permitted to log in"
)

AGAIN = (pg.SerializationFailure, pg.DeadlockDetected)
"""The server gave the transaction up, so that another one could go on."""
_GOING_DOWN = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow)
_WAS_CONNECTED = re.compile(
    "terminating connection|server closed the connection|connection is lost"
)
_TOO_MANY = re.compile("too many (?:connections|clients)|remaining connection slots")
ROLLED_BACK = "What was under way was rolled back"
"""What can be said of a change that was not committed, also if others were before it."""


def is_lost(error: psycopg.Error) -> bool:
    """Tell whether an error means that the connection is gone, or is not there yet."""
    if isinstance(error, _GOING_DOWN):
        return True
    return isinstance(error, psycopg.OperationalError) and error.sqlstate is None


def _refused(error: psycopg.Error) -> type[psycopg.Error] | None:
    """Return why a server refused to connect, which it only says in words."""
    words = str(error)
    if _NO_DATABASE.search(words):
        return pg.InvalidCatalogName
    if _TOO_MANY.search(words):
        return pg.TooManyConnections
    return pg.InvalidPassword if _NO_LOGIN.search(words) else None


def said(error: BaseException) -> str:
    """Return the first line of the server's own words, safe to show."""
    words = str(error).partition("FATAL:")[2] or str(error)
    lines = [line for line in words.splitlines() if line.strip()]
    return shorten(one_line(clean(lines[0] if lines else type(error).__name__)), MAX_WORDS)


def broken_rule(error: psycopg.Error) -> ConstraintFailed | None:
    """Return what the rest of the store calls a broken rule of the schema."""
    if isinstance(error, pg.UniqueViolation):
        return NotUnique(said(error))
    if isinstance(error, pg.ForeignKeyViolation):
        return NoSuchRow(said(error))
    return None


def translate(error: psycopg.Error, name: str) -> errors.DatabaseError | errors.InvalidInput:
    """Return the store's exception for an error of a server."""
    words = said(error)
    refused = _refused(error) if error.sqlstate is None else None
    if refused is not None:
        error = refused(*error.args)
    match error:
        case PoolTimeout():
            return errors.DatabaseLocked(
                f"All connections of this program to {name} are in use. Try again in a moment."
            )
        case pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return errors.ServerUnreachable(
                f"{name} refused the login ({words}). Check the user, and the password in "
                "PGPASSWORD or ~/.pgpass."
            )
        case pg.InvalidCatalogName():
            return errors.NotADatabase(
                f"{name}: {words}. Create the database with 'createdb', or check the address."
            )
        case pg.InsufficientPrivilege():
            return errors.DatabaseReadOnly(
                f"{name}: {words}. Ask its owner for rights; 'hermes sessions postgres grant' "
                "prints the statements."
            )
        case pg.ReadOnlySqlTransaction():
            return errors.DatabaseReadOnly(
                f"{name} takes no changes: this role may only read, or the server is a standby. "
                "Nothing was changed."
            )
        case pg.QueryCanceled():
            return errors.DatabaseLocked(
                f"{name} stopped a statement that took too long. {ROLLED_BACK}. Ask for less, "
                "or allow more time with ?options=-c%20statement_timeout%3D300s in the "
                "address."
            )
        case pg.LockNotAvailable() | pg.DeadlockDetected() | pg.SerializationFailure():
            return errors.DatabaseLocked(
                f"Other writers kept {name} busy for too long. {ROLLED_BACK}; try again."
            )
        case pg.TooManyConnections():
            return errors.DatabaseLocked(f"{name} has no connection left ({words}). Try again.")
        case pg.DiskFull() | pg.OutOfMemory():
            return errors.DiskFull(
                f"{name} has no space left ({words}). The change was rolled back."
            )
        case pg.NumericValueOutOfRange():
            return errors.InvalidInput("A number is too large to store.")
        case pg.ProgramLimitExceeded():
            return errors.InvalidInput(f"A text is too long to be stored ({words}).")
        case pg.UndefinedTable() | pg.InvalidSchemaName() | pg.UndefinedColumn():
            return errors.NotADatabase(f"{name} does not hold what was expected: {words}.")
        case _ if is_lost(error) and _WAS_CONNECTED.search(str(error)):
            return errors.ServerUnreachable(
                f"The connection to {name} was lost ({words}). {ROLLED_BACK}; try again."
            )
        case _ if is_lost(error):
            return errors.ServerUnreachable(
                f"{name} cannot be reached ({words}). Check that the server runs and that the "
                "address is right."
            )
        case psycopg.IntegrityError():
            return errors.ConstraintViolated(
                f"{name} refused the change ({words}). Nothing was written."
            )
        case _:
            return errors.DatabaseError(f"{name}: {words}.")


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Raise the store's own exceptions for whatever the server raises inside the block."""
    try:
        yield
    except Interrupted:
        raise
    except ConstraintFailed as error:
        raise errors.ConstraintViolated(
            f"{name} refused the change ({error}). Nothing was written."
        ) from error
    except psycopg.Error as error:
        raise translate(error, name) from error
