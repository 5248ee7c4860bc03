"""The frozen records of a search: the request, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Protocol


class Order(Enum):
    """The order of matching messages."""

    NEWEST = "newest"
    OLDEST = "oldest"
    RELEVANCE = "relevance"


class Strength(IntEnum):
    """How well a message matches; the best first."""

    WHOLE = 1
    """It has the words, and the text literally if it is more than one word."""
    PART = 2
    """It contains the text, perhaps inside of words."""
    ROW = 3
    """It has the words in a row, with other signs between them."""


class Spans(Protocol):
    """Finds the matches in a text."""

    def spans(self, text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """Return the start and end of each match."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """An excerpt with the positions of its matches."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, start: str, end: str) -> str:
        """Return the text with `start` and `end` around every match."""
        pieces, place = [], 0
        for first, last in self.marks:
            pieces += [self.text[place:first], start, self.text[first:last], end]
            place = last
        return "".join([*pieces, self.text[place:]])


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that matches."""

    message_id: int
    session_id: str
    role: str
    timestamp: float
    source: str
    snippet: Snippet
    """An excerpt around the first match."""
    tool_name: str | None = None
    model: str | None = None
    session_started: float = 0.0
    strength: Strength = Strength.WHOLE


@dataclass(frozen=True, slots=True)
class Group:
    """A conversation with matching messages."""

    root_id: str
    hits: tuple[Hit, ...]
    """Its first matching messages in the order of the search, the best one first."""
    count: int
    """Number of matching messages in this conversation that were seen up to the end of the page."""
    title_matches: bool = False
    strength: Strength = Strength.WHOLE
    """That of its best match."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A step that widened a query because nothing matched it exactly."""

    kind: str
    """'signs', 'forms', 'typos' or 'fewer words'."""
    explanation: str
    """A sentence for the search pane."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things, and whether there may be more."""

    number: int
    exact: bool

    def __str__(self) -> str:
        return f"{self.number:,}" if self.exact else f"{self.number:,}+"


@dataclass(frozen=True, slots=True)
class Looked:
    """How far messages have been read that no index could answer for."""

    back_to: float | None
    """The time of the last message that was read."""
    share: float
    """Which part of all that is to be read, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a page, to go on from with `Request.after`."""

    step: int
    """Which part of the search had come how far: the last match, and its time."""
    message_id: int
    moment: float
    seen: frozenset[str]
    """The conversations that were shown."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of results, and how they were found."""

    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    order: Order
    messages: Count
    """The messages that contain the text."""
    conversations: Count
    weaker: Count = Count(0, True)
    """The messages that only have the same words in a row, with other signs between them."""
    partial: bool = False
    """Whether not everything was looked at: it is still going on, or was stopped."""
    looked: Looked | None = None
    """If messages have to be read: how far that has come."""
    next: Cursor | None = None
    """Where the next page of conversations begins; None after the last."""
    relaxations: tuple[Relaxation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    titled: tuple[str, ...] = ()
    """First sessions of conversations whose title matches but no message, if requested."""
    named: tuple[str, ...] = ()
    """First sessions of all conversations whose title matches, if requested."""
    highlighter: Spans | None = field(default=None, compare=False, repr=False)
    """Finds matches in other text, such as a title."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query text."""

    start: int
    end: int


class Severity(Enum):
    """How much a diagnostic matters."""

    NOTE = "note"
    """The text was interpreted in a way worth mentioning."""
    PROBLEM = "problem"
    """Part of the text was ignored."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A sentence about a stretch of the query text."""

    message: str
    span: Span
    severity: Severity = Severity.NOTE


@dataclass(frozen=True, slots=True)
class Request:
    """What to search for, and how."""

    text: str
    order: Order | None = None
    """None means the text's own sort:, or newest first."""
    limit: int = 20
    offset: int = 0
    after: Cursor | None = None
    """The end of the page of conversations before this one."""
    fields: tuple[tuple[str, str], ...] = ()
    """Fields of the search language that all matches meet, such as ("source", "telegram"); of
    several with the same name, any."""
    workspace: str | None = None
    """Search only workspaces with this in their path."""
    here: str | None = None
    """Search only this workspace and the folders below it."""
    grouped: bool = False
    """Whether the page lists conversations instead of messages."""
    titles: bool = False
    """Whether to search titles as well when the page lists messages."""
    typing: bool = False
    """Whether the text may be incomplete, such as a field that has no value yet."""
    relax: bool = True
    """Whether to widen a query without matches."""
    count: bool = True
    seconds: float | None = None
    """Time limit after which the search returns what it has; None for no limit."""
    cancelled: Callable[[], bool] | None = None
    now: float | None = None
