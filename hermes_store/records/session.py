"""The frozen records of sessions, conversations and lineage trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.workspace import Place


@dataclass(frozen=True, slots=True)
class Session:
    """One row of `sessions`."""

    id: str
    source: str
    started_at: float
    user_id: str | None = None
    model: str | None = None
    model_config: dict[str, Any] | None = None
    parent_session_id: str | None = None
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int = 0
    tool_call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    billing_provider: str | None = None
    estimated_cost_usd: float | None = None
    actual_cost_usd: float | None = None
    title: str | None = None
    api_call_count: int = 0
    archived: bool = False
    cwd: str | None = None
    git_repo_root: str | None = None
    git_branch: str | None = None

    @property
    def place(self) -> Place:
        """Where it took place."""
        return Place(self.cwd, self.git_repo_root, self.git_branch)

    @property
    def total_tokens(self) -> int:
        """Input and output tokens, without cached ones."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session with everything that continues it after compression: one row of a list."""

    root_id: str
    tip: Session
    edge: Edge
    started_at: float
    last_active: float
    preview: str
    segments: int = 1
    message_count: int = 0


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A session in a lineage tree."""

    session: Session
    edge: Edge
    depth: int
    children: tuple[LineageNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Lineage:
    """The whole lineage tree around a session."""

    root: LineageNode
    current_id: str
    tip_id: str
    """The session that resuming the current one would continue."""
    truncated: bool = False
    """Whether the tree was cut because of its size."""


@dataclass(frozen=True, slots=True)
class FormerTitle:
    """The title that a session had, and who chose it."""

    session_id: str
    title: str | None
    named_by: str | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """A session with its new title, and what it takes to undo that."""

    session_id: str
    title: str | None
    before: tuple[FormerTitle, ...]
    """Its own former title first, then that of a session it took the title from."""


@dataclass(frozen=True, slots=True)
class TitleAdvice:
    """Whether a session can have a title, and how it would be stored."""

    title: str | None
    """As it would be stored; None removes the title."""
    problem: str | None
    """Why the title cannot be used, as a sentence."""
    suggestion: str | None
    """A free title with the same base name."""
