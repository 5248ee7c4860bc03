"""Locks between all processes of a machine, taken with the `filelock` package.

The system releases them when a process ends, even in a crash. Both kinds lock a whole file
(`flock`), so they also work against earlier versions of this program.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor

from hermes_store.errors import BadFile, StoreError

PATIENCE = 30.0
"""Seconds to wait for another program."""

_STEP = 0.002
"""Seconds between attempts; a lock is usually held about as long."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the file system into a sentence about a file."""
    try:
        yield
    except OSError as error:
        raise BadFile(
            f"{path} cannot be read or written ({error.strerror or error}). Check its "
            "permissions and the free space of its disk, then try again."
        ) from error


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a lock file for the block; StoreError if another program does not release it."""
    # No fallback: a lock that is merely an existing file would survive a crash.
    lock = FileLock(path, timeout=patience, mode=0o600, poll_interval=_STEP, fallback_to_soft=False)
    with told(path):
        try:
            lock.acquire()
        except Timeout:
            raise _held(path, patience) from None
    try:
        yield
    finally:
        lock.release()


def wait_for(descriptor: int, path: Path, patience: float = PATIENCE) -> None:
    """Lock an open file; closing the file releases the lock.

    Not with `FileLock`, which opens the file itself, truncates it in some versions and removes
    it on some systems. `lock_descriptor` leaves it alone, but has no timeout.
    """
    deadline = time.monotonic() + patience
    while not lock_descriptor(descriptor, blocking=False):
        if time.monotonic() >= deadline:
            raise _held(path, patience)
        time.sleep(random.uniform(_STEP / 4, _STEP))


def _held(path: Path, patience: float) -> StoreError:
    return StoreError(
        f"Another program has held {path} for {patience:.0f} seconds. "
        "Stop the hanging gateway, then try again."
    )
