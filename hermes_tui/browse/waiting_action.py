"""Doing something with what was typed, as soon as the list shows it.

Enter right behind the last letter means what that letter finds, not what still stands there.
"""

from __future__ import annotations

from collections.abc import Callable

Act = Callable[[], None]


class Pending:
    """Knows which search text the list answers, and what waits for the answer to another one."""

    def __init__(self) -> None:
        self.answered: str | None = None
        """The search text that the list answers; an empty one means everything."""
        self._waiting: tuple[str, Act] | None = None

    def wait_for(self, text: str, act: Act) -> bool:
        """Return whether the list does not answer a text yet; if so, act when it does."""
        if text == self.answered:
            return False
        self._waiting = text, act
        return True

    def typed(self, text: str) -> None:
        """Forget what waits for another text: who typed on does not want it any more."""
        if self._waiting is not None and self._waiting[0] != text:
            self._waiting = None

    def answer(self, text: str, *, wanted: bool) -> None:
        """Take note of what the list answers now, and do what waited for it, if still wanted."""
        self.answered = text
        waiting, self._waiting = self._waiting, None
        if waiting is not None and waiting[0] == text and wanted:
            waiting[1]()
