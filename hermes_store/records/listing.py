"""The frozen records of a list of conversations: its options, headings and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from hermes_store.errors import InvalidInput
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.workspace import Place

NO_LIMIT = 2**62
"""A page of all rows. With any offset added, it is still a number to SQLite."""


def page_bounds(limit: int | str, offset: int | str = 0) -> tuple[int, int]:
    """Return the limit and the offset of a page: digits count, a negative limit is none."""
    try:
        number, start = int(limit), int(offset)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"A page cannot have the limit {limit!r} and the offset {offset!r}; pass numbers."
        ) from None
    return min(number if number >= 0 else NO_LIMIT, NO_LIMIT), min(max(0, start), NO_LIMIT - 1)


class Status(Enum):
    """The state of a conversation."""

    LIVE = "live"
    """It has not ended and was active a moment ago."""
    DONE = "done"
    INTERRUPTED = "interrupted"
    """It never ended, or was cut off."""
    ERROR = "error"
    EMPTY = "empty"


class Hidden(Enum):
    """What a list hides by default; the value is its name for the user."""

    CRON = "cron"
    ONESHOT = "one-shot"
    KANBAN = "kanban"
    AGENT = "sub-agents"
    ARCHIVED = "archived"
    HIDDEN = "unlisted"
    """Hermes Agent itself keeps it out of its lists."""
    EMPTY = "empty"


class Sort(Enum):
    """The order of a list; the value is its name for the user."""

    ACTIVITY = "activity"
    STARTED = "start"
    MESSAGES = "messages"
    TITLE = "title"
    COST = "cost"
    TOKENS = "tokens"


class Grouping(Enum):
    """How a list is grouped under headings."""

    NONE = "none"
    DATE = "date"
    SOURCE = "source"
    MODEL = "model"
    WORKSPACE = "workspace"
    HOST = "host"
    """The machines that sent sessions to a server."""


@dataclass(frozen=True, slots=True)
class View:
    """Which conversations a list shows, and how."""

    source: str | None = None
    workspace: str | None = None
    """Part of the path of their workspace."""
    here: str | None = None
    """Only conversations in this workspace and the folders below it."""
    shown: frozenset[Hidden] = frozenset()
    """What to show that is hidden by default."""
    sort: Sort = Sort.ACTIVITY
    group: Grouping = Grouping.NONE
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above a group of rows."""

    text: str
    count: int


Entry = str | Heading
"""One line of a list: the id of a conversation's first session, or a heading."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """A conversation as a list shows it."""

    id: str
    """Its first session."""
    tip_id: str
    """Its newest session, the one to resume."""
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
    place: Place = field(default_factory=Place)
    """Where its newest session took place."""
    unread: bool = False
    """Whether something was said since Hermes Agent last showed it."""
    cost: float = 0.0
    """In US dollars, actual or else estimated."""
    tokens: int = 0
    """Input and output together."""
    last_text: str = ""
    """The beginning of the last message, if it was asked for."""
    tool_calls: int = 0
    ended_at: float | None = None
    end_reason: str | None = None
    """Why its newest session ended."""
    host: str | None = None
    """The machine that sent it to a server."""

    @property
    def foldable(self) -> bool:
        """Whether it has segments, branches or sub-agents to unfold."""
        return self.segments > 1 or self.relatives > 0


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions a list contains."""

    source: str | None = None
    exclude_sources: tuple[str, ...] = ()
    include_children: bool = False
    include_archived: bool = False
    archived_ids: tuple[str, ...] = ()
    """Sessions archived in the sidecar instead of the database."""
    workspace: str | None = None
    """Part of the path of their workspace."""
