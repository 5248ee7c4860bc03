"""The base of all views that draw line by line, whatever their length."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_store.records.safe_text import clean_line
from hermes_tui.presentation.styled_line import Piece

STYLES = [
    "title",
    "untitled",
    "dim",
    "age",
    "source",
    "place",
    "count",
    "size",
    "mark",
    "tag",
    "live",
    "interrupted",
    "error",
    "empty",
    "tree",
    "edge",
    "heading",
    "snippet",
    "match",
    "cursor",
    "cursor-idle",
    "cursor-bar",
    "you",
    "hermes",
    "tool",
    "thought",
    "note",
    "bar",
    "code",
    "code-name",
    "inline-code",
    "added",
    "removed",
]


class LineView(ScrollView, can_focus=True):
    """Draws lines made of pieces; the styles of the pieces come from the style sheet.

    Their names are in `STYLES`. The application has them as component classes `line--NAME`: one
    set for all views, because a set per view would make startup take half as long again.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._named: dict[tuple[str, str], Style] = {}

    def notify_style_update(self) -> None:
        self._named.clear()
        super().notify_style_update()

    @property
    def line_width(self) -> int:
        """Columns of a line, without the scroll bar."""
        return self.scrollable_content_region.width

    def named_style(self, name: str, over: str = "") -> Style:
        """Return a style by name, over another one; an empty name is the widget's own style."""
        found = self._named.get((name, over))
        if found is None:
            found = self._named[name, over] = self._mixed(name, over)
        return found

    def _mixed(self, name: str, over: str) -> Style:
        _, _, background, color = self.colors
        text = Style.null()
        for each in filter(None, (over, name)):
            styles = self.app.get_component_styles(f"line--{each}")
            if styles.has_rule("background"):
                background += styles.background
            if styles.has_rule("color"):
                color = styles.color
            text += styles.text_style
        if over and self.app.current_theme.ansi:
            # With the terminal's own colors a background does not show; reversed text does.
            text += Style(reverse=True)
        return Style(bgcolor=background.rich_color, color=(background + color).rich_color) + text

    def strip(self, pieces: Sequence[Piece], width: int, over: str = "") -> Strip:
        """Return a line as a strip of an exact width; `over` is the style below all of it."""
        segments = [
            Segment(clean_line(text), self.named_style(style, over))
            for text, style in pieces
            if text
        ]
        return Strip(segments).adjust_cell_length(width, self.named_style("", over))
