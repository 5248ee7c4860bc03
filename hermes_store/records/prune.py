"""The frozen records of looking after a store: trash, marks, pruning, searches that were kept.

Like `models`, they hold values and know neither a database nor a screen.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.trash import Remark

# -- trash -------------------------------------------------------------------------------------


# -- marks and searches ------------------------------------------------------------------------


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
