"""A whole conversation on screen: what is drawn, and where one is in it.

Whenever a guessed height turns out wrong, the message at the anchor stays where it is on screen
and everything else moves around it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.geometry import Region, Size
from textual.message import Message as TextualMessage
from textual.selection import Selection
from textual.strip import Strip

from hermes_store.records.message import Message
from hermes_store.records.transcript import Outline
from hermes_tui.presentation.laid_out import Look
from hermes_tui.transcript import parts, selecting
from hermes_tui.transcript.layout import Layout
from hermes_tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

AHEAD = 20
"""Messages that are read before they come into sight."""


class MessageView(LineView):
    """The messages of a conversation, one of which is current."""

    class Moved(TextualMessage, namespace="transcript"):
        """Another message is current or in sight."""

    @dataclass
    class MessagesWanted(TextualMessage, namespace="transcript"):
        """Messages came into sight that have not been read yet."""

        ids: tuple[int, ...]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.laid_out = Layout(self._look)
        self.following = False
        self.cursor = 0
        self.block = -1
        """The number of the current code block among those of the current message; -1 for none."""
        self.held = (0, 0)
        """A place and the row of the screen that its message begins on."""
        self._was_at_end, self._sized = False, Size(0, 0)
        """Whether the end of the last message was in sight, in which size."""
        self._end_wanted = False
        """Whether to show the end as soon as there is room to show it in."""
        self._place_wanted = False
        """Whether to show the current message then."""
        self._laid_out_for = (0, "")

    @property
    def outline(self) -> Outline | None:
        """The ids of the messages shown."""
        return self.laid_out.outline

    @property
    def in_sight(self) -> int:
        """The place of the current message, or else of the first one on screen."""
        heights, top = self.laid_out.heights, round(self.scroll_y)
        if not heights:
            return 0
        first, last = heights.at(top), heights.at(top + max(0, self.size.height - 1))
        return self.cursor if first <= self.cursor <= last else first

    @property
    def message(self) -> Message | None:
        """The current message, if it has been read."""
        return self.laid_out.message(self.cursor)

    # -- content ---------------------------------------------------------------------------

    def clear(self) -> None:
        self.laid_out.clear()
        self._forget_lines()
        self.virtual_size = Size(0, 0)
        self.refresh()

    def show(
        self,
        outline: Outline,
        messages: Iterable[Message],
        *,
        matches: array[int],
        spans: Spans | None,
        focus: int | None,
    ) -> None:
        """Show a conversation from a message on, or its end."""
        self.laid_out.show(outline, matches, spans)
        self._forget_lines()
        self.provide(messages)
        place = self.laid_out.place(focus)
        if place is None:
            self.to_end()
        else:
            self.go_to_match(place)

    def grow(self, outline: Outline, messages: Iterable[Message] = ()) -> None:
        """Take a longer form of the same conversation; at the end, or following, stay there.

        Messages that come with it are there at once instead of after a blank moment.
        """
        if self.outline is None:
            return
        stay = self.following or self.is_at_end()
        at_last = self._is_last(self.cursor)
        grown = self.laid_out.grow(outline)
        self.laid_out.take(messages)  # once their places are known: results belong to calls
        if not grown:
            self.to_end()
            return
        self.cursor = max(0, min(self.cursor, len(outline.message_ids) - 1))
        self.measure()
        if stay:
            self.to_end(mark=self.following or at_last)  # a match stays current
        self.refresh()

    def show_draft(self, draft: Message | None) -> None:
        """Show a message at the end that is still being written; None removes it."""
        if self.outline is None:
            return
        changed = self.laid_out.with_draft(draft)
        if changed is not None:
            self.grow(changed)
        elif draft is not None and self.is_at_end():
            self.to_end()
        elif draft is not None:
            self.measure()
            self.refresh()

    def provide(self, messages: Iterable[Message]) -> None:
        """Take messages that were asked for; at the end, stay there."""
        stay = self.is_at_end()
        self.laid_out.take(messages)
        self.cursor = self.place_shown(self.cursor)
        if stay:
            self.to_end(mark=False)
        self.measure()
        self.refresh()

    # -- layout ----------------------------------------------------------------------------

    def _look(self, opened: bool, spans: Spans | None) -> Look:
        theme = self.app.current_theme
        width = self.line_width - 1
        return Look(width, opened, theme.dark, self.named_style, spans, theme.ansi)

    def _forget_lines(self) -> None:
        self.laid_out.forget_lines()
        self._laid_out_for = (self.size.width, self.app.theme)

    def measure(self) -> None:
        """Find the true heights around the anchor, and scroll so that it stays where it is."""
        if self.outline is None:
            return
        heights = self.laid_out.heights
        if not heights or not self.size.width:
            self.virtual_size = Size(0, 0)
            return
        place, row = min(self.held[0], len(heights) - 1), self.held[1]
        self.laid_out.measure(place, row, self.size.height)
        self.virtual_size = Size(0, heights.total)
        wanted = max(0, min(heights.top(place) - row, heights.total - self.size.height))
        self.set_reactive(LineView.scroll_target_y, float(wanted))
        self.scroll_y = float(wanted)
        self._note_end()

    def _note_end(self) -> None:
        """Note whether the end is read, unless another size has just taken it out of sight."""
        if self._sized == self.size:
            self._was_at_end = self._is_last(self.cursor) and self.is_at_end()

    def _is_last(self, place: int) -> bool:
        return place >= self.place_shown(max(0, len(self.laid_out.heights) - 1), -1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the first message on screen as the anchor."""
        super().watch_scroll_y(old_value, new_value)
        if self.laid_out.heights:
            top = round(new_value)
            place = self.laid_out.heights.at(top)
            self.held = (place, self.laid_out.heights.top(place) - top)
        self._note_end()
        self.post_message(self.Moved())

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Put the bar where the text is: Textual moves only one that is there already."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def on_resize(self) -> None:
        if self._laid_out_for[0] != self.size.width:
            self._forget_lines()
        self._sized = self.size
        if self._end_wanted:
            self.to_end()
        elif self._was_at_end:
            self.to_end(mark=False)
        elif self._place_wanted:
            self.go_to_match(self.cursor)
        else:
            self.measure()

    # -- drawing ---------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lay out what is on screen, and ask for what has not been read."""
        if self._laid_out_for != (self.size.width, self.app.theme):
            self._forget_lines()
            self.measure()
        self._ask()
        return super().render_lines(crop)

    def _ask(self) -> None:
        heights = self.laid_out.heights
        if self.outline is None or not heights:
            return
        top = round(self.scroll_y)
        missing = self.laid_out.missing(
            heights.at(top) - AHEAD, heights.at(top + self.size.height) + AHEAD + 1
        )
        if missing:
            self.post_message(self.MessagesWanted(missing))

    def render_line(self, y: int) -> Strip:
        width, line = self.line_width, round(self.scroll_y) + y
        base = self.named_style("")
        strip = self._line(line).apply_style(base).adjust_cell_length(width, base)
        if self.text_selection is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            strip = selecting.highlighted(strip, self.text_selection, line, style)
        return strip.apply_offsets(0, line)

    def _line(self, line: int) -> Strip:
        """Return a line of the conversation, with the bar before the current message."""
        heights = self.laid_out.heights
        if self.outline is None or line >= heights.total:
            return Strip([])
        place = heights.at(line)
        lines = self.laid_out.lines(place)
        offset = line - heights.top(place)
        if lines is None or offset >= len(lines):
            return Strip([])
        current = place == self.cursor and self.has_focus and self._is_current(offset)
        bar = self.strip([("▌" if current else " ", "bar")], 1)
        return Strip.join([bar, lines[offset]])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that was selected with the mouse."""
        total = self.laid_out.heights.total
        # The first column may show the cursor, which nobody wants to copy.
        return selecting.text(selection, total, lambda line: f" {self._line(line).text[1:]}"), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _is_current(self, offset: int) -> bool:
        """Tell whether a line of the current message belongs to the current block, if any."""
        if self.block < 0:
            return True
        found = parts.blocks(self.laid_out, self.cursor)
        if self.block >= len(found):
            return True
        mark = found[self.block]
        return mark.first <= offset < mark.first + mark.count

    # -- moving ----------------------------------------------------------------------------

    def is_at_end(self) -> bool:
        """Tell whether the end is in sight."""
        heights = self.laid_out.heights
        return not heights or round(self.scroll_y) + self.size.height >= heights.total - 1

    def mark(self, place: int, block: int = -1) -> None:
        """Make a message current, or a block of it."""
        self.cursor, self.block = place, block
        self.refresh()
        self.post_message(self.Moved())

    def place_shown(self, place: int, direction: int = 1) -> int:
        """Return the nearest message that takes lines; any does while there is no room for them."""
        return self.laid_out.visible(place, direction) if self.size.width else place

    def go_to(self, place: int, line: int = 0) -> None:
        """Make a message current and show a line of it in the upper middle of the screen."""
        self.mark(self.place_shown(place))
        self._end_wanted, self._place_wanted = False, not self.size.width
        self.held = (self.cursor, self.size.height // 4 - line)
        self.measure()

    def go_to_match(self, place: int) -> None:
        """Go to a message; where its match is too far down to be seen, to the match."""
        place = self.place_shown(place)
        line = self.laid_out.match_line(place)
        self.go_to(place, line if line >= self.size.height // 2 else 0)

    def to_end(self, *, mark: bool = True) -> None:
        """Go to the end, where the last message becomes current unless another is to stay so."""
        heights = self.laid_out.heights
        last = max(0, len(heights) - 1)
        if mark:
            self.mark(self.place_shown(last, -1))
        # Twice: the first pass finds out how tall the last message is.
        for _ in range(2):
            self.held = (last, self.size.height - (heights[last] if heights else 0))
            self.measure()
        self._end_wanted, self._place_wanted = not self.size.height, False
        self.refresh()

    def scroll_lines(self, lines: int) -> None:
        end = self.laid_out.heights.total - self.size.height
        top = max(0, min(round(self.scroll_y) + lines, end))
        self.scroll_to(y=top, animate=False, immediate=True)
        self.measure()
