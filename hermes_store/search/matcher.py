"""What finds the messages that match a query, whatever the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_store.records.search import Cursor, Looked, Strength
from hermes_store.search.field_conditions import Condition
from hermes_store.search.query_tree import Text
from hermes_store.search.query_words import Leaf
from hermes_store.sessions.late_messages import Late

MAX_ID = 2**62


@dataclass(frozen=True, slots=True)
class Found:
    """A match."""

    message_id: int
    session_id: str
    strength: Strength


class Part(Protocol):
    """A part of a search: look something up in an index, or read messages."""

    @property
    def strength(self) -> Strength:
        """How well everything matches that this part finds."""


class Vocabulary(Protocol):
    """Supplies the words that messages have."""

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three consecutive letters with a word."""


class Matcher(Protocol):
    """Finds the matches of one query tree on one snapshot of a database."""

    @property
    def conditions(self) -> Sequence[Condition]:
        """What all matches meet."""

    def leaf(self, node: Text) -> Leaf:
        """Return the analysis of a text leaf."""

    def of_few_sessions(self) -> Sequence[int] | None:
        """Return the messages of the sessions that meet the conditions; None if there are many."""

    def parts(self, ids: Sequence[int] | None) -> Iterator[Part]:
        """Yield the parts of the search, strongest matches first; with `ids`, only of those."""

    def run(self, part: Part, low: int, high: int) -> Iterator[Found | Looked]:
        """Yield what a part finds between two ids, in one direction of ids."""

    def in_time(
        self, part: Part, late: Sequence[Late], after: Cursor | None
    ) -> Iterator[Found | Looked] | None:
        """Yield what a part finds by time, although the ids of `late` messages do not follow it.

        None if that must be put together from ranges of ids.
        """

    def count(self, up_to: int) -> tuple[int, bool] | None:
        """Count matches without reading them; tell whether these are all. None if impossible.

        More than `up_to` is not exact.
        """

    def best(self, number: int, *, weighted: bool) -> Sequence[Found]:
        """Return the most relevant of the newest matches that can be ranked, the best first."""

    def frequency(self, word: str, up_to: int) -> int:
        """Return how many messages have a word, up to a limit."""

    def vocabulary(self) -> Vocabulary:
        """Return the words that messages have."""
