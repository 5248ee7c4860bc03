"""Text charts: bars and sparklines."""

from __future__ import annotations

from collections.abc import Iterable

BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


def bar(share: float, width: int = BAR) -> str:
    """Return a bar for a share between 0 and 1, to an eighth of a column."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def sparkline(values: Iterable[int]) -> str:
    """Return one block character per value."""
    numbers = list(values)
    top = max(numbers, default=0)
    return "".join(_LEVELS[round(n / top * 7)] if n else "·" for n in numbers)
