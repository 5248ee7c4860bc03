"""Text charts: bars, sparklines and the levels of a heat map."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import ceil
from typing import TypeVar

Key = TypeVar("Key")

BAR = 24
HEAT = "·░▒▓█"
"""Nothing, and four levels that can be told apart without colors."""
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


def heat_levels(numbers: Mapping[Key, int]) -> dict[Key, int]:
    """Return a level for each number: 0 for none, else its quarter among all, 1 to 4."""
    ranked = sorted(number for number in numbers.values() if number > 0)
    highest = len(HEAT) - 1
    return {
        key: ceil(bisect_right(ranked, number) / len(ranked) * highest)
        for key, number in numbers.items()
        if number > 0
    }
