"""The frozen records of looking after a store: trash, marks, pruning, searches that were kept.

Like `models`, they hold values and know neither a database nor a screen.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about one session, such as why it was left alone."""

    session_id: str
    text: str


# -- trash -------------------------------------------------------------------------------------


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


# -- marks and searches ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """What a person noted on a conversation."""

    pinned: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that was given a name."""

    name: str
    text: str
    saved_at: float


# -- pruning -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PruneFilter:
    """Which conversations a clean-up takes; all conditions must hold."""

    older_than_days: float | None = 90
    """Days since the last activity of the whole conversation; None for any age."""
    source: str | None = None
    title: str | None = None
    """Part of the title, in any case of letters."""
    model: str | None = None
    """Part of the model's name."""
    min_messages: int | None = None
    max_messages: int | None = None
    where: str = ""
    """Fields of the search language, such as 'source:cron -tag:work before:2026-01-01'."""
    include_archived: bool = False
    include_pinned: bool = False
    include_open: bool = False
    """Whether conversations go that never ended; those in use stay even then."""


@dataclass(frozen=True, slots=True)
class PruneRow:
    """A conversation that would go."""

    root_id: str
    session_ids: tuple[str, ...]
    """In the order in which they can be deleted: the root comes last."""
    title: str | None
    source: str
    model: str | None
    started_at: float
    last_active: float
    messages: int
    bytes: int
    """The text of its messages."""
    open_ids: tuple[str, ...] = ()
    """Those of its sessions that never ended."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What a clean-up would do; nothing has been changed yet."""

    chosen: PruneFilter
    rows: tuple[PruneRow, ...] = ()
    """The conversations that would go, the oldest activity first."""
    spared: tuple[Remark, ...] = ()
    """Conversations that fit the filter and stay, with the reason."""

    @property
    def conversations(self) -> int:
        """How many conversations would go."""
        return len(self.rows)

    @property
    def session_ids(self) -> tuple[str, ...]:
        """All sessions that would go, in the order in which they can be deleted."""
        return tuple(session_id for row in self.rows for session_id in row.session_ids)

    @property
    def sessions(self) -> int:
        """How many sessions would go."""
        return sum(len(row.session_ids) for row in self.rows)

    @property
    def messages(self) -> int:
        """How many messages would go."""
        return sum(row.messages for row in self.rows)

    @property
    def bytes(self) -> int:
        """How much text would go; with its index it takes more in the file."""
        return sum(row.bytes for row in self.rows)

    @property
    def oldest(self) -> float | None:
        """The last activity of the conversation that was silent longest."""
        return self.rows[0].last_active if self.rows else None

    @property
    def newest(self) -> float | None:
        """The last activity of the conversation that was silent shortest."""
        return self.rows[-1].last_active if self.rows else None


# -- figures and maintenance ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens and cost of all sessions of one model."""

    model: str
    sessions: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Tokens and cost of one session."""

    id: str
    title: str | None
    model: str | None
    total_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Stats:
    """The figures of a whole store."""

    sessions: int
    messages: int
    by_source: tuple[tuple[str, int], ...]
    database_bytes: int
    log_bytes: int
    reclaimable_bytes: int


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What tidying up the file did."""

    before_bytes: int
    after_bytes: int
    converted: bool = False
    """Whether the search index was given the smaller layout."""
    left_alone: bool = False
    """Whether nothing was done because a newer Hermes owns the file."""


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What an automatic clean-up did, or why it did nothing."""

    skipped: bool = False
    pruned: int = 0
    vacuumed: bool = False
    error: str | None = None
    pruned_ids: tuple[str, ...] = field(default=())
