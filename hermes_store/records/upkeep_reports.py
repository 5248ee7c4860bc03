"""Reports of maintenance: optimizing, pruning, checking and repairing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What optimizing the database did."""

    before_bytes: int
    after_bytes: int
    converted: bool = False
    """Whether the full-text index was converted to the smaller layout."""
    left_alone: bool = False
    """Whether nothing was done because a newer Hermes owns the file."""


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What an automatic prune did, or why it did nothing."""

    skipped: bool = False
    pruned: int = 0
    vacuumed: bool = False
    error: str | None = None
    pruned_ids: tuple[str, ...] = field(default=())
    batch_id: int | None = None
    """The batch in the trash; None if nothing was pruned, or it was deleted permanently."""
    purged: int = 0
    """Sessions that an earlier run had moved to trash and that were now deleted permanently."""


class Health(Enum):
    """How serious a finding is."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    health: Health
    what: str
    explanation: str
    beside: bool = False
    """Whether it concerns a file beside the database, which a repair does not touch."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did."""

    steps: tuple[str, ...] = ()
    """What was mended, in sentences; empty if nothing had to be done."""
    lost: tuple[str, ...] = ()
    """What could not be saved, in sentences."""
    original: Path | None = None
    """Where the database is kept as it was before the repair."""
    beside: Path | None = None
    """The repaired copy, if another program uses the database, so that it was not replaced."""
