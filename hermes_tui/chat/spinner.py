"""The line that shows that an answer is coming: how long it takes, how long it is, what stops it.

Everything in it follows from the clock and from what has arrived, so that a still clock shows a
still line.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from hermes_store.records.safe_text import clean, one_line
from hermes_tui.presentation.fit_text import cell_width, fit
from hermes_tui.presentation.numbers import plural

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PER_SECOND = 10
LEAST_REMARK = 12
"""Columns below which a remark is left out."""


class Spinner(Widget):
    """Shown only while an answer is coming."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._remark = ""
        self._clock = clock
        self._since = 0.0
        self._tokens: Callable[[], tuple[int, bool]] = lambda: (0, True)
        self._turning: Timer | None = None

    def on_mount(self) -> None:
        self.display = False
        self._turning = self.set_interval(1 / PER_SECOND, self.refresh, pause=True)

    def start(self, tokens: Callable[[], tuple[int, bool]]) -> None:
        """Begin; `tokens` returns how many have arrived, and whether they were counted exactly."""
        self._remark, self._since, self._tokens = "", self._clock(), tokens
        self.display = True
        if self._turning is not None:
            self._turning.resume()

    def say(self, remark: str) -> None:
        """Show what the model is doing, such as thinking."""
        self._remark = remark
        self.refresh()

    def stop(self) -> None:
        """Vanish."""
        self.display = False
        if self._turning is not None:
            self._turning.pause()

    def render(self) -> Content:
        """Show the line; a remark gets the room that is left."""
        seconds = max(0.0, self._clock() - self._since)
        sign = FRAMES[int(seconds * PER_SECOND) % len(FRAMES)]
        facts = [_duration(int(seconds)), _amount(*self._tokens()), "Esc stops"]
        rest = " · ".join(fact for fact in facts if fact)
        remark = clean(one_line(self._remark))
        room = self.size.width - cell_width(rest) - 5
        if remark and room >= LEAST_REMARK:
            rest = f"{fit(remark, room, pad=False)} · {rest}"
        return Content.assemble((sign, "$accent bold"), (f" {rest}", "$foreground-muted"))


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def _amount(tokens: int, exact: bool) -> str:
    if not tokens:
        return ""
    return f"{'' if exact else '≈'}{plural(tokens, 'token')}"
