"""Stopping a search: when it is cancelled, or when its time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

CHECK_EVERY = 1_000
"""SQLite instructions between two checks; about 0.1 ms."""


class Stop:
    """Tells whether a search should stop now."""

    def __init__(
        self, cancelled: Callable[[], bool] | None = None, seconds: float | None = None
    ) -> None:
        self._cancelled = cancelled
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.stopped = False
        """Whether the search was stopped early."""

    def __call__(self) -> bool:
        if not self.stopped:
            late = self._deadline is not None and time.monotonic() >= self._deadline
            self.stopped = late or (self._cancelled is not None and self._cancelled())
        return self.stopped

    @contextmanager
    def watching(self, con: apsw.Connection) -> Iterator[None]:
        """Interrupt the statements of a connection inside the block when it is time.

        The interruption is swallowed: what was found so far is the partial result.
        """
        con.set_progress_handler(self, CHECK_EVERY, id=self)
        try:
            yield
        except apsw.InterruptError:
            self.stopped = True
        finally:
            con.set_progress_handler(None, id=self)
