"""File layers under SQLite for tests: one that fails or kills at a chosen call, one that records.

Both become the default of the process, so that the sidecar goes through them, too.
Everything else, shared memory and locks included, is SQLite's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from typing_extensions import Buffer

BASE = "unix"

Hurt = Callable[[str, str], None]
"""Called with the name of a call and the path of its file, before the call is made."""


def _name(name: str | apsw.URIFilename | None) -> str:
    if isinstance(name, apsw.URIFilename):
        return name.filename()
    return name or ""


class _HurtFile(apsw.VFSFile):
    def __init__(self, hurt: Hurt, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._hurt = hurt
        self._path = _name(name)
        self._read_only = bool(flags[0] & apsw.SQLITE_OPEN_READONLY)
        super().__init__(BASE, name, flags)

    def xLock(self, level: int) -> None:
        if self._read_only and level == apsw.SQLITE_LOCK_EXCLUSIVE:
            # SQLite tries this when it closes a log and ignores that it fails; passed on
            # from here, the failure would become an exception.
            raise apsw.BusyError("opened read-only")
        super().xLock(level)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._hurt("read", self._path)
        return super().xRead(amount, offset)

    def xWrite(self, data: Buffer, offset: int) -> None:
        self._hurt("write", self._path)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._hurt("truncate", self._path)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._hurt("sync", self._path)
        super().xSync(flags)


KEPT: list[apsw.VFS] = []
"""Layers that stay for the life of a process; SQLite does not keep them alive."""


class HurtLayer(apsw.VFS):
    """Asks a function before each call; the function may raise, stop or kill the process."""

    def __init__(self, hurt: Hurt) -> None:
        self._hurt = hurt
        super().__init__("hurt", BASE, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        self._hurt("open", _name(name))
        return _HurtFile(self._hurt, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._hurt("delete", filename)
        super().xDelete(filename, syncdir)


# -- recording ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One call that changes a file, or waits for it to be on disk."""

    name: str
    path: str
    offset: int = 0
    data: bytes = b""


@dataclass(slots=True)
class Record:
    """Every change to the files of a folder, in order."""

    folder: Path
    before: dict[str, bytes] = field(default_factory=dict)
    """The files as they were when the recording began; they count as safely on disk."""
    calls: list[Call] = field(default_factory=list)

    def add(self, name: str, path: str, offset: int = 0, data: bytes = b"") -> None:
        """Add a call."""
        if Path(path).parent == self.folder:
            self.calls.append(Call(name, path, offset, data))


class _RecordedFile(apsw.VFSFile):
    def __init__(
        self, record: Record, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._record = record
        self._path = _name(name)
        super().__init__(BASE, name, flags)

    def xWrite(self, data: Buffer, offset: int) -> None:
        super().xWrite(data, offset)
        self._record.add("write", self._path, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._record.add("truncate", self._path, newsize)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._record.add("sync", self._path)


class _RecordingLayer(apsw.VFS):
    def __init__(self, record: Record) -> None:
        self._record = record
        super().__init__("recording", BASE, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _RecordedFile(self._record, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._record.add("delete", filename)


@contextmanager
def recorded(folder: Path) -> Iterator[Record]:
    """Record what SQLite writes to the files of a folder during the block.

    A program may also wait for the disk by itself, with os.fsync or os.fdatasync.
    """
    names = (path for path in folder.iterdir() if not path.name.endswith("-shm"))
    record = Record(folder, {str(path): path.read_bytes() for path in names})
    waits = {"fsync": os.fsync, "fdatasync": os.fdatasync}

    def waiting(name: str) -> Callable[[int], None]:
        def wait(descriptor: int) -> None:
            waits[name](descriptor)
            record.add("sync", os.readlink(f"/proc/self/fd/{descriptor}"))

        return wait

    layer = _RecordingLayer(record)
    for name in waits:
        setattr(os, name, waiting(name))
    try:
        yield record
    finally:
        for name, original in waits.items():
            setattr(os, name, original)
        apsw.set_default_vfs(BASE)
        layer.unregister()
