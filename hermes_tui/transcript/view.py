"""A whole conversation on screen: scrolling, moving, opening, copying, matches.

Whenever a guessed height turns out wrong, the message at the anchor stays where it is on screen
and everything else moves around it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Region, Size
from textual.message import Message as TextualMessage
from textual.strip import Strip

from hermes_store.records.message import Message
from hermes_store.records.transcript import Outline
from hermes_tui.actions import Scope, bindings
from hermes_tui.presentation import messages as blocks
from hermes_tui.transcript.layout import Layout
from hermes_tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

AHEAD = 20
"""Messages that are read before they come into sight."""


class Transcript(LineView):
    """The messages of a conversation, one of which is current."""

    BINDINGS = bindings(Scope.TRANSCRIPT, Scope.MOVE)
    ALLOW_SELECT = False

    @dataclass
    class Copied(TextualMessage):
        """A message was copied."""

        text: str

    @dataclass
    class MessagesWanted(TextualMessage):
        """Messages came into sight that have not been read yet."""

        ids: tuple[int, ...]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.laid_out = Layout(self._look)
        self.following = False
        self.cursor = 0
        self._anchor = (0, 0)
        """A place and the row of the screen that its message begins on."""
        self._end_wanted = False
        """Whether to show the end as soon as there is room to show it in."""
        self._laid_out_for = (0, "")

    @property
    def outline(self) -> Outline | None:
        """The ids of the messages shown."""
        return self.laid_out.outline

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
            self.go_to(place)

    def grow(self, outline: Outline, messages: Iterable[Message] = ()) -> None:
        """Take a longer form of the same conversation; at the end, or following, stay there.

        Messages that come with it are there at once instead of after a blank moment.
        """
        if self.outline is None:
            return
        stay = self.following or self.is_at_end()
        self.laid_out.take(messages)
        if not self.laid_out.grow(outline):
            self.to_end()
            return
        self.cursor = max(0, min(self.cursor, len(outline.message_ids) - 1))
        self._measure()
        if stay:
            self.to_end()
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
            self._measure()
            self.refresh()

    def provide(self, messages: Iterable[Message]) -> None:
        """Take messages that were asked for; at the end, stay there."""
        stay = self.is_at_end()
        self.laid_out.take(messages)
        if stay:
            self.to_end(mark=False)
        self._measure()
        self.refresh()

    # -- layout ----------------------------------------------------------------------------

    def _look(self, opened: bool, spans: Spans | None) -> blocks.Look:
        dark = self.app.current_theme.dark
        return blocks.Look(self.line_width - 1, opened, dark, self.named_style, spans)

    def _forget_lines(self) -> None:
        self.laid_out.forget_lines()
        self._laid_out_for = (self.size.width, self.app.theme)

    def _measure(self) -> None:
        """Find the true heights around the anchor, and scroll so that it stays where it is."""
        if self.outline is None:
            return
        heights = self.laid_out.heights
        if not heights or not self.size.width:
            self.virtual_size = Size(0, 0)
            return
        place, row = min(self._anchor[0], len(heights) - 1), self._anchor[1]
        self.laid_out.measure(place, row, self.size.height)
        self.virtual_size = Size(0, heights.total)
        wanted = max(0, min(heights.top(place) - row, heights.total - self.size.height))
        self.set_reactive(LineView.scroll_target_y, float(wanted))
        self.scroll_y = float(wanted)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the first message on screen as the anchor."""
        super().watch_scroll_y(old_value, new_value)
        if self.laid_out.heights:
            top = round(new_value)
            place = self.laid_out.heights.at(top)
            self._anchor = (place, self.laid_out.heights.top(place) - top)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Put the bar where the text is: Textual moves only one that is there already."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def on_resize(self) -> None:
        if self._laid_out_for[0] != self.size.width:
            self._forget_lines()
        if self._end_wanted:
            self.to_end()
        else:
            self._measure()

    # -- drawing ---------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lay out what is on screen, and ask for what has not been read."""
        if self._laid_out_for != (self.size.width, self.app.theme):
            self._forget_lines()
            self._measure()
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
        width, heights = self.line_width, self.laid_out.heights
        line = round(self.scroll_y) + y
        base = self.named_style("")
        if self.outline is None or line >= heights.total:
            return Strip.blank(width, base)
        place = heights.at(line)
        lines = self.laid_out.lines(place)
        offset = line - heights.top(place)
        if lines is None or offset >= len(lines):
            return Strip.blank(width, base)
        current = place == self.cursor and self.has_focus
        bar = self.strip([("▌" if current else " ", "bar")], 1)
        return Strip.join([bar, lines[offset].apply_style(base)]).adjust_cell_length(width, base)

    # -- moving ----------------------------------------------------------------------------

    def is_at_end(self) -> bool:
        """Tell whether the end is in sight."""
        heights = self.laid_out.heights
        return not heights or round(self.scroll_y) + self.size.height >= heights.total - 1

    def go_to(self, place: int) -> None:
        """Make a message current and show it in the upper middle of the screen."""
        self.cursor = place
        self._end_wanted = False
        self._anchor = (place, self.size.height // 4)
        self._measure()
        self.refresh()

    def to_end(self, *, mark: bool = True) -> None:
        """Go to the end, where the last message becomes current unless another is to stay so."""
        heights = self.laid_out.heights
        last = max(0, len(heights) - 1)
        if mark:
            self.cursor = last
        # Twice: the first pass finds out how tall the last message is.
        for _ in range(2):
            self._anchor = (last, self.size.height - (heights[last] if heights else 0))
            self._measure()
        self._end_wanted = not self.size.height
        self.refresh()

    def _scroll_lines(self, lines: int) -> None:
        end = self.laid_out.heights.total - self.size.height
        top = max(0, min(round(self.scroll_y) + lines, end))
        self.scroll_to(y=top, animate=False, immediate=True)
        self._measure()

    def _step(self, direction: int) -> None:
        """Go to the next message; inside one that is taller than the screen, scroll."""
        heights = self.laid_out.heights
        if not heights:
            return
        top, bottom = round(self.scroll_y), round(self.scroll_y) + self.size.height
        begin, end = heights.top(self.cursor), heights.top(self.cursor + 1)
        if direction > 0 and begin < bottom < end:
            self._scroll_lines(3)
            return
        if direction < 0 and begin < top < end:
            self._scroll_lines(-3)
            return
        self.cursor = max(0, min(self.cursor + direction, len(heights) - 1))
        self.laid_out.height(self.cursor)
        begin, end = heights.top(self.cursor), heights.top(self.cursor + 1)
        if begin < top:
            self._scroll_lines((max(begin, end - self.size.height)) - top)
        elif end > bottom:
            self._scroll_lines(min(begin - top, end - bottom))
        self.refresh()

    def _page(self, direction: int) -> None:
        self._scroll_lines(direction * max(1, self.size.height - 2))
        self.cursor = self.laid_out.heights.at(round(self.scroll_y) + self.size.height // 4)
        self.refresh()

    def next_match(self, direction: int) -> tuple[int, int] | None:
        """Go to the next match; return its number and how many there are."""
        found = self.laid_out.next_match(self.cursor, direction)
        if found is None:
            return None
        place, number, count = found
        self.go_to(place)
        return number, count

    # -- keys and mouse --------------------------------------------------------------------

    def action_cursor_up(self) -> None:
        self._step(-1)

    def action_cursor_down(self) -> None:
        self._step(1)

    def action_page_up(self) -> None:
        self._page(-1)

    def action_page_down(self) -> None:
        self._page(1)

    def action_first(self) -> None:
        self.cursor = 0
        self._anchor = (0, 0)
        self._measure()
        self.refresh()

    def action_last(self) -> None:
        self.to_end()

    def action_open(self) -> None:
        """Open or fold the current message."""
        if self.laid_out.fold(self.cursor):
            top = self.laid_out.heights.top(self.cursor)
            self._anchor = (self.cursor, top - round(self.scroll_y))
            self._measure()
            self.refresh()

    def action_open_all(self) -> None:
        """Open or fold all messages."""
        self.laid_out.fold_all()
        self._measure()
        self.refresh()

    def action_copy(self) -> None:
        if self.message is not None:
            self.post_message(self.Copied(self.message.text))

    def action_follow(self) -> None:
        """Stay at the end, or stop doing so."""
        self.following = not self.following
        if self.following:
            self.action_last()

    def on_click(self, event: events.Click) -> None:
        """Make the clicked message current; open it on a double click."""
        offset = event.get_content_offset(self)
        if offset is None or not self.laid_out.heights:
            return
        self.cursor = self.laid_out.heights.at(round(self.scroll_y) + offset.y)
        self.refresh()
        if event.chain == 2:
            self.action_open()
