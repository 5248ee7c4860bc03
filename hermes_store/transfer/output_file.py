"""The output file of an export: written completely or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from hermes_store.engines.base import Database
from hermes_store.engines.sqlite import sidecar_database, word_list
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.errors import StoreError

_LOGS = ("", "-wal", "-shm", "-journal")


def refuse_unusable(path: Path, database: Database) -> None:
    """Raise a StoreError for a target that cannot or must not be written."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder. Give the name of a file in it.")
    for own in _files_of(database):
        if _is_same(path, own):
            raise StoreError(f"{path} is part of the session database. Choose another file.")
    if not path.parent.is_dir():
        raise StoreError(f"There is no folder {path.parent}. Create it or choose another place.")
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreError(f"{path} is write-protected. Choose another name or remove the file.")


def _files_of(database: Database) -> Iterator[Path]:
    if isinstance(database, SqliteDatabase):
        file = database.path
        for each in (file, sidecar_database.path_for(file), word_list.path_for(file)):
            for log in _LOGS:
                yield file.with_name(each.name + log)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Give a file to write to, which replaces `path` when the block succeeds.

    If the block fails, an existing file stays and nothing else is left behind.
    """
    try:
        # Devices and pipes cannot and must not be replaced.
        opened = _directly(path) if path.exists() and not path.is_file() else _replacing(path)
        with opened as sink:
            yield sink
    except OSError as error:
        raise _trouble(path, error) from error


@contextmanager
def _directly(path: Path) -> Iterator[TextIO]:
    with path.open("w", encoding="utf-8", newline="\n") as sink:
        yield sink


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    # mkstemp makes the file readable by its owner only, as conversations should be.
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, on systems that can sync folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _trouble(path: Path, error: OSError) -> StoreError:
    if error.errno == errno.ENOSPC:
        return StoreError(
            f"There is no space left for {path}. Free some space or choose another disk."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"You may not write to {path.parent}. Choose another folder or change its permissions."
        )
    why = error.strerror or str(error)
    return StoreError(f"{path} could not be written ({why}). Choose another place.")
