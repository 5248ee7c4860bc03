"""A whole conversation as one long page."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A session of a conversation's transcript, and the place of its first message."""

    session_id: str
    title: str | None
    started_at: float
    first: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole conversation as a long page: the ids of its messages in order."""

    root_id: str
    tip_id: str
    segments: tuple[Segment, ...]
    message_ids: array[int]
