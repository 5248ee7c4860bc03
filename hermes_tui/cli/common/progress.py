"""A progress line on standard error for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

WIDTH = 30
PATIENCE = 1.0
EVERY = 0.1


class ProgressLine:
    """Redraws one terminal line; prints nothing elsewhere, and nothing for quick work."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Draw the progress of a step, at most every tenth of a second."""
        now = time.monotonic()
        if not self._terminal or now - self._started < PATIENCE or now - self._drawn < EVERY:
            return
        self._drawn = now
        filled = WIDTH * done // total if total else 0
        bar = "█" * min(filled, WIDTH) + "░" * (WIDTH - filled) if total else ""
        share = f" {100 * done // total:>3} %" if total else ""
        print(f"\r\x1b[K{what} {bar}{share}", end="", file=sys.stderr, flush=True)
