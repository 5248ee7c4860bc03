"""A fair queue for this store's writers in all processes: a lock file beside the database.

SQLite lets waiting writers race for the lock, and under load one of them starves. The queue is
only about fairness, never about correctness: where it is not available (no fcntl, a folder that
refuses the file, a stopped process at the head of the queue), writers race as usual in SQLite.
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
"""Seconds after which a writer stops queueing and races for the lock."""


class WriterQueue:
    """The lock file of one database, opened on first use."""

    def __init__(self, database: Path) -> None:
        self._path = beside(database, ".writers")
        self._descriptor: int | None = None
        self._usable = fcntl is not None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the head of the queue for the block, or continue without it after a while."""
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
                # Waiting in the kernel was up to a fifth faster with eight writers, but it has
                # no timeout: a stopped process would block all others forever.
                time.sleep(random.uniform(0.0002, 0.002))
            else:
                return True

    def close(self) -> None:
        """Close the lock file; the file itself remains for other processes."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
