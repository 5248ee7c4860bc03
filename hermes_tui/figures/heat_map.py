"""A year of days as a heat map: one column for each week, one row for each weekday."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from hermes_store.records.statistics import WEEKDAYS
from hermes_tui.presentation.charts import HEAT, heat_levels

WEEKS = 53
DAYS = 7
LABEL = 4
"""Columns for the names of weekdays."""
WEEK = timedelta(weeks=1)
DAY = timedelta(days=1)
MARK, MARK_NOTHING = "◆", "◇"
"""The current day, with and without messages: seen without colors too."""


class HeatMap(Widget, can_focus=True):
    """Shows how much there was on each day; one of them is current."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-7)", "week before", show=False),
        Binding("right,l", "move(7)", "week after", show=False),
        Binding("up,k", "move(-1)", "day before", show=False),
        Binding("down,j", "move(1)", "day after", show=False),
        Binding("home", "first", "oldest day", show=False),
        Binding("end", "last", "today", show=False),
        Binding("enter", "choose", "show the day", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "heat--label",
        "heat--here",
        *(f"heat--{level}" for level in range(len(HEAT))),
    }

    day: reactive[date] = reactive(date.min, init=False)
    """The current day."""

    @dataclass
    class Moved(Message):
        """Another day is current."""

        day: date

    @dataclass
    class Chosen(Message):
        """A day was chosen with Enter or a double click."""

        day: date

    def __init__(self, today: date, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.today = today
        self.first = today - DAY * today.weekday() - WEEK * (WEEKS - 1)
        self._levels: Mapping[date, int] = {}
        self.set_reactive(HeatMap.day, today)

    def show(self, numbers: Mapping[date, int]) -> None:
        """Show a number for each day."""
        shown = {day: n for day, n in numbers.items() if self.first <= day <= self.today}
        self._levels = heat_levels(shown)
        self.refresh()

    # -- room ------------------------------------------------------------------------------

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 + DAYS

    @property
    def cell(self) -> int:
        """Columns of a week: two where there is room for a whole year of them."""
        return 2 if self.size.width >= LABEL + 2 * WEEKS else 1

    @property
    def weeks(self) -> range:
        """The weeks that fit: the newest, or those up to the current day."""
        number = max(1, min(WEEKS, (self.size.width - LABEL) // self.cell))
        start = min(WEEKS - number, (self.day - self.first).days // DAYS)
        return range(start, start + number)

    # -- drawing ---------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.visual_style.rich_style
        if y > DAYS:
            return Strip.blank(width, base)
        segments = self._months() if y == 0 else self._weekday(y - 1)
        return Strip(segments).adjust_cell_length(width, base)

    def _months(self) -> list[Segment]:
        """Name each month above the week of its first day, where there is room."""
        line = " " * LABEL
        for place, week in enumerate(self.weeks):
            last = self.first + WEEK * week + DAY * (DAYS - 1)
            column = LABEL + place * self.cell
            fits = column + 3 <= LABEL + len(self.weeks) * self.cell
            if last.day <= DAYS and len(line) <= column and fits:
                line = f"{line:<{column}}{last:%b} "
        return [Segment(line, self.get_component_rich_style("heat--label"))]

    def _weekday(self, weekday: int) -> list[Segment]:
        own = self.day.weekday() == weekday
        label = self.get_component_rich_style("heat--here" if own else "heat--label")
        segments = [Segment(f"{WEEKDAYS[weekday]:<{LABEL}}", label)]
        for week in self.weeks:
            day = self.first + WEEK * week + DAY * weekday
            level = self._levels.get(day, 0)
            here = day == self.day
            sign = (MARK if level else MARK_NOTHING) if here else HEAT[level]
            if day > self.today:
                sign = " "
            style = self.get_component_rich_style("heat--here" if here else f"heat--{level}")
            segments.append(Segment(f"{sign:<{self.cell}}", style))
        return segments

    # -- moving ----------------------------------------------------------------------------

    def validate_day(self, day: date) -> date:
        """Stay within the year that is shown."""
        return max(self.first, min(day, self.today))

    def watch_day(self, day: date) -> None:
        self.refresh()
        self.post_message(self.Moved(day))

    def action_move(self, days: int) -> None:
        wanted = self.day + DAY * days
        if self.first <= wanted <= self.today or abs(days) == 1:
            self.day = wanted

    def action_first(self) -> None:
        self.day = self.first

    def action_last(self) -> None:
        self.day = self.today

    def action_choose(self) -> None:
        self.post_message(self.Chosen(self.day))

    def on_click(self, event: events.Click) -> None:
        """Go to a day; show it with a double click."""
        offset = event.get_content_offset(self)
        if offset is None or not 1 <= offset.y <= DAYS or offset.x < LABEL:
            return
        place = (offset.x - LABEL) // self.cell
        if place >= len(self.weeks):
            return
        day = self.first + WEEK * self.weeks[place] + DAY * (offset.y - 1)
        if day <= self.today:
            self.day = day
            if event.chain == 2:
                self.action_choose()
