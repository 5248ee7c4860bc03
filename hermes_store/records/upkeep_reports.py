"""Reports of maintenance: what optimising, pruning, checking and repairing did."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


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


class Health(Enum):
    """How bad a finding is."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    health: Health
    what: str
    explanation: str
    beside: bool = False
    """Whether it is about a file beside the database, which a repair leaves alone."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did."""

    repaired: Path
    """The mended file."""
    original: Path
    """Where the damaged file is now."""
    sessions: int
    messages: int
    lost_places: int
    in_place: bool
    """Whether the mended file took the damaged one's place."""
