"""The frozen records of a search: the request, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


class Order(Enum):
    """The order of matching messages."""

    NEWEST = "newest"
    OLDEST = "oldest"
    RELEVANCE = "relevance"


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


@dataclass(frozen=True, slots=True)
class Group:
    """A conversation with matching messages."""

    root_id: str
    hits: tuple[Hit, ...]
    """Its first matching messages in the order of the search, the best one first."""
    count: int
    """Number of matching messages seen in this conversation."""
    title_matches: bool = False


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
class SearchResult:
    """A page of results, and how they were found."""

    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    order: Order
    messages: Count
    conversations: Count
    partial: bool = False
    """Whether the search was stopped before it finished."""
    searched_back_to: float | None = None
    """If messages had to be read one by one: the time back to which that was done."""
    relaxations: tuple[Relaxation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    titled: tuple[str, ...] = ()
    """First sessions of conversations whose title matches but no message, if requested."""
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
    grouped: bool = False
    """Whether the page lists conversations instead of messages."""
    titles: bool = False
    """Whether to search titles as well when the page lists messages."""
    typing: bool = False
    """Whether the last word may be incomplete."""
    relax: bool = True
    """Whether to widen a query without matches."""
    count: bool = True
    seconds: float | None = 5.0
    """Time limit after which the search returns what it has."""
    cancelled: Callable[[], bool] | None = None
    now: float | None = None
