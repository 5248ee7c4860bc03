"""The transcript: moving, opening, copying, matches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from textual import events
from textual.message import Message as TextualMessage

from hermes_tui.actions import Scope, bindings
from hermes_tui.transcript.page import TranscriptPage


class Transcript(TranscriptPage):
    """The messages of a conversation, one of which is current."""

    BINDINGS = bindings(Scope.TRANSCRIPT, Scope.MOVE)
    ALLOW_SELECT = False

    @dataclass
    class Copied(TextualMessage):
        """The user asked to copy a message."""

        text: str

    # -- keys and mouse --------------------------------------------------------------------

    def _scroll_lines(self, lines: int) -> None:
        top = max(0, min(round(self.scroll_y) + lines, self._heights.total - self.size.height))
        self.scroll_to(y=top, animate=False, immediate=True)
        self._measure()

    def _step(self, direction: int) -> None:
        """Go to the next message; scroll inside one that is taller than the screen."""
        if not self._heights:
            return
        top, bottom = round(self.scroll_y), round(self.scroll_y) + self.size.height
        begin, end = self._heights.top(self.cursor), self._heights.top(self.cursor + 1)
        if direction > 0 and begin < bottom < end:
            self._scroll_lines(3)
            return
        if direction < 0 and begin < top < end:
            self._scroll_lines(-3)
            return
        self.cursor = max(0, min(self.cursor + direction, len(self._heights) - 1))
        self._true_height(self.cursor)
        begin, end = self._heights.top(self.cursor), self._heights.top(self.cursor + 1)
        if begin < top:
            self._scroll_lines((max(begin, end - self.size.height)) - top)
        elif end > bottom:
            self._scroll_lines(min(begin - top, end - bottom))
        self.refresh()

    def _page(self, direction: int) -> None:
        self._scroll_lines(direction * max(1, self.size.height - 2))
        self.cursor = self._heights.at(round(self.scroll_y) + self.size.height // 4)
        self.refresh()

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
        if self.outline is None or not self.outline.message_ids:
            return
        message_id = self.outline.message_ids[self.cursor]
        self._opened ^= {message_id}
        self._strips.discard(message_id)
        self._anchor = (self.cursor, self._heights.top(self.cursor) - round(self.scroll_y))
        self._measure()
        self.refresh()

    def action_open_all(self) -> None:
        self._all_opened = not self._all_opened
        self._opened.clear()
        self._strips.clear()
        self._measure()
        self.refresh()

    def action_copy(self) -> None:
        if self.message is not None:
            self.post_message(self.Copied(self.message.text))

    def action_follow(self) -> None:
        self.following = not self.following
        if self.following:
            self.action_last()

    def next_match(self, direction: int) -> tuple[int, int] | None:
        """Go to the next match; return its number and the total."""
        places = sorted(self._places[each] for each in self._matches if each in self._places)
        if not places:
            return None
        if direction > 0:
            index = bisect_right(places, self.cursor) % len(places)
        else:
            index = bisect_left(places, self.cursor) - 1
        self.go_to(places[index])
        return places.index(places[index]) + 1, len(places)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not self._heights:
            return
        self.cursor = self._heights.at(round(self.scroll_y) + offset.y)
        self.refresh()
        if event.chain == 2:
            self.action_open()
