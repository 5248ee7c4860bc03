"""The positions of many items of different heights."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate


class Heights:
    """Heights of items, guessed until known, and the lines they start on."""

    def __init__(self, guess: int) -> None:
        self._guess = guess
        self._heights: list[int] = []
        self._tops: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        self._heights[index] = height

    def reset(self, count: int) -> None:
        """Start over with a number of items."""
        self._heights = [self._guess] * count
        self.settle()

    def resize(self, count: int) -> None:
        """Change the number of items; those that stay keep their heights."""
        added = count - len(self._heights)
        del self._heights[count:]
        self._heights += [self._guess] * added

    def settle(self) -> None:
        """Recompute the positions after heights have changed."""
        self._tops = [0, *accumulate(self._heights)]

    def top(self, index: int) -> int:
        """Return the line an item starts on; for the index past the last, the end."""
        return self._tops[index]

    @property
    def total(self) -> int:
        """The total number of lines."""
        return self._tops[-1]

    def at(self, line: int) -> int:
        """Return the item on a line; beyond the ends, the first or last one."""
        return max(0, min(bisect_right(self._tops, line) - 1, len(self._heights) - 1))
