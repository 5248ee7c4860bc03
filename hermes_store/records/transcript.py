"""The outline of a whole conversation as one long page."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A session in a conversation's transcript, and the position of its first message."""

    session_id: str
    title: str | None
    started_at: float
    first: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The sessions of a conversation, and the ids of its messages in order."""

    root_id: str
    tip_id: str
    segments: tuple[Segment, ...]
    message_ids: array[int]
