"""Where each of many items of different heights begins."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate


class Heights:
    """Heights of items, guessed until they are known, and the lines on which they begin."""

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
        """Begin anew with so many items."""
        self._heights = [self._guess] * count
        self.settle()

    def resize(self, count: int) -> None:
        """Have so many items from now on; those that stay keep their heights."""
        added = count - len(self._heights)
        del self._heights[count:]
        self._heights += [self._guess] * added

    def settle(self) -> None:
        """Work out where the items begin, after heights have changed."""
        self._tops = [0, *accumulate(self._heights)]

    def top(self, index: int) -> int:
        """Return the line on which an item begins; one past the last, where all end."""
        return self._tops[index]

    @property
    def total(self) -> int:
        """Lines of all items together."""
        return self._tops[-1]

    def at(self, line: int) -> int:
        """Return the item on a line, the first or last one beyond the ends."""
        return max(0, min(bisect_right(self._tops, line) - 1, len(self._heights) - 1))
