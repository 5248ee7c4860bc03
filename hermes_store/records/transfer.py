"""The records of an import: the plan and the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What an import file contains."""

    EXPORT = "export"
    """One session with its messages per line."""
    TRANSCRIPT = "transcript"
    """One message per line, all of one session."""


class Outcome(Enum):
    """The result of importing a session."""

    ADDED = "added"
    PRESENT = "already there"
    EXTENDED = "extended"
    """The store had the beginning; the rest was added."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Imported:
    """One session of the file, or one line that is not a session."""

    outcome: Outcome
    line: int
    session_id: str | None = None
    messages: int = 0
    """Number of messages written."""
    note: str | None = None
    """Why it was skipped, or what was lost, in complete sentences."""


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
    """An import file, completely read and checked."""

    name: str
    kind: Kind
    sessions: tuple[Planned, ...]
    """In the order of writing: parents before their children."""
    skipped: tuple[Imported, ...]
    unknown_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    name: str
    sessions: tuple[Imported, ...]
    """Every session and every line that is not one, in the order of the file."""
    unknown_keys: tuple[str, ...] = ()
    """Keys in the file that the store does not know."""

    def count(self, outcome: Outcome) -> int:
        """Return the number of sessions with an outcome."""
        return sum(each.outcome is outcome for each in self.sessions)

    @property
    def messages(self) -> int:
        """Number of messages written."""
        return sum(each.messages for each in self.sessions)


@dataclass(frozen=True, slots=True)
class PushReport:
    """What was sent to a server."""

    added: int
    """Sessions that the server did not have."""
    changed: int
    messages: int
    removed: int
    """Messages that the file no longer has, such as those of a reply that was taken back."""
    elsewhere: int = 0
    """Sessions that the server has already, but not from this file."""


@dataclass(frozen=True, slots=True)
class PullReport:
    """What was brought from a server into a file."""

    sessions: int
    added: int
    messages: int
    extended: int = 0
    """Sessions that the file had the beginning of."""
    skipped: tuple[str, ...] = ()
    """Sessions that were not brought, each with the reason."""
