"""Stopping a search: when it is cancelled, or when its time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hermes_store.engines.base import Interrupted, Transaction


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
    def watching(self, tx: Transaction) -> Iterator[None]:
        """Interrupt the statements of a transaction inside the block when it is time.

        The interruption is swallowed: what was found so far is the partial result.
        """
        with tx.interruptible(self):
            try:
                yield
            except Interrupted:
                self.stopped = True
