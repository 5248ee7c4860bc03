"""The recap of a conversation, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a recap shows."""

    exchanges: int = 10
    user_characters: int = 300
    assistant_characters: int = 200
    assistant_lines: int = 3
    skip_tool_only: bool = False


@dataclass(frozen=True, slots=True)
class RecapEntry:
    """One message of a recap."""

    role: str
    """'user' or 'assistant'."""
    text: str
    whole: bool = False
    """Whether this is the last answer, shown in full."""


@dataclass(frozen=True, slots=True)
class Recap:
    """The last exchanges of a conversation."""

    entries: tuple[RecapEntry, ...]
    earlier: int
    """Number of earlier entries that are not shown."""
    user_messages: int
    messages: int
