"""Locks that hold among all processes of a machine, taken with the `filelock` package.

The system lets go of one when a process ends, however it ends. Both kinds are locks on a whole
file (`flock`), so they also hold against earlier versions of this program.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor

from hermes_store.errors import StoreError

PATIENCE = 30.0
"""Seconds after which waiting for another program is given up."""

_STEP = 0.002
"""Seconds between two attempts; whoever holds a lock needs about as long."""


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a lock file for the block; StoreError if another program does not let go of it."""
    # Where the system has no such locks, a file that merely exists would outlive a crash.
    lock = FileLock(path, timeout=patience, mode=0o600, poll_interval=_STEP, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise _held(path, patience) from None
    try:
        yield
    finally:
        lock.release()


def wait_for(descriptor: int, path: Path, patience: float = PATIENCE) -> None:
    """Take the lock of an open file; it is given back when the file is closed.

    Not a `FileLock`: that opens the file by itself, some versions empty it, and on some systems
    it is removed afterwards. `lock_descriptor` leaves it alone, but knows no timeout.
    """
    deadline = time.monotonic() + patience
    while not lock_descriptor(descriptor, blocking=False):
        if time.monotonic() >= deadline:
            raise _held(path, patience)
        time.sleep(random.uniform(_STEP / 4, _STEP))


def _held(path: Path, patience: float) -> StoreError:
    return StoreError(
        f"Another program has held {path} for {patience:.0f} seconds. "
        "End the gateway that hangs, then try again."
    )
