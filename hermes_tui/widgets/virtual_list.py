"""A list of any length: only the lines on screen are ever made."""

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
    """Items of equal height, one of which is marked."""

    BINDINGS = bindings(Scope.MOVE, Scope.LISTS)

    cursor: reactive[int] = reactive(0)
    """The marked item."""
    item_height: reactive[int] = reactive(1, layout=False)
    """Lines that each item takes."""

    @dataclass
    class Moved(Message):
        """Another item is marked now."""

        view: VirtualList
        index: int

        @property
        def control(self) -> VirtualList:
            """The list it happened in."""
            return self.view

    @dataclass
    class Chosen(Message):
        """The marked item was taken with Enter or a double click."""

        view: VirtualList
        index: int

        @property
        def control(self) -> VirtualList:
            """The list it happened in."""
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._count = 0

    # -- what subclasses say ---------------------------------------------------------------

    def item_line(self, index: int, line: int, width: int) -> Line:
        """Return one line of an item; empty unless a list says what its items look like."""
        return []

    def is_item(self, index: int) -> bool:
        """Tell whether an item can be marked; a heading cannot."""
        return True

    # -- items -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many items there are."""
        return self._count

    def set_count(self, count: int) -> None:
        """Say how many items there are now; the marked one stays where it can."""
        self._count = count
        self._resize_content()
        self.cursor = self.nearest(min(self.cursor, count - 1))
        self.refresh()

    def _resize_content(self) -> None:
        self.virtual_size = Size(0, self._count * self.item_height)

    def watch_item_height(self) -> None:
        """Keep the marked item in sight when items become taller or flatter."""
        self._resize_content()
        self.call_after_refresh(self.show_cursor)
        self.refresh()

    def nearest(self, index: int, step: int = 1) -> int:
        """Return the item at a place that can be marked, or the next one that can."""
        index = max(0, min(index, self._count - 1))
        for direction in (step, -step):
            place = index
            while 0 <= place < self._count:
                if self.is_item(place):
                    return place
                place += direction
        return 0

    def watch_cursor(self, before: int, now: int) -> None:
        """Draw both items anew and say so."""
        for index in (before, now):
            self.refresh_item(index)
        self.show_cursor()
        self.post_message(self.Moved(self, now))

    def refresh_item(self, index: int) -> None:
        """Draw an item anew."""
        top = index * self.item_height - self.scroll_offset.y
        self.refresh(Region(0, top, self.size.width, self.item_height))

    def show_cursor(self) -> None:
        """Scroll so that the marked item is in sight."""
        height = self.scrollable_content_region.height
        if not height:
            return
        top = self.cursor * self.item_height
        # The heading above the first item of a group belongs into sight with it.
        lead = self.item_height if self.cursor and not self.is_item(self.cursor - 1) else 0
        offset = round(self.scroll_y)
        if top - lead < offset:
            self.scroll_to(y=top - lead, animate=False, immediate=True)
        elif top + self.item_height > offset + height:
            self.scroll_to(y=top + self.item_height - height, animate=False, immediate=True)

    def visible_range(self) -> range:
        """Return the items that are on screen."""
        first = round(self.scroll_y) // self.item_height
        number = self.size.height // self.item_height + 2
        return range(first, min(self._count, first + number))

    # -- drawing ---------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.line_width
        index, line = divmod(round(self.scroll_y) + y, self.item_height)
        if index >= self._count:
            return Strip.blank(width, self.named_style(""))
        over = ""
        if index == self.cursor and self.is_item(index):
            over = "cursor" if self.has_focus else "cursor-idle"
        return self.strip(self.item_line(index, line, width), width, over)

    def on_resize(self) -> None:
        """Keep the marked item in sight."""
        self.call_after_refresh(self.show_cursor)

    # -- keys and mouse --------------------------------------------------------------------

    def move(self, items: int) -> None:
        """Mark another item, so many further down or (negative) up."""
        step = 1 if items > 0 else -1
        self.cursor = self.nearest(self.cursor + items, step)

    def page(self) -> int:
        """Return how many items fit on the screen, less one to keep the place."""
        return max(1, self.scrollable_content_region.height // self.item_height - 1)

    def action_cursor_up(self) -> None:
        """Mark the item above."""
        self.move(-1)

    def action_cursor_down(self) -> None:
        """Mark the item below."""
        self.move(1)

    def action_page_up(self) -> None:
        """Mark the item a page up."""
        self.move(-self.page())

    def action_page_down(self) -> None:
        """Mark the item a page down."""
        self.move(self.page())

    def action_first(self) -> None:
        """Mark the first item."""
        self.cursor = self.nearest(0)
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_last(self) -> None:
        """Mark the last item."""
        self.cursor = self.nearest(self._count - 1, -1)

    def action_choose(self) -> None:
        """Take the marked item."""
        if self._count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Mark what was clicked; take it on a double click."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = (round(self.scroll_y) + offset.y) // self.item_height
        if index >= self._count or not self.is_item(index):
            return
        self.cursor = index
        if event.chain == 2:
            self.action_choose()
