"""The outline of a whole conversation as one long page."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes_store.records.message import State


@dataclass(frozen=True, slots=True)
class Segment:
    """A session in a conversation's transcript, and the position of its first message."""

    session_id: str
    title: str | None
    started_at: float
    first: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages in a row that have the same state, other than being sent to the model."""

    first: int
    """The position of the first of them."""
    count: int
    state: State


@dataclass(frozen=True, slots=True)
class Outline:
    """The sessions of a conversation, and the ids of its messages in order."""

    root_id: str
    tip_id: str
    segments: tuple[Segment, ...]
    message_ids: array[int]
    stretches: tuple[Stretch, ...] = ()
    left_out: Mapping[State, int] = field(default_factory=dict)
    """How many messages are not shown unless they are asked for, by their state."""
    copies: Mapping[int, int] = field(default_factory=dict)
    """Messages that are shown as another one, which has the same text."""
