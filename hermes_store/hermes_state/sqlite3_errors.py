"""The store's errors as errors of the standard library's `sqlite3`, too.

Programs written for Hermes Agent catch `sqlite3.OperationalError` and its relatives. What a
`SessionDB` raises is therefore both: an error of the store, with its sentence, and an error of
`sqlite3`. Only the exception classes of that module are used; it never opens a database here,
because closing its connection would drop the locks of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from hermes_store import errors

Class = TypeVar("Class", bound=type)

_NAMES: tuple[tuple[type[errors.StoreError], str], ...] = (
    (errors.ConstraintViolated, "IntegrityError"),
    (errors.SessionNotFound, "IntegrityError"),  # a parent or session that no row has
    (errors.DatabaseCorrupt, "DatabaseError"),
    (errors.NotADatabase, "DatabaseError"),
    (errors.DatabaseError, "OperationalError"),
    (errors.SessionInUse, "OperationalError"),
)


def raises_sqlite3_errors(session_db: Class) -> Class:
    """Let every public method of a class, and its constructor, raise errors that are both."""
    for name, value in list(vars(session_db).items()):
        if isinstance(value, FunctionType) and _is_public(name):
            setattr(session_db, name, _wrapped(value))
    return session_db


def _is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except errors.StoreError as error:
            # The error itself becomes both, so that its traceback, cause and fields stay.
            error.__class__ = _both(type(error))
            raise

    return call


_made: dict[type[errors.StoreError], type[errors.StoreError]] = {}


def _both(kind: type[errors.StoreError]) -> type[errors.StoreError]:
    """Return a class that is a kind of error of the store and the fitting one of `sqlite3`."""
    if kind not in _made:
        _made[kind] = _make(kind)
    return _made[kind]


def _make(kind: type[errors.StoreError]) -> type[errors.StoreError]:
    # Loaded here because it takes milliseconds; a program that catches its errors has it already.
    import sqlite3

    if issubclass(kind, sqlite3.Error):
        return kind
    if kind is errors.StoreError:
        name = "ProgrammingError"  # the store is closed
    else:
        name = next((name for base, name in _NAMES if issubclass(kind, base)), "")
    if not name:
        return kind

    def reduced(error: errors.StoreError) -> tuple[Any, ...]:
        return _restored, (kind, error.args, error.__dict__)

    described = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__reduce__": reduced}
    return type(kind.__name__, (kind, getattr(sqlite3, name)), described)


def _restored(
    kind: type[errors.StoreError], arguments: tuple[Any, ...], fields: dict[str, Any]
) -> errors.StoreError:
    """Return an error that another process raised, from what pickle kept of it."""
    both = _both(kind)
    error = both.__new__(both)
    error.args = arguments
    error.__dict__.update(fields)
    return error
