"""The keys and the mouse in a conversation: moving, opening, copying, matches, links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual import events
from textual.message import Message as TextualMessage

from hermes_store.records.message import Message
from hermes_tui.actions import Scope, bindings
from hermes_tui.presentation.laid_out import OPENS
from hermes_tui.transcript import parts
from hermes_tui.transcript.message_view import MessageView
from hermes_tui.transcript.parts import Spot, Unread
from hermes_tui.widgets.notice import Notice

FOLDED = ("tool", "thought")
"""Parts of a message that one click opens."""


class Transcript(MessageView):
    """A conversation to read."""

    BINDINGS = bindings(Scope.TRANSCRIPT, Scope.MOVE)

    @dataclass
    class Copied(TextualMessage):
        """A message, or a part of it, was copied."""

        text: str
        what: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._seeking = 0
        """The direction in which a code block is looked for while messages are read."""
        self._link = 0
        """How many links of the current message have been opened."""

    def provide(self, messages: Iterable[Message]) -> None:
        """Take messages that were asked for, and look for a code block in them if one is wanted."""
        super().provide(messages)
        if self._seeking:
            self._seek(self._seeking)

    def mark(self, place: int, block: int = -1) -> None:
        """Make a message current, or a block of it."""
        self._seeking = self._link = 0
        super().mark(place, block)

    # -- moving ----------------------------------------------------------------------------

    def _step(self, direction: int) -> None:
        """Go to the next message; inside one that is taller than the screen, scroll."""
        heights = self.laid_out.heights
        if not heights:
            return
        top, bottom = round(self.scroll_y), round(self.scroll_y) + self.size.height
        begin, end = heights.top(self.cursor), heights.top(self.cursor + 1)
        if direction > 0 and begin < bottom < end:
            self.scroll_lines(3)
            return
        if direction < 0 and begin < top < end:
            self.scroll_lines(-3)
            return
        next_one = max(0, min(self.cursor + direction, len(heights) - 1))
        self.mark(self.place_shown(next_one, direction))
        self._bring_into_sight()

    def _bring_into_sight(self) -> None:
        """Scroll to the current message, or to as much of it as there is room for."""
        heights = self.laid_out.heights
        top, bottom = round(self.scroll_y), round(self.scroll_y) + self.size.height
        begin, end = heights.top(self.cursor), heights.top(self.cursor + 1)
        if begin < top:
            self.scroll_lines((max(begin, end - self.size.height)) - top)
        elif end > bottom:
            self.scroll_lines(min(begin - top, end - bottom))
        self.refresh()

    def _page(self, direction: int) -> None:
        self.scroll_lines(direction * max(1, self.size.height - 2))
        self.mark(self.laid_out.heights.at(round(self.scroll_y) + self.size.height // 4))

    def next_match(self, direction: int) -> bool:
        """Go to the next match; tell whether there is one."""
        found = self.laid_out.next_match(self.cursor, direction)
        if found is not None:
            self.go_to_match(found)
        return found is not None

    def _seek(self, direction: int) -> None:
        """Go to the next code block; where messages have not been read, read them first."""
        found = parts.next_block(self.laid_out, Spot(self.cursor, self.block), direction)
        if isinstance(found, Unread):
            self._seeking = direction
            missing = self.laid_out.missing(found.first, found.last)
            if missing:
                self.post_message(self.MessagesWanted(missing))
        elif found is None:
            self._seeking = 0
            self.post_message(Notice(f"No code blocks further {_way(direction)}."))
        else:
            mark = parts.blocks(self.laid_out, found.place)[found.number]
            self.go_to(found.place, mark.first)
            self.mark(found.place, found.number)

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
        self.mark(self.place_shown(0))
        self.held = (0, 0)
        self.measure()
        self.refresh()

    def action_last(self) -> None:
        self.to_end()

    def action_open(self) -> None:
        """Open or fold the current message."""
        if self.laid_out.fold(self.cursor):
            top = self.laid_out.heights.top(self.cursor)
            self.held = (self.cursor, top - round(self.scroll_y))
            self.measure()
            self.refresh()
            self._bring_into_sight()

    def action_open_all(self) -> None:
        """Open or fold all messages."""
        self.laid_out.fold_all()
        self.measure()
        self.refresh()

    def action_copy(self) -> None:
        """Copy the current block or message; of a tool call, its command or diff."""
        if self.block >= 0:
            self.action_copy_block()
            return
        text, what = parts.to_copy(self.laid_out, self.cursor)
        if text:
            self.post_message(self.Copied(text, what))
        else:
            self.post_message(Notice("Nothing to copy."))

    def action_copy_block(self) -> None:
        """Copy the current code block, diff or output."""
        found = parts.block_to_copy(self.laid_out, Spot(self.cursor, self.block))
        if found is None:
            self.post_message(Notice("No code block in this message."))
        else:
            self.post_message(self.Copied(*found))

    def action_link(self) -> None:
        """Open the first link of the current message, then the next."""
        found = parts.links(self.message) if self.message is not None else []
        if not found:
            self.post_message(Notice("No link in this message."))
            return
        address = found[self._link % len(found)]
        self._link += 1
        self.app.open_url(address)
        self.post_message(Notice(f"Opened {address}"))

    def action_turn(self, direction: int) -> None:
        """Go to your next or previous message."""
        self._go_or_say(self.laid_out.turns.next_turn(self.cursor, direction), direction, "turns")

    def action_tool(self, direction: int) -> None:
        """Go to the next or previous tool call."""
        found = self.laid_out.turns.next_tool(self.cursor, direction)
        self._go_or_say(found, direction, "tool calls")

    def _go_or_say(self, place: int | None, direction: int, what: str) -> None:
        if place is None:
            self.post_message(Notice(f"No {what} further {_way(direction)}."))
        else:
            self.go_to(place)

    def action_block(self, direction: int) -> None:
        """Go to the next or previous code block or diff."""
        self._seek(direction)

    def action_follow(self) -> None:
        """Stay at the end, or stop doing so."""
        self.following = not self.following
        if self.following:
            self.action_last()

    def on_click(self, event: events.Click) -> None:
        """Make the clicked message current; open a tool call or thought, others on two clicks."""
        offset = event.get_content_offset(self)
        heights = self.laid_out.heights
        if offset is None or not heights or self.text_selection is not None:
            return
        line = round(self.scroll_y) + offset.y
        self.mark(heights.at(line))
        inside = line - heights.top(self.cursor)
        folds = [each for each in self.laid_out.marks(self.cursor) if each.kind in FOLDED]
        lines = self.laid_out.lines(self.cursor) or []
        more = inside < len(lines) and lines[inside].text.rstrip().endswith(OPENS)
        if event.chain == 2 or more or any(each.first == inside for each in folds):
            self.action_open()


def _way(direction: int) -> str:
    return "down" if direction > 0 else "up"
