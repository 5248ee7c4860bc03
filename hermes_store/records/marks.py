"""Records of what a person notes on conversations, and searches they saved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """What a person noted on a conversation."""

    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that was given a name."""

    name: str
    text: str
    saved_at: float
