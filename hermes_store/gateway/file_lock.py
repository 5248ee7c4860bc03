"""A lock that holds among all processes of a machine: a file beside the one it guards.

The system lets go of it when a process ends, however it ends.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_store.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PATIENCE = 30.0
"""Seconds after which waiting for another program is given up."""


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a lock file for the block; StoreError if another program does not let go of it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        wait_for(descriptor, path, patience)
        yield
    finally:
        os.close(descriptor)  # this also gives the lock back


def wait_for(descriptor: int, path: Path, patience: float = PATIENCE) -> None:
    """Take the lock of an open file; it is given back when the file is closed."""
    deadline = time.monotonic() + patience
    # In steps, because a wait in the kernel would never end behind a stopped process.
    while not _taken(descriptor):
        if time.monotonic() >= deadline:
            raise StoreError(
                f"Another program has held {path} for {patience:.0f} seconds. "
                "End the gateway that hangs, then try again."
            )
        time.sleep(random.uniform(0.0005, 0.003))


if sys.platform == "win32":

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
