"""The one undo stack: every change can be taken back, the latest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hermes_store.errors import DatabaseError
from hermes_store.store import Store

MOST = 200
"""How many steps are kept."""

Undo = Callable[[Store], "Outcome"]
"""Takes a change back."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change did, in a few words, and what takes it back."""

    text: str
    undo: Undo | None = None
    gone: tuple[str, ...] = ()
    """Conversations, or single sessions, that no list shows any more."""
    archived: tuple[str, ...] = ()
    """Conversations that only a list of archived ones shows."""


NOTHING = Outcome("Nothing to undo.")


class UndoStack:
    """The changes that can be taken back; used by one thread, which makes them in order."""

    def __init__(self) -> None:
        self._steps: list[Undo] = []

    def __len__(self) -> int:
        return len(self._steps)

    def push(self, undo: Undo) -> None:
        """Add a step, or give back one that could not be taken."""
        self._steps = [*self._steps[-MOST + 1 :], undo]

    def pop(self) -> Undo | None:
        """Take the latest step; None if there is none."""
        return self._steps.pop() if self._steps else None

    def made(self, outcome: Outcome) -> Outcome:
        """Note what takes a change back."""
        if outcome.undo is not None:
            self.push(outcome.undo)
        return outcome

    def take_back(self, store: Store) -> Outcome:
        """Take back the latest change; `NOTHING` if there is none."""
        undo = self.pop()
        if undo is None:
            return NOTHING
        try:
            return undo(store)
        except DatabaseError:
            # What a busy or full disk prevented may work later; anything else never will.
            self.push(undo)
            raise
