"""A clock that can jump; import this before hermes_store, which keeps `time.time` in defaults."""

from __future__ import annotations

import random
import time

_real = time.time
_offset = 0.0
_draw: random.Random | None = None

YEAR = 365 * 86_400.0


def _now() -> float:
    global _offset
    if _draw is not None and _draw.random() < 0.1:
        _offset = _draw.choice([0.0, -YEAR, YEAR, -3600.0, 86_400.0, 0.001, -1e9])
    return _real() + _offset


def install() -> None:
    """Put the clock in place; it is right until `let_jump`."""
    time.time = _now


def let_jump(seed: int) -> None:
    """Make the clock of this process jump at random from now on."""
    global _draw
    _draw = random.Random(seed)
