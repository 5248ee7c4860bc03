"""Records of deleting, the trash and restoring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about one session, such as why it was kept."""

    session_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion removed."""

    session_ids: tuple[str, ...]
    messages: int
    batch_id: int | None = None
    """The batch to restore from the trash; None if deleted permanently."""
    left: str | None = None
    """A sentence about permanently deleted text that may still be in the files, if any."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The size of some sessions, and whether they may be deleted."""

    session_ids: tuple[str, ...]
    messages: int
    bytes: int
    """The size of the messages' text, without the index."""
    in_use: str | None = None
    """A sentence that names the session in use, if there is one."""


@dataclass(frozen=True, slots=True)
class TrashedSession:
    """A session in the trash."""

    session_id: str
    batch_id: int
    name: str
    """Its title, or else the beginning of its first message, or its id."""
    title: str | None
    source: str
    started_at: float
    messages: int
    bytes: int
    """The size of the copy in the sidecar."""
    files: tuple[str, ...] = ()
    """Transcripts and snapshots that remain on disk until the trash is emptied."""


@dataclass(frozen=True, slots=True)
class TrashBatch:
    """What one deletion moved to trash."""

    id: int
    deleted_at: float
    reason: str
    titles: tuple[str, ...]
    """The names of its sessions, the first session of each conversation first."""
    session_ids: tuple[str, ...]
    messages: int
    bytes: int

    @property
    def sessions(self) -> int:
        """Number of sessions in the batch."""
        return len(self.session_ids)


@dataclass(frozen=True, slots=True)
class TrashedConversation:
    """A conversation in the trash: what one deletion took of its chain and its sub-agents."""

    batch_id: int
    deleted_at: float
    reason: str
    name: str
    """Its newest title, or else the beginning of its first message, or its id."""
    source: str
    session_ids: tuple[str, ...]
    """Its sessions, the first one first."""
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored, and what could not be restored unchanged."""

    session_ids: tuple[str, ...] = ()
    messages: int = 0
    remarks: tuple[Remark, ...] = ()
    """Sessions restored with a change: another title, no parent, new message ids."""
    skipped: tuple[Remark, ...] = ()
    """Sessions that remain in the trash, and why."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What emptying the trash permanently deleted."""

    sessions: int = 0
    messages: int = 0
    bytes: int = 0
    left: str | None = None
    """A sentence about text that may still be in the files, if any."""
