"""A list of any length that only builds the lines on screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from hermes_tui.actions import Scope, bindings
from hermes_tui.presentation.styled_line import Line
from hermes_tui.widgets.line_view import LineView


class VirtualList(LineView):
    """Items of equal height, one of which is current."""

    BINDINGS = bindings(Scope.MOVE, Scope.LISTS)

    cursor: reactive[int] = reactive(0)
    """The current item."""
    item_height: reactive[int] = reactive(1, layout=False)
    """Lines per item."""

    @dataclass
    class Moved(Message):
        """The current item has changed."""

        view: VirtualList
        index: int

        @property
        def control(self) -> VirtualList:
            return self.view

    @dataclass
    class Chosen(Message):
        """The current item was chosen with Enter or a double click."""

        view: VirtualList
        index: int

        @property
        def control(self) -> VirtualList:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._count = 0

    # -- for subclasses --------------------------------------------------------------------

    def item_line(self, index: int, line: int, width: int) -> Line:
        """Return one line of an item; empty unless a list says what its items look like."""
        return []

    def is_item(self, index: int) -> bool:
        """Return whether an item can be current; a heading cannot."""
        return True

    # -- items -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number of items."""
        return self._count

    def set_count(self, count: int) -> None:
        """Set the number of items; the cursor stays if it can."""
        self._count = count
        self._resize_content()
        self.cursor = self.nearest(min(self.cursor, count - 1))
        self.refresh()

    def _resize_content(self) -> None:
        self.virtual_size = Size(0, self._count * self.item_height)

    def watch_item_height(self) -> None:
        """Keep the current item visible when the height of items changes."""
        self._resize_content()
        self.call_after_refresh(self.show_cursor)
        self.refresh()

    def nearest(self, index: int, step: int = 1) -> int:
        """Return an item that can be current: the one at a place, or the nearest."""
        index = max(0, min(index, self._count - 1))
        for direction in (step, -step):
            place = index
            while 0 <= place < self._count:
                if self.is_item(place):
                    return place
                place += direction
        return 0

    def watch_cursor(self, before: int, now: int) -> None:
        for index in (before, now):
            self.refresh_item(index)
        self.show_cursor()
        self.post_message(self.Moved(self, now))

    def refresh_item(self, index: int) -> None:
        """Redraw an item."""
        top = index * self.item_height - self.scroll_offset.y
        self.refresh(Region(0, top, self.size.width, self.item_height))

    def show_cursor(self) -> None:
        """Scroll to the current item."""
        height = self.scrollable_content_region.height
        if not height:
            return
        top = self.cursor * self.item_height
        # The heading above the first item of a group should be visible too.
        lead = self.item_height if self.cursor and not self.is_item(self.cursor - 1) else 0
        offset = round(self.scroll_y)
        if top - lead < offset:
            self.scroll_to(y=top - lead, animate=False, immediate=True)
        elif top + self.item_height > offset + height:
            self.scroll_to(y=top + self.item_height - height, animate=False, immediate=True)

    def visible_range(self) -> range:
        """Return the items on screen."""
        first = round(self.scroll_y) // self.item_height
        number = self.size.height // self.item_height + 2
        return range(first, min(self._count, first + number))

    # -- drawing ---------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        index, line = divmod(round(self.scroll_y) + y, self.item_height)
        if index >= self._count:
            return Strip.blank(width, self.named_style(""))
        over = ""
        if index == self.cursor and self.is_item(index):
            over = "cursor" if self.has_focus else "cursor-idle"
        bar = ("▌" if over else " ", "cursor-bar")
        return self.strip([bar, *self.item_line(index, line, width - 1)], width, over)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_cursor)

    # -- keys and mouse --------------------------------------------------------------------

    def move(self, items: int) -> None:
        """Move the cursor by a number of items, down or (negative) up."""
        step = 1 if items > 0 else -1
        self.cursor = self.nearest(self.cursor + items, step)

    def page(self) -> int:
        """Return the number of items per page, less one for orientation."""
        return max(1, self.scrollable_content_region.height // self.item_height - 1)

    def action_cursor_up(self) -> None:
        self.move(-1)

    def action_cursor_down(self) -> None:
        self.move(1)

    def action_page_up(self) -> None:
        self.move(-self.page())

    def action_page_down(self) -> None:
        self.move(self.page())

    def action_first(self) -> None:
        self.cursor = self.nearest(0)
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_last(self) -> None:
        self.cursor = self.nearest(self._count - 1, -1)

    def action_choose(self) -> None:
        if self._count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = (round(self.scroll_y) + offset.y) // self.item_height
        if index >= self._count or not self.is_item(index):
            return
        self.cursor = index
        if event.chain == 2:
            self.action_choose()
