"""The figures of the search benchmark: times by layout, state, side and class, and their table."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.search_queries import CLASSES, Query

COLD, WARM, COMMAND = "cold", "warm", "command"
MESSAGES, RUN, FIRST = "search_messages", "search.run", "first rows"
REAL, SCAN, INDEX = "real", "scan", "FTS5"
OURS = (MESSAGES, RUN)
"""Complete answers; the first rows of a search that goes on are apart."""


def p50(milliseconds: Sequence[float]) -> float:
    return statistics.median(milliseconds)


def p95(milliseconds: Sequence[float]) -> float:
    return sorted(milliseconds)[int(len(milliseconds) * 0.95)]


@dataclass(slots=True)
class Figures:
    """All that was measured, in milliseconds."""

    scale: str
    times: dict[tuple[str, str, str], list[tuple[Query, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By layout, state and side."""
    missed: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    """By layout, state and class: how often the real one found nothing although it is there."""
    prepared: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By layout: the list of words, and the bare pass over the words of the index."""
    loading: float = 0.0
    """What a first search takes to load code, which is part of every cold time of ours."""
    listed: dict[tuple[str, str], float] = field(default_factory=dict)
    """By layout and state: a list by activity."""

    def add(self, layout: str, state: str, side: str, query: Query, seconds: float) -> None:
        self.times[layout, state, side].append((query, seconds * 1_000))

    def of(
        self, layout: str, state: str, side: str, kind: str, absent: bool | None = None
    ) -> list[float]:
        """Return the times of a class, or only of its absent or present queries."""
        return [
            took
            for query, took in self.times.get((layout, state, side), ())
            if query.kind == kind and absent in (None, query.absent)
        ]

    def measured(self, state: str) -> list[str]:
        """Return the layouts that were measured in a state."""
        return list(dict.fromkeys(layout for layout, each, _ in self.times if each == state))


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _pair(took: list[float], width: int = 15) -> str:
    text = f"{_number(p50(took))} / {_number(p95(took))}" if took else "-"
    return f"{text:>{width}}"


def _ratio(above: list[float], below: list[float], width: int = 9) -> str:
    text = f"{_number(p50(above) / p50(below))}x" if above and below else "-"
    return f"{text:>{width}}"


def print_searches(figures: Figures, layout: str, state: str, peer: str) -> None:
    """Print one line for each class, times as p50 / p95 in ms."""
    real = (layout, state, REAL) in figures.times
    head = f"{'':<19}" + "".join(f"{name:>15}" for name in (*OURS, "absent only", FIRST))
    head += f"{peer:>15}{'missed':>7}" if real else ""
    head += f"{'plain scan':>15}{'bare FTS5':>15}{'ours/scan':>10}{'ours/FTS5':>10}"
    print(head + (f"{'real/ours':>10}" if real else ""))
    for kind in CLASSES:
        ours, run, theirs, scan, index = (
            figures.of(layout, state, side, kind) for side in (*OURS, REAL, SCAN, INDEX)
        )
        line = f"{kind:<19}{_pair(ours)}{_pair(run)}"
        line += _pair(figures.of(layout, state, MESSAGES, kind, absent=True))
        line += _pair(figures.of(layout, state, FIRST, kind, absent=False))
        if real:
            line += f"{_pair(theirs)}{figures.missed[layout, state, kind]:>7}"
        line += f"{_pair(scan)}{_pair(index)} {_ratio(ours, scan)} {_ratio(ours, index)}"
        print(line + (f" {_ratio(theirs, ours)}" if real else ""), flush=True)


def print_commands(figures: Figures, layout: str) -> None:
    """Print the times of whole commands, p50 / p95 in ms."""
    sides = [side for each, state, side in figures.times if (each, state) == (layout, COMMAND)]
    print(f"{'':<19}" + "".join(f"{side:>24}" for side in sides))
    for kind in CLASSES:
        took = (figures.of(layout, COMMAND, side, kind) for side in sides)
        print(f"{kind:<19}" + "".join(_pair(each, 24) for each in took), flush=True)
