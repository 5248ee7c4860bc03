"""The frozen records of looking at many conversations: how to list them, rows, long pages.

They hold values and know neither a database nor a screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hermes_store.records.relation_to_parent import Edge


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


@dataclass(frozen=True, slots=True)
class View:
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


@dataclass(frozen=True, slots=True)
class ListRow:
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


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions a list shows."""

    source: str | None = None
    exclude_sources: tuple[str, ...] = ()
    include_children: bool = False
    include_archived: bool = False
    archived_ids: tuple[str, ...] = ()
    """Sessions that are archived although the file does not say so."""
