"""The outline of a whole conversation as one long page."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes_store.records.message import State


class Speaker:
    """The letters of `Outline.speakers`."""

    YOU = "u"
    SUMMARY = "s"
    HERMES = "a"
    TOOL = "t"
    OTHER = "o"


@dataclass(frozen=True, slots=True)
class Segment:
    """A session in a conversation's transcript, and the position of its first message."""

    session_id: str
    title: str | None
    started_at: float
    first: int
    model: str | None = None


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
    speakers: str = ""
    """Who says each message, one letter for each: see `Speaker`."""
    times: array[float] = field(default_factory=lambda: array("d"))
    """When each message was said."""
