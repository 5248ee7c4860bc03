"""The records of an import: what is planned, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a file holds."""

    EXPORT = "export"
    """A session with its messages on each line."""
    TRANSCRIPT = "transcript"
    """A message on each line, all of one session."""


class Outcome(Enum):
    """What became of a session."""

    ADDED = "added"
    PRESENT = "already there"
    EXTENDED = "extended"
    """The store had the beginning; the rest was added to it."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Imported:
    """One session of the file, or one line that is none."""

    outcome: Outcome
    line: int
    session_id: str | None = None
    messages: int = 0
    """How many messages were written."""
    note: str | None = None
    """Why it was skipped, or what could not be kept, in whole sentences."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A session that can be imported."""

    line: int
    session_id: str
    parent_id: str | None
    messages: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """A file that has been read to its end and checked."""

    name: str
    kind: Kind
    sessions: tuple[Planned, ...]
    """In the order in which they are written: parents before their children."""
    skipped: tuple[Imported, ...]
    unknown_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    name: str
    sessions: tuple[Imported, ...]
    """Every session and every line that is none, in the order of the file."""
    unknown_keys: tuple[str, ...] = ()
    """Names of values in the file that the store has no place for."""

    def count(self, outcome: Outcome) -> int:
        """Return how many sessions had an outcome."""
        return sum(each.outcome is outcome for each in self.sessions)

    @property
    def messages(self) -> int:
        """How many messages were written."""
        return sum(each.messages for each in self.sessions)
