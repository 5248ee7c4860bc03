"""Records of deleting: what went, what is in the trash, what came back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about one session, such as why it was left alone."""

    session_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion removed."""

    session_ids: tuple[str, ...]
    messages: int
    batch_id: int | None = None
    """What brings it back from the trash, if it went there."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How much some sessions hold, and whether they may be touched."""

    session_ids: tuple[str, ...]
    messages: int
    bytes: int
    """The text of the messages, without the index."""
    in_use: str | None = None
    """A sentence that says which of them is being written to right now."""


@dataclass(frozen=True, slots=True)
class TrashedSession:
    """A session in the trash."""

    session_id: str
    batch_id: int
    name: str
    """Its title; without one the beginning of its first message, or its id."""
    title: str | None
    source: str
    started_at: float
    messages: int
    bytes: int
    """What the copy takes in the companion file."""
    files: tuple[str, ...] = ()
    """Transcripts and snapshots that stay on disk until the trash is emptied."""


@dataclass(frozen=True, slots=True)
class TrashBatch:
    """What one deletion put into the trash."""

    id: int
    deleted_at: float
    reason: str
    titles: tuple[str, ...]
    """The names of its sessions, the first of each conversation first."""
    session_ids: tuple[str, ...]
    messages: int
    bytes: int

    @property
    def sessions(self) -> int:
        """How many sessions it holds."""
        return len(self.session_ids)


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What came back, and what could not come back just as it was."""

    session_ids: tuple[str, ...] = ()
    messages: int = 0
    remarks: tuple[Remark, ...] = ()
    """Sessions that came back with a change: another title, no parent, new message ids."""
    skipped: tuple[Remark, ...] = ()
    """Sessions that stayed in the trash, and why."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What emptying the trash removed for good."""

    sessions: int = 0
    messages: int = 0
    bytes: int = 0
