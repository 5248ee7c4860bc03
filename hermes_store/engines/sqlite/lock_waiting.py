"""Waiting for the write lock of a file that other programs use, too."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import apsw

MAX_TRIES = 15
TRY_SECONDS = 1.2
"""How long one try waits; fifteen tries wait longer than the 15 times 1.15 s of Hermes Agent."""
QUICK_STEPS = 300
"""How often a writer polls the lock before it slows down: about 150 ms."""


def busy_handler(budget: float) -> Callable[[int], bool]:
    """Return a busy handler that waits in short random steps, up to `budget` seconds.

    Programs that do not queue take the lock again at once, so that it is free only for a fraction
    of a millisecond. With longer steps, each of three writers of this store got a quarter as much
    done as each of two of Hermes Agent; with shorter steps, Hermes Agent would have to wait.
    """
    started = 0.0

    def handler(count: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if count == 0:
            started = now
        if now - started > budget:
            return False
        time.sleep(random.uniform(0.0002, 0.0008 if count < QUICK_STEPS else 0.010))
        return True

    return handler


def retried(con: apsw.Connection, sql: str) -> None:
    """Run a statement, several times if the file is locked."""
    for left in reversed(range(MAX_TRIES)):
        try:
            con.execute(sql)
            return
        except (apsw.BusyError, apsw.LockedError):
            if not left:
                raise
            time.sleep(random.uniform(0.001, 0.020))
