"""The frozen records of pruning: the filter, and the plan made from it."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_store.records.trash import Remark

KEPT = {
    "pinned": "It is pinned.",
    "archived": "It is archived.",
    "unfinished": "It has not ended.",
    "of unknown age": "Its time of activity is not a valid time, so its age is unknown.",
}
"""Why a conversation is kept, in few words and as a sentence; being in use is told apart."""


@dataclass(frozen=True, slots=True)
class PruneFilter:
    """Which conversations to prune; all conditions must hold."""

    older_than_days: float | None = 90
    """Days since the last activity of the whole conversation; None for any age."""
    active_before: float | None = None
    """The last activity was before this time."""
    active_after: float | None = None
    started_before: float | None = None
    started_after: float | None = None
    source: str | None = None
    title: str | None = None
    """Part of the title; case is ignored."""
    model: str | None = None
    """Part of the model's name."""
    provider: str | None = None
    """The billing provider; case is ignored."""
    end_reason: str | None = None
    workspace: str | None = None
    """Part of the path of the workspace."""
    cwd: str | None = None
    """A folder; those below it count, too."""
    branch: str | None = None
    """Part of the name of the git branch."""
    user: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    min_messages: int | None = None
    max_messages: int | None = None
    min_tokens: int | None = None
    """Input and output together."""
    max_tokens: int | None = None
    min_cost: float | None = None
    """In US dollars, actual or else estimated."""
    max_cost: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    never_active: bool = False
    """Only conversations that a gateway opened and nobody ever used, although they never ended."""
    where: str = ""
    """Fields of the search language, such as 'source:cron -tag:work before:2026-01-01'."""
    include_archived: bool = False
    include_pinned: bool = False
    include_open: bool = False
    """Whether to prune conversations that never ended; those in use are kept regardless."""


@dataclass(frozen=True, slots=True)
class PruneRow:
    """A conversation that would be pruned."""

    root_id: str
    session_ids: tuple[str, ...]
    """In an order in which they can be deleted: the root comes last."""
    title: str | None
    source: str
    model: str | None
    started_at: float
    last_active: float
    messages: int
    """As a list counts them: without those of sub-agents."""
    bytes: int
    """The size of the text of all its messages, with those of sub-agents."""
    open_ids: tuple[str, ...] = ()
    """Its sessions that never ended."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What pruning would delete; nothing has been changed yet."""

    chosen: PruneFilter
    rows: tuple[PruneRow, ...] = ()
    """The conversations that would be pruned, oldest activity first."""
    spared: tuple[Remark, ...] = ()
    """Conversations that match the filter but are kept, with the reason."""

    @property
    def conversations(self) -> int:
        """Number of conversations that would be pruned."""
        return len(self.rows)

    @property
    def session_ids(self) -> tuple[str, ...]:
        """All sessions that would be pruned, in an order in which they can be deleted."""
        return tuple(session_id for row in self.rows for session_id in row.session_ids)

    @property
    def sessions(self) -> int:
        """Number of sessions that would be pruned."""
        return sum(len(row.session_ids) for row in self.rows)

    @property
    def messages(self) -> int:
        """Number of messages that would be pruned, as lists count them."""
        return sum(row.messages for row in self.rows)

    @property
    def bytes(self) -> int:
        """Size of the text that would be pruned; with its index it takes more space on disk."""
        return sum(row.bytes for row in self.rows)

    @property
    def oldest(self) -> float | None:
        """Last activity of the conversation that has been inactive longest."""
        return self.rows[0].last_active if self.rows else None

    @property
    def newest(self) -> float | None:
        """Last activity of the most recently active conversation."""
        return self.rows[-1].last_active if self.rows else None
