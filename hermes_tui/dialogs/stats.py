"""The statistics dialog, with charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button

from hermes_store.records.sources import describe
from hermes_store.records.statistics import WEEKDAYS, Insights, Stats
from hermes_tui.dialogs.base import Dialog
from hermes_tui.presentation.charts import bar, sparkline
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.times import duration
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText

SPANS = (7, 30, 90, 365)
NAME = 26
Part = tuple[str, str] | str


@dataclass(frozen=True, slots=True)
class _Figures:
    stats: Stats
    insights: Insights


class StatsDialog(Dialog[None]):
    """Shows totals, and activity over a period."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", "close", show=False),
        Binding("left,minus", "span(-1)", "shorter", show=False),
        Binding("right,plus", "span(1)", "longer", show=False),
    ]
    title_text = "Statistics"

    class Counted(Answer[_Figures]):
        """The statistics of a period."""

    def __init__(self, access: Access, now: float) -> None:
        super().__init__()
        self.access = access
        self._now = now
        self._span = 1
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="page"):
            yield PlainText("Counting …", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield Button("Close", id="cancel", compact=True)
        yield Button("Shorter", id="shorter", compact=True)
        yield Button("Longer", id="longer", compact=True)

    def on_mount(self) -> None:
        self.query_one("#page").focus()
        self._count()

    def _count(self) -> None:
        days = SPANS[self._span]
        self.ask(
            self.Counted,
            lambda store, _: _Figures(
                store.upkeep.statistics(), store.upkeep.insights(days=days, now=self._now)
            ),
        )

    def on_stats_dialog_counted(self, event: Counted) -> None:
        event.stop()
        if not event.stale:
            self.query_one("#figures", PlainText).update(figures(event.value))

    def action_span(self, step: int) -> None:
        self._span = max(0, min(self._span + step, len(SPANS) - 1))
        self._count()

    def confirm(self, button: str) -> None:
        self.action_span(-1 if button == "shorter" else 1)


def figures(found: _Figures) -> Content:
    """Return the page."""
    stats, habits = found.stats, found.insights
    parts: list[Part] = [
        ("Total\n", "$primary bold"),
        f"  {plural(stats.sessions, 'session')}, {plural(stats.messages, 'message')}, "
        f"{byte_size(stats.database_bytes)} on disk",
    ]
    if stats.log_bytes:
        parts.append(f" and {byte_size(stats.log_bytes)} of log")
    if stats.reclaimable_bytes:
        parts.append(f", of which {byte_size(stats.reclaimable_bytes)} can be reclaimed")
    parts += ["\n\n", (f"Last {habits.days} days", "$primary bold"),
              ("   ← shorter, longer →\n", "$foreground-muted")]  # fmt: skip
    if not habits.sessions:
        return Content.assemble(*parts, "  No sessions started in this period.\n")
    parts += [
        f"  {plural(habits.sessions, 'session')}, {plural(habits.messages, 'message')} "
        f"({habits.user_messages:,} yours), {plural(habits.tool_calls, 'tool call')}, "
        f"{habits.total_tokens:,} tokens, ${habits.cost_usd:.2f}\n",
        f"  {plural(habits.active_days, 'active day')}, best streak "
        f"{plural(habits.best_streak, 'day')}, {duration(habits.active_seconds)} in total\n\n",
    ]
    parts += [("  By day   ", "$foreground-muted"), (_days(habits), "$success"), "\n"]
    parts += [("  By hour  ", "$foreground-muted"), (sparkline(habits.hours), "$success"),
              ("  0h to 23h\n\n", "$foreground-muted")]  # fmt: skip
    parts += _bars("Weekdays", list(zip(WEEKDAYS, habits.weekdays, strict=True)))
    parts += _bars("Sources", [(describe(name).label, n) for name, n in habits.sources])
    parts += _bars(
        "Models (tokens)",
        [(m.model, m.input_tokens + m.output_tokens + m.cache_tokens) for m in habits.models],
    )
    costs = [(m.model, round(m.cost_usd * 100)) for m in habits.models if m.cost_usd]
    parts += _bars("Models (cents)", costs)
    parts += _bars("Tools", list(habits.tools))
    if habits.notable:
        parts.append(("Notable\n", "$primary bold"))
        for each in habits.notable:
            name = plain(each.title or each.session_id)
            parts += [f"  {fit(each.kind, 22)}", (f"{name}\n", "$foreground-muted")]
    return Content.assemble(*parts).rstrip()


def _days(habits: Insights) -> str:
    return sparkline(number for _, number in habits.by_day[-60:])


def _bars(title: str, pairs: Sequence[tuple[str, int]]) -> list[Part]:
    top = max((number for _, number in pairs), default=0)
    if not top:
        return []
    parts: list[Part] = [(f"{title}\n", "$primary bold")]
    for name, number in pairs[:12]:
        parts += [
            f"  {fit(plain(name), NAME)} ",
            (bar(number / top), "$success"),
            f" {number:,}\n",
        ]
    return [*parts, "\n"]
