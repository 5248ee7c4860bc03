"""Records of counts, sizes, tokens and costs."""

from __future__ import annotations

from dataclasses import dataclass

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens and cost of all sessions with one model."""

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
    """Statistics of a whole store."""

    sessions: int
    messages: int
    by_source: tuple[tuple[str, int], ...]
    database_bytes: int
    log_bytes: int
    reclaimable_bytes: int


@dataclass(frozen=True, slots=True)
class ModelShare:
    """One model's share of the usage."""

    model: str
    sessions: int
    input_tokens: int
    output_tokens: int
    cache_tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Notable:
    """A session that stands out."""

    kind: str
    session_id: str
    title: str | None
    value: float


@dataclass(frozen=True, slots=True)
class Insights:
    """Statistics of the last days."""

    days: int
    source: str | None
    sessions: int
    messages: int
    user_messages: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cache_tokens: int
    cost_usd: float
    active_seconds: float
    models: tuple[ModelShare, ...]
    sources: tuple[tuple[str, int], ...]
    tools: tuple[tuple[str, int], ...]
    weekdays: tuple[int, ...]
    """Sessions started on each weekday, Monday first."""
    hours: tuple[int, ...]
    """Sessions started in each hour of the day."""
    by_day: tuple[tuple[str, int], ...]
    active_days: int
    best_streak: int
    notable: tuple[Notable, ...]

    @property
    def total_tokens(self) -> int:
        """All tokens, including cached ones."""
        return self.input_tokens + self.output_tokens + self.cache_tokens
