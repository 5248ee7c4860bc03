"""Messages that go between widgets and screens. Small records, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from hermes_tui.opening import Choice


@dataclass
class QueryChanged(Message):
    """The search text is another one now."""

    text: str


@dataclass
class RowsWanted(Message):
    """Rows are on screen that have not been read yet."""

    ids: tuple[str, ...]


@dataclass
class OpenChat(Message):
    """A session is to be gone on with in the built-in chat."""

    session_id: str
    then: Callable[[Choice | None], None]
    """What to do with what the chat was left with."""


@dataclass
class OpenBrowser(Message):
    """A session is to be chosen in the browser."""

    query: str
    then: Callable[[Choice | None], None]
    """What to do with the choice."""
