"""The goals of search, and which of them a run of the benchmark reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.search_figures import (
    COLD,
    COMMAND,
    FIRST,
    INDEX,
    MESSAGES,
    OURS,
    REAL,
    SCAN,
    WARM,
    Figures,
    p50,
    p95,
)
from bench.search_queries import CLASSES, WHOLE_WORDS

COMPLETE_INDEX = "v22"
PARTIAL_INDEX = ("own", "v23")
COLD_P95 = {"XS": 30.0, "S": 30.0, "M": 150.0}
WARM_P50 = {"XS": 10.0, "S": 10.0, "M": 30.0}
OVER_BARE_WORDS = 30.0
OVER_SCAN = 1.5
WHOLE_COMMAND = 120.0
OVER_WORD_PASS = 2.0
LIST_BY_ACTIVITY = 20.0
SHOWN = 8
PAGE_FACTOR, PAGE_EXTRA = 3.0, 2.0


@dataclass(frozen=True, slots=True)
class Goal:
    """A sentence, and what in the figures speaks against it."""

    sentence: str
    failures: Callable[[Figures], Iterator[str]]


def _cold_complete(figures: Figures) -> Iterator[str]:
    for kind in CLASSES:
        for side in OURS:
            took = figures.of(COMPLETE_INDEX, COLD, side, kind)
            if took and p95(took) > COLD_P95[figures.scale]:
                code = f"{figures.loading:.0f} of them to load code"
                yield f"{side}, {kind}: {p95(took):.0f} ms, {code}"


def _cold_words(figures: Figures) -> Iterator[str]:
    for layout in PARTIAL_INDEX:
        for kind in WHOLE_WORDS:
            took = figures.of(layout, COLD, FIRST, kind, absent=False)
            bare = figures.of(layout, COLD, INDEX, kind, absent=False)
            if took and p50(took) > p50(bare) + OVER_BARE_WORDS:
                code = f"{figures.loading:.0f} of them to load code"
                yield f"{layout}, {kind}: {p50(took):.0f} ms against {p50(bare):.1f}, {code}"


def _cold_absent(figures: Figures) -> Iterator[str]:
    for layout in PARTIAL_INDEX:
        for kind in CLASSES:
            took = figures.of(layout, COLD, MESSAGES, kind, absent=True)
            scan = figures.of(layout, COLD, SCAN, kind, absent=True)
            if took and p50(took) > OVER_SCAN * p50(scan):
                yield f"{layout}, {kind}: {p50(took):.0f} ms, {p50(took) / p50(scan):.1f}x"


def _real(figures: Figures) -> Iterator[str]:
    for state in (COLD, WARM):
        for kind in CLASSES:
            took = figures.of(COMPLETE_INDEX, state, MESSAGES, kind)
            theirs = figures.of(COMPLETE_INDEX, state, REAL, kind)
            loading = figures.loading if state == COLD else 0.0  # the real one did that before
            if took and theirs and p50(took) - loading > p50(theirs):
                yield f"{state}, {kind}: {p50(took) - loading:.1f} ms against {p50(theirs):.1f}"


def _warm(figures: Figures) -> Iterator[str]:
    for layout in figures.measured(WARM):
        for side in OURS:
            for kind in CLASSES:
                for name, absent in (("", None), (", absent", True)):
                    took = figures.of(layout, WARM, side, kind, absent)
                    if took and p50(took) > WARM_P50[figures.scale]:
                        yield f"{layout}, {side}, {kind}{name}: {p50(took):.1f} ms"


def _page(figures: Figures) -> Iterator[str]:
    for layout in figures.measured(WARM):
        for kind in WHOLE_WORDS:
            took = figures.of(layout, WARM, MESSAGES, kind, absent=False)
            bare = figures.of(layout, WARM, INDEX, kind, absent=False)
            if took and p50(took) > PAGE_FACTOR * p50(bare) + PAGE_EXTRA:
                yield f"{layout}, {kind}: {p50(took):.1f} ms against {p50(bare):.2f}"


def _command(figures: Figures) -> Iterator[str]:
    for kind in CLASSES:
        took = figures.of(COMPLETE_INDEX, COMMAND, "hermes", kind)
        if took and p95(took) > WHOLE_COMMAND:
            yield f"{kind}: {p50(took):.0f} ms, p95 {p95(took):.0f}"


def _prepare(figures: Figures) -> Iterator[str]:
    for layout, (ours, bare) in figures.prepared.items():
        if ours > OVER_WORD_PASS * bare:
            yield f"{layout}: {ours / 1_000:.1f} s, {ours / bare:.1f}x"


def _lists(figures: Figures) -> Iterator[str]:
    for (layout, state), took in figures.listed.items():
        if layout != "own" and took > LIST_BY_ACTIVITY:
            yield f"{layout}, {state}: {took:.0f} ms"


GOALS = (
    Goal("cold, v22, nothing prepared: every class within 30 ms on S and 150 ms on M at p95",
         _cold_complete),
    Goal("cold, own and v23, no list of words: first rows within 30 ms of the bare statement",
         _cold_words),
    Goal("cold, own and v23, no list of words: absent terms within 1.5x of a plain scan",
         _cold_absent),
    Goal("v22, cold (once its code is loaded) and warm: no class slower than the real one", _real),
    Goal("warm, every layout: every class, absent or not, p50 at most 10 ms on S and 30 ms on M",
         _warm),
    Goal("warm: a full page of whole words within 3x + 2 ms of the bare statement", _page),
    Goal("the whole command on v22, nothing prepared: at most 120 ms for every class (p95)",
         _command),
    Goal("preparing takes at most 2x of the bare pass over the words of the index", _prepare),
    Goal("a list by activity on a foreign file takes at most 20 ms", _lists),
)  # fmt: skip


def print_goals(figures: Figures) -> None:
    """Print each goal, whether it is reached, and what is in its way."""
    print("\nGoals")
    for goal in GOALS:
        failures = list(goal.failures(figures))
        print(f"  {'not reached' if failures else 'reached':<12} {goal.sentence}")
        for failure in failures[:SHOWN]:
            print(f"{'':<17}{failure}")
        if len(failures) > SHOWN:
            print(f"{'':<17}and {len(failures) - SHOWN} more")
