"""A whole conversation of any length; only what is on screen is laid out.

Heights of messages that were never on screen are guesses. When a guess turns out wrong, the
message at the anchor stays where it is on screen and everything else moves around it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.geometry import Region, Size
from textual.message import Message as TextualMessage
from textual.strip import Strip

from hermes_store.records.message import Message
from hermes_store.records.transcript import Outline
from hermes_store.records.transcript import Segment as Session
from hermes_tui.presentation import messages as blocks
from hermes_tui.widgets.cache import Recent
from hermes_tui.widgets.heights import Heights
from hermes_tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

GUESS = 5
"""Assumed lines of a message until it is laid out."""
DRAFT = -1
"""The id of a message that is not in the database yet."""
AHEAD = 20
"""Messages read before they scroll into view."""


@dataclass
class MessagesWanted(TextualMessage):
    """Messages on screen have not been read yet."""

    ids: tuple[int, ...]


class TranscriptPage(LineView):
    """The layout of a transcript; `Transcript` adds keys and mouse."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.outline: Outline | None = None
        self.following = False
        self.cursor = 0
        self._spans: Spans | None = None
        self._matches: array[int] = array("q")
        self._places: dict[int, int] = {}
        self._segments: dict[int, Session] = {}
        self._messages: Recent[int, Message] = Recent(1_000)
        self._strips: Recent[int, list[Strip]] = Recent(300)
        self._heights = Heights(GUESS)
        self._opened: set[int] = set()
        self._all_opened = False
        self._asked: set[int] = set()
        self._anchor = (0, 0)
        """A place and the screen line its message starts on."""
        self._end_wanted = False
        """Whether to show the end once the widget has a size."""
        self._laid_out_for = (0, "")

    # -- content ---------------------------------------------------------------------------

    def clear(self) -> None:
        """Show nothing."""
        self.outline = None
        self._heights.reset(0)
        self._messages.clear()
        self._forget_layout()
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
        """Show a conversation at a message, or at its end."""
        same = self.outline is not None and self.outline.root_id == outline.root_id
        if not same:
            self._messages.clear()
            self._opened.clear()
            self._all_opened = False
        self.outline = outline
        self._spans, self._matches = spans, matches
        self._asked.clear()
        self._index(outline)
        self._forget_layout()
        self._heights.reset(len(outline.message_ids))
        self.provide(messages)
        if focus is not None and focus in self._places:
            self.go_to(self._places[focus])
        else:
            self.to_end()

    def _index(self, outline: Outline) -> None:
        self._places = {each: place for place, each in enumerate(outline.message_ids)}
        self._segments = {
            segment.first: segment for segment in outline.segments if segment.first > 0
        }

    def grow(self, outline: Outline, messages: Iterable[Message] = ()) -> None:
        """Take a longer version of the same conversation; at the end, or following, stay there.

        Messages passed along show at once instead of after a blank moment.
        """
        if self.outline is None:
            return
        for message in messages:
            self._messages[message.id] = message
        stay = self.following or self.is_at_end()
        added = len(outline.message_ids) - len(self._heights)
        if added < -1:
            self.show(outline, (), matches=self._matches, spans=self._spans, focus=None)
            return
        self._heights.resize(len(outline.message_ids))
        self.cursor = max(0, min(self.cursor, len(outline.message_ids) - 1))
        self.outline = outline
        self._index(outline)
        self._measure()
        if stay:
            self.to_end()
        self.refresh()

    def show_draft(self, draft: Message | None) -> None:
        """Show a message that is still being written at the end; None removes it."""
        if self.outline is None:
            return
        ids = self.outline.message_ids
        there = bool(ids) and ids[-1] == DRAFT
        if draft is None:
            if there:
                self.grow(replace(self.outline, message_ids=ids[:-1]))
            return
        self._messages[DRAFT] = replace(draft, id=DRAFT)
        self._strips.discard(DRAFT)
        if not there:
            self.grow(replace(self.outline, message_ids=ids + array("q", [DRAFT])))
        elif self.is_at_end():
            self.to_end()
        else:
            self._measure()
            self.refresh()

    def provide(self, messages: Iterable[Message]) -> None:
        """Take requested messages; at the end, stay there."""
        stay = self.is_at_end()
        for message in messages:
            self._messages[message.id] = message
            self._asked.discard(message.id)
            self._strips.discard(message.id)
        if stay:
            self.to_end(mark=False)
        self._measure()
        self.refresh()

    @property
    def message(self) -> Message | None:
        """The current message, if it has been read."""
        if self.outline is None or not self.outline.message_ids:
            return None
        return self._messages.get(self.outline.message_ids[self.cursor])

    # -- layout ----------------------------------------------------------------------------

    def _forget_layout(self) -> None:
        self._strips.clear()
        self._laid_out_for = (self.size.width, self.app.theme)

    def _look(self, place: int) -> blocks.Look:
        assert self.outline is not None
        opened = self._all_opened or self.outline.message_ids[place] in self._opened
        return blocks.Look(
            self.line_width - 1,
            opened,
            self.app.current_theme.dark,
            self.named_style,
            self._spans,
        )

    def _lines(self, place: int) -> list[Strip] | None:
        """Return the laid-out message at a place; None if it has not been read."""
        assert self.outline is not None
        message_id = self.outline.message_ids[place]
        if message_id not in self._strips:
            message = self._messages.get(message_id)
            if message is None:
                return None
            self._strips[message_id] = blocks.lay_out(
                message, self._look(place), self._segments.get(place)
            )
        return self._strips[message_id]

    def _measure(self) -> None:
        """Find the true heights around the anchor, and scroll to match.

        A screen above and below is measured too: paging by guesses would skip lines.
        """
        if self.outline is None:
            return
        place, row = self._anchor
        count, height = len(self._heights), self.size.height
        if not count or not self.size.width:
            self.virtual_size = Size(0, 0)
            return
        place = min(place, count - 1)
        top = row
        for index in range(place, count):
            if top >= 2 * height:
                break
            top += self._true_height(index)
        top = row
        for index in range(place - 1, -1, -1):
            if top <= -height:
                break
            top -= self._true_height(index)
        self._heights.settle()
        self.virtual_size = Size(0, self._heights.total)
        wanted = max(0, min(self._heights.top(place) - row, self._heights.total - height))
        self.set_reactive(LineView.scroll_target_y, float(wanted))
        self.scroll_y = float(wanted)

    def _true_height(self, index: int) -> int:
        lines = self._lines(index)
        if lines is not None:
            self._heights[index] = len(lines)
        return self._heights[index]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the first message on screen as the anchor."""
        super().watch_scroll_y(old_value, new_value)
        if self._heights:
            top = round(new_value)
            place = self._heights.at(top)
            self._anchor = (place, self._heights.top(place) - top)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Position a new scroll bar: Textual moves only one that is already shown."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def is_at_end(self) -> bool:
        """Return whether the end is visible."""
        return (
            not self._heights or round(self.scroll_y) + self.size.height >= self._heights.total - 1
        )

    def go_to(self, place: int) -> None:
        """Move the cursor to a message and scroll it to the upper part of the screen."""
        self.cursor = place
        self._end_wanted = False
        self._anchor = (place, self.size.height // 4)
        self._measure()
        self.refresh()

    # -- drawing ---------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._laid_out_for != (self.size.width, self.app.theme):
            self._forget_layout()
            self._measure()
        self._ask()
        return super().render_lines(crop)

    def _ask(self) -> None:
        if self.outline is None or not self._heights:
            return
        top = round(self.scroll_y)
        first = max(0, self._heights.at(top) - AHEAD)
        last = min(len(self._heights), self._heights.at(top + self.size.height) + AHEAD + 1)
        ids = self.outline.message_ids[first:last]
        missing = [each for each in ids if each not in self._messages and each not in self._asked]
        if missing:
            self._asked.update(missing)
            self.post_message(MessagesWanted(tuple(missing)))

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        line = round(self.scroll_y) + y
        base = self.named_style("")
        if self.outline is None or line >= self._heights.total:
            return Strip.blank(width, base)
        place = self._heights.at(line)
        lines = self._lines(place)
        offset = line - self._heights.top(place)
        if lines is None or offset >= len(lines):
            return Strip.blank(width, base)
        marked = place == self.cursor and self.has_focus
        bar = self.strip([("▌" if marked else " ", "bar")], 1)
        return Strip.join([bar, lines[offset].apply_style(base)]).adjust_cell_length(width, base)

    def on_resize(self) -> None:
        if self._laid_out_for[0] != self.size.width:
            self._forget_layout()
        if self._end_wanted:
            self.to_end()
        else:
            self._measure()

    def to_end(self, *, mark: bool = True) -> None:
        """Scroll to the end; with `mark`, move the cursor to the last message."""
        last = max(0, len(self._heights) - 1)
        if mark:
            self.cursor = last
        # Twice: the first pass measures the last message.
        for _ in range(2):
            height = self._heights[last] if self._heights else 0
            self._anchor = (last, self.size.height - height)
            self._measure()
        self._end_wanted = not self.size.height
        self.refresh()
