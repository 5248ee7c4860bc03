"""The frozen records of looking at many conversations: how to list them, rows, long pages.

Like `models`, they hold values and know neither a database nor a screen. They are named tuples
because each data class takes half a millisecond to make, and the browser needs them to start.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from hermes_store.models import Edge


class Status(Enum):
    """How a conversation stands."""

    LIVE = "live"
    """It has not ended and somebody spoke a moment ago."""
    DONE = "done"
    INTERRUPTED = "interrupted"
    """It never ended, or was broken off."""
    ERROR = "error"
    EMPTY = "empty"


class Hidden(Enum):
    """What a list leaves out unless it is asked for; the value is its plural for people."""

    CRON = "cron"
    AGENT = "sub-agents"
    ARCHIVED = "archived"
    EMPTY = "empty"


class Sort(Enum):
    """The order of a list; the value is its name for people."""

    ACTIVITY = "activity"
    STARTED = "start"
    MESSAGES = "messages"
    TITLE = "title"


class Grouping(Enum):
    """What a list has headings for."""

    NONE = "none"
    DATE = "date"
    SOURCE = "source"
    MODEL = "model"


class View(NamedTuple):
    """Which conversations a list shows, and how."""

    source: str | None = None
    shown: frozenset[Hidden] = frozenset()
    """What is shown although it is hidden by default."""
    sort: Sort = Sort.ACTIVITY
    group: Grouping = Grouping.NONE
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above the rows that belong together."""

    text: str
    count: int


Entry = str | Heading
"""A place in a list: the id of a conversation's first session, or a heading."""


class ListRow(NamedTuple):
    """A conversation as a list shows it."""

    id: str
    """Its first session."""
    tip_id: str
    """Its newest session, where resuming goes on."""
    title: str | None
    preview: str
    source: str
    model: str | None
    started_at: float
    last_active: float
    message_count: int
    status: Status
    edge: Edge = Edge.ROOT
    segments: int = 1
    relatives: int = 0
    """Branches and sub-agents below it."""
    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()

    @property
    def foldable(self) -> bool:
        """Whether there is something below it to show."""
        return self.segments > 1 or self.relatives > 0


class Segment(NamedTuple):
    """A session of a conversation's transcript, and the place of its first message."""

    session_id: str
    title: str | None
    started_at: float
    first: int


class Outline(NamedTuple):
    """A whole conversation as a long page: the ids of its messages in order."""

    root_id: str
    tip_id: str
    segments: tuple[Segment, ...]
    message_ids: array[int]


class Weight(NamedTuple):
    """How much some sessions hold, and whether they may be touched."""

    session_ids: tuple[str, ...]
    messages: int
    bytes: int
    """The text of the messages, without the index."""
    in_use: str | None = None
    """A sentence that says which of them is being written to right now."""


class TitleAdvice(NamedTuple):
    """What would become of a title."""

    title: str | None
    """As it would be stored; None takes the title away."""
    problem: str | None
    """Why it cannot be had, as a sentence."""
    suggestion: str | None
    """A title of the same name that is free."""


class Limits(NamedTuple):
    """How much a recap shows."""

    exchanges: int = 10
    user_characters: int = 300
    assistant_characters: int = 200
    assistant_lines: int = 3
    skip_tool_only: bool = False


class RecapEntry(NamedTuple):
    """One thing said."""

    role: str
    """'user' or 'assistant'."""
    text: str
    whole: bool = False
    """Whether this is the last answer, shown in full."""


class Recap(NamedTuple):
    """What was said last."""

    entries: tuple[RecapEntry, ...]
    earlier: int
    """How many entries came before and are not shown."""
    user_messages: int
    messages: int
