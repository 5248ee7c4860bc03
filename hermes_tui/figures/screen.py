"""The figures screen: a year of days, totals, week on week, tokens and costs."""

from __future__ import annotations

from datetime import date, datetime
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.getters import query_one
from textual.screen import Screen

from hermes_store.errors import DatabaseMissing
from hermes_store.records.statistics import Activity, Usage
from hermes_tui.figures import page
from hermes_tui.figures.heat_map import LABEL, HeatMap
from hermes_tui.presentation.fit_text import short_path
from hermes_tui.presentation.themes import styles_folder
from hermes_tui.store_access import Access, Answer, Failed
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.status_bar import StatusBar

PERIODS: tuple[tuple[int | None, str], ...] = (
    (7, "Last 7 days"),
    (30, "Last 30 days"),
    (90, "Last 90 days"),
    (365, "Last year"),
    (None, "All time"),
)
WIDE, BETWEEN = 100, 4
"""From how many columns on there are two columns of figures, and the space between them."""


class FiguresScreen(Screen[date]):
    """Shows figures of all conversations; returns the day to show, if any."""

    CSS_PATH = styles_folder() / "figures.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "close", show=False),
        Binding("f3", "close", "close", id="stats", show=False),
        Binding("minus,less_than_sign", "period(-1)", "shorter period", show=False),
        Binding("plus,equals_sign,greater_than_sign", "period(1)", "longer period", show=False),
        Binding("pagedown,space", "scroll_page(1)", "scroll", show=False),
        Binding("pageup", "scroll_page(-1)", "scroll", show=False),
    ]
    AUTO_FOCUS = "#heat"

    body = query_one("#figures-body", VerticalScroll)
    heat = query_one(HeatMap)
    day = query_one("#day", PlainText)

    class Counted(Answer[Activity]):
        """What happened on which day."""

    class Summed(Answer[Usage]):
        """Tokens and costs of a period."""

    def __init__(self, access: Access, now: float, *, demo: bool = False) -> None:
        super().__init__()
        self.access = access
        self._now = now
        self._heading = f" Figures  {'demo' if demo else short_path(access.place)}"
        self._period = 1
        self._activity: Activity | None = None
        self._usage: Usage | None = None

    def compose(self) -> ComposeResult:
        yield PlainText(self._heading, id="figures-title")
        with VerticalScroll(id="figures-body", can_focus=False):
            yield HeatMap(datetime.fromtimestamp(self._now).date(), id="heat")
            yield PlainText("", id="legend")
            yield PlainText("Counting …", id="day")
            with Container(id="columns"):
                yield PlainText("", id="overview")
                yield PlainText("", id="usage")
            yield PlainText("", id="figures-notes")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        self.query_one(StatusBar).show(
            [
                ("⏎", "show day"),
                ("←↑↓→", "day"),
                ("- +", "period"),
                ("PgDn", "scroll"),
                ("Esc", "close"),
            ]
        )
        self.access.ask(
            self, self.Counted, lambda store, stop: store.upkeep.activity(self._now, stop)
        )
        self._sum()

    def _sum(self) -> None:
        days, _ = PERIODS[self._period]
        self.access.ask(
            self, self.Summed, lambda store, _: store.upkeep.usage(days=days, now=self._now)
        )

    # -- answers ---------------------------------------------------------------------------

    def on_figures_screen_counted(self, event: Counted) -> None:
        event.stop()
        self._activity = found = event.value
        if not found.sessions:
            self._show_instead(page.EMPTY)
            return
        self.heat.show({day: each.messages for day, each in found.days.items()})
        self.query_one("#figures-notes", PlainText).update(page.NOTES)
        self._show()

    def on_figures_screen_summed(self, event: Summed) -> None:
        event.stop()
        if not event.stale:
            self._usage = event.value
            self._show()

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if event.stale:
            return
        missing = isinstance(event.error, DatabaseMissing)
        self._show_instead(page.EMPTY if missing else str(event.error))

    def _show_instead(self, text: str) -> None:
        """Show a text in place of the figures."""
        for each in ("#heat", "#legend", "#columns"):
            self.query_one(each).display = False
        self.day.update(text)
        self.day.add_class("instead")
        self.query_one(StatusBar).show([("Esc", "close")])

    # -- showing ---------------------------------------------------------------------------

    def _show(self) -> None:
        """Show what is known, in the room there is."""
        room = self.heat.size.width
        column = (room - BETWEEN) // 2 if self.size.width >= WIDE else room
        if self._activity is not None and self._activity.sessions:
            found = self._activity
            legend = page.legend(found, self.heat.first, room - LABEL)
            self.query_one("#legend", PlainText).update(legend)
            self.query_one("#overview", PlainText).update(page.overview(found, column))
            self._show_day(self.heat.day)
        if self._usage is not None:
            _, period = PERIODS[self._period]
            usage = page.usage(self._usage, period, "- shorter, + longer", column)
            self.query_one("#usage", PlainText).update(usage)

    @on(events.Resize)
    def _resized(self) -> None:
        # The room for the figures is known once everything has been laid out.
        self.call_after_refresh(self._show)

    @on(HeatMap.Moved)
    def _moved(self, event: HeatMap.Moved) -> None:
        event.stop()
        self.body.scroll_home(animate=False)
        self._show_day(event.day)

    def _show_day(self, day: date) -> None:
        if self._activity is not None:
            width = self.heat.size.width - LABEL
            self.day.update(page.day_lines(day, self._activity.days.get(day), width))

    # -- actions ---------------------------------------------------------------------------

    @on(HeatMap.Chosen)
    def _chosen(self, event: HeatMap.Chosen) -> None:
        event.stop()
        known = self._activity.days.get(event.day) if self._activity is not None else None
        if known is not None and known.messages:
            self.dismiss(event.day)

    def action_period(self, step: int) -> None:
        """Show tokens and costs of a shorter or longer period."""
        self._period = max(0, min(self._period + step, len(PERIODS) - 1))
        self._sum()

    def action_scroll_page(self, direction: int) -> None:
        if direction > 0:
            self.body.scroll_page_down(animate=False)
        else:
            self.body.scroll_page_up(animate=False)

    def action_close(self) -> None:
        self.dismiss(None)
