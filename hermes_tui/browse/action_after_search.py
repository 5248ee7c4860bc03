"""Actions that wait until the list shows the results of what was typed.

Enter right after the last letter applies to the new results, not to those still on screen.
"""

from __future__ import annotations

from collections.abc import Callable

Act = Callable[[], None]


class Pending:
    """Knows which search text the list answers, and which action waits for another."""

    def __init__(self) -> None:
        self.answered: str | None = None
        """The search text that the list answers; empty for the whole list."""
        self._waiting: tuple[str, Act] | None = None

    def wait_for(self, text: str, act: Act) -> bool:
        """Return whether the list does not answer a text yet; if so, act once it does."""
        if text == self.answered:
            return False
        self._waiting = text, act
        return True

    @property
    def is_waiting(self) -> bool:
        """Whether an action waits."""
        return self._waiting is not None

    def typed(self, text: str) -> None:
        """Drop an action that waits for another text: typing on cancels it."""
        if self._waiting is not None and self._waiting[0] != text:
            self._waiting = None

    def answer(self, text: str, *, wanted: bool) -> None:
        """Note what the list answers now, and run the action that waited for it if `wanted`."""
        self.answered = text
        waiting, self._waiting = self._waiting, None
        if waiting is not None and waiting[0] == text and wanted:
            waiting[1]()
