"""What a search returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


class Order(Enum):
    """The order of hits."""

    NEWEST = "newest"
    OLDEST = "oldest"
    RELEVANCE = "relevance"


class Spans(Protocol):
    """Finds the places of matches in a text."""

    def spans(self, text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """Return where matches begin and end."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """An excerpt with the places of its matches."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, start: str, end: str) -> str:
        """Return the text with every match between two marks."""
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
    """A conversation with hits."""

    root_id: str
    hits: tuple[Hit, ...]
    """The first hits in the order of the search; the best one first."""
    count: int
    """How many hits of this conversation were seen."""
    title_matches: bool = False


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A step that made a query wider because nothing matched it as it was."""

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
    """A page of hits and what is worth knowing about how they were found."""

    hits: tuple[Hit, ...]
    groups: tuple[Group, ...]
    order: Order
    messages: Count
    conversations: Count
    partial: bool = False
    """Whether the search was stopped before it had seen everything."""
    searched_back_to: float | None = None
    """Where text had to be read through: the moment down to which that was done."""
    relaxations: tuple[Relaxation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    titled: tuple[str, ...] = ()
    """Conversations whose title matches, by their first session, if the request asked for them;
    those that have a hit are left out."""
    highlighter: Spans | None = field(default=None, compare=False, repr=False)
    """Finds the matches in any other text, such as a title."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query text."""

    start: int
    end: int


class Severity(Enum):
    """How much a diagnostic matters."""

    NOTE = "note"
    """The text was understood in a way worth saying."""
    PROBLEM = "problem"
    """A part of the text was left out."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A remark on a stretch of the query text, as a sentence."""

    message: str
    span: Span
    severity: Severity = Severity.NOTE


@dataclass(frozen=True, slots=True)
class Request:
    """What to search for, and how."""

    text: str
    order: Order | None = None
    """None means what the text says with sort:, newest first otherwise."""
    limit: int = 20
    offset: int = 0
    grouped: bool = False
    """Whether the page is made of conversations instead of messages."""
    titles: bool = False
    """Whether titles are searched as well where the page is made of messages."""
    typing: bool = False
    """Whether the last word may still go on."""
    relax: bool = True
    """Whether a query without hits is made wider."""
    count: bool = True
    seconds: float | None = 5.0
    """When to stop reading and return what there is."""
    cancelled: Callable[[], bool] | None = None
    now: float | None = None
