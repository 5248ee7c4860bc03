"""A fair queue among the writers of this store, in all processes: a lock file beside the database.

SQLite lets waiting writers race for the lock, and under load one of them starves. The queue is
about fairness only, never about correctness: where it cannot be had (no fcntl, a folder that
refuses the file, a stopped process at the head of the queue) writers race as SQLite does.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hermes_store.engines.sqlite.sqlite_file import beside

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PATIENCE = 2.0
"""Seconds after which a writer stops queueing and takes its chances."""


class WriterQueue:
    """The lock file of one database, opened when first needed."""

    def __init__(self, database: Path) -> None:
        self._path = beside(database, ".writers")
        self._descriptor: int | None = None
        self._usable = fcntl is not None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the head of the queue for the block, or go on without it after a while."""
        held = self._usable and self._wait()
        try:
            yield
        finally:
            if held and fcntl is not None and self._descriptor is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _wait(self) -> bool:
        assert fcntl is not None
        try:
            if self._descriptor is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._descriptor = os.open(self._path, flags, 0o600)
            return self._acquire(self._descriptor)
        except OSError:
            # A folder or file system that refuses the lock file refuses it every time.
            self._usable = False
            return False

    @staticmethod
    def _acquire(descriptor: int) -> bool:
        assert fcntl is not None
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                # Waiting in the kernel instead was up to a fifth faster with eight writers, but
                # it knows no time-out: a stopped process would hold up all others for good.
                time.sleep(random.uniform(0.0002, 0.002))
            else:
                return True

    def close(self) -> None:
        """Give the lock file back; the file itself stays for the next process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
