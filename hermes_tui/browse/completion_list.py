"""The list of values that the field being typed may get, below the search field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from hermes_tui.presentation.fit_text import cell_width, plain
from hermes_tui.widgets.plain_text import PlainText

ROWS = 8


class CompletionList(PlainText):
    """Values with their numbers; one of them is current once somebody has moved to it."""

    def __init__(self) -> None:
        super().__init__("", id="completions")
        self.display = False
        self._choices: Sequence[tuple[str, int]] = ()
        self._labels: Mapping[str, str] = {}
        self._place = 0
        self.moved = False
        """Whether somebody chose with the arrow keys, so that Enter takes the current value."""

    @property
    def current(self) -> str | None:
        """The current value; None while there is no list."""
        return self._choices[self._place][0] if self.display else None

    def offer(
        self,
        choices: Sequence[tuple[str, int]],
        column: int,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Show values, and what they are called, below a column; hide the list without any."""
        self._labels = labels or {}
        self._choices, self._place, self.moved = choices, 0, False
        self.display = bool(choices)
        self.styles.offset = (column, 0)
        self._draw()

    def move(self, step: int) -> None:
        """Make the next or previous value current."""
        self._place = (self._place + step) % len(self._choices)
        self.moved = True
        self._draw()

    def _draw(self) -> None:
        first = max(0, min(self._place - ROWS // 2, len(self._choices) - ROWS))
        shown = self._choices[first : first + ROWS]
        names = [self._called(value) for value, _ in shown]
        wide = max(map(cell_width, names), default=0)
        lines: list[Content] = []
        for place, (text, (_, number)) in enumerate(zip(names, shown, strict=True), first):
            count = f"{number:,}" if number else ""
            line = f" {text}{' ' * (wide - cell_width(text))} {count:>6} "
            style = "bold reverse" if place == self._place else ""
            lines.append(Content.styled(line, style))
        left = len(self._choices) - first - len(shown)
        if left > 0:
            lines.append(Content.styled(f" … {left:,} more", "$foreground-muted"))
        self.update(Content("\n").join(lines))

    def _called(self, value: str) -> str:
        label = self._labels.get(value)
        return plain(value) if label is None else f"{plain(value)}  {plain(label)}"
