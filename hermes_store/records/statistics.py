"""Records of counts, sizes, tokens and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

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


@dataclass(frozen=True, slots=True)
class DayFigures:
    """What happened on one day; tokens and cost are those of the sessions that it began."""

    messages: int = 0
    conversations: int = 0
    active_seconds: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Activity:
    """When there was something going on, and how much there is in all."""

    sessions: int = 0
    conversations: int = 0
    days: Mapping[date, DayFigures] = field(default_factory=dict)
    """Every day on which there was something, in the local time zone."""
    hours: tuple[int, ...] = (0,) * 24
    """Messages in each hour of the day."""
    week: DayFigures = DayFigures()
    """The last seven days."""
    week_before: DayFigures = DayFigures()
    """The seven days before those."""
    streak: int = 0
    """How many days in a row, up to today or yesterday, had messages."""
    longest_streak: int = 0
    database_bytes: int = 0

    @property
    def messages(self) -> int:
        """How many messages there are in all."""
        return sum(day.messages for day in self.days.values())

    @property
    def active_seconds(self) -> float:
        """How long people and models were at work in all."""
        return sum(day.active_seconds for day in self.days.values())


@dataclass(frozen=True, slots=True)
class Share:
    """What one model, workspace or source used; None is what has no name."""

    name: str | None
    sessions: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and costs of the sessions of a period, and who used them, the most costly first."""

    sessions: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None
    """None if no session has a cost."""
    models: tuple[Share, ...]
    workspaces: tuple[Share, ...]
    sources: tuple[Share, ...]

    @property
    def tokens(self) -> int:
        """All tokens, including cached ones."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )

    @property
    def cache_share(self) -> float | None:
        """The part of what was sent to models that came from their cache; None if unknown."""
        sent = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        cached = self.cache_read_tokens + self.cache_write_tokens
        return self.cache_read_tokens / sent if sent > 0 and cached else None
