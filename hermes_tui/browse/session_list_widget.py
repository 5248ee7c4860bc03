"""The list of conversations: the ids of all, the rows of those on screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from hermes_store.records.listing import Entry, Heading, ListRow, Sort
from hermes_store.records.search import Hit, Spans
from hermes_tui.presentation import rows
from hermes_tui.presentation.lineage_lines import Branch
from hermes_tui.presentation.styled_line import Line
from hermes_tui.widgets.lru_cache import Recent
from hermes_tui.widgets.virtual_list import VirtualList

AHEAD = 40
"""Rows read before they scroll into view."""


@dataclass(frozen=True, slots=True)
class Below:
    """A session shown below its conversation."""

    root_id: str
    branch: Branch


Item = Entry | Below


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an action: a conversation, or one of its sessions."""

    root_id: str
    session_id: str
    row: ListRow | None
    part: bool
    """Whether it is a single session below a conversation."""

    @property
    def resumed_id(self) -> str:
        """The session to resume: the newest one of a conversation."""
        return self.row.tip_id if self.row is not None and not self.part else self.session_id

    @property
    def is_foldable(self) -> bool:
        """Whether there are sessions to show below it."""
        return not self.part and self.row is not None and self.row.foldable


@dataclass
class RowsWanted(Message):
    """Rows on screen have not been read yet."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Looks:
    """How a list shows its rows."""

    placed: bool = True
    """Whether rows say in which workspace they took place, if any is known."""
    by_day: bool = False
    """Whether there is a heading for each day."""
    counted: bool = True
    """Whether headings say how many rows they have."""
    sort: Sort = Sort.ACTIVITY
    """By what it is sorted, so that the rows show it."""
    density: str = "one"
    """"one" line for each row, "two", or "table"."""


class SessionList(VirtualList):
    """Conversations or search results, with sessions below those unfolded."""

    class SelectionChanged(Message):
        """The selection has changed."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self.selected: dict[str, None] = {}
        self._entries: Sequence[Entry] = ()
        self._items: Sequence[Item] = ()
        self._rows: Recent[str, ListRow] = Recent(4_000)
        self._below: dict[str, tuple[Branch, ...]] = {}
        self._hits: Mapping[str, Hit] = {}
        """The first match of each conversation that a search found."""
        self._spans: Spans | None = None
        self._asked: set[str] = set()
        self._any_place = False
        self.looks = Looks()
        self.moved = False
        """Whether somebody has moved the cursor; until then it stays on the first row."""

    # -- content ---------------------------------------------------------------------------

    def show_entries(
        self,
        entries: Sequence[Entry],
        read: Iterable[ListRow] = (),
        hits: Mapping[str, Hit] | None = None,
        *,
        spans: Spans | None = None,
        to_top: bool = False,
    ) -> None:
        """Show other conversations; the cursor stays on its row, and the row where it is."""
        self.moved = self.moved and not to_top
        to_top = to_top or not self.moved
        marked = None if to_top else self.current_id()
        screen_row = self.cursor * self.item_height - round(self.scroll_y)
        self._entries = entries
        self._hits, self._spans = hits or {}, spans
        self._remember(read)
        self.item_height = 2 if hits is not None or self.looks.density == "two" else 1
        self._lay_out()
        place = self._place_of(marked) if marked is not None else None
        if place is None:
            self.cursor = self.nearest(0 if to_top else min(self.cursor, self.count - 1))
            if to_top:
                self.scroll_to(y=0, animate=False, immediate=True)
        elif place != self.cursor:
            # At the top, let new rows above show instead of scrolling them away.
            if self.scroll_y:
                line = place * self.item_height - screen_row
                self.scroll_to(y=line, animate=False, immediate=True)
            self.cursor = place
        self.refresh()

    def _lay_out(self) -> None:
        self._items = self._entries
        if self._below:
            unfolded: list[Item] = []
            for entry in self._entries:
                unfolded.append(entry)
                if isinstance(entry, str):
                    unfolded += [Below(entry, each) for each in self._below.get(entry, ())]
            self._items = unfolded
        self.set_count(len(self._items))

    def provide(self, read: Sequence[ListRow]) -> None:
        """Take requested rows; missing ones are not requested again."""
        self._remember(read)
        self._asked.difference_update(row.id for row in read)
        self.refresh()

    def _remember(self, read: Iterable[ListRow]) -> None:
        for row in read:
            self._rows[row.id] = row
            has_place = row.place.workspace is not None or row.host is not None
            self._any_place = self._any_place or has_place

    def forget_rows(self) -> None:
        """Request the visible rows again; the old ones stay until the new ones arrive."""
        self._asked.clear()
        wanted = [item for item in self._visible_ids() if item in self._rows]
        if wanted:
            self.post_message(RowsWanted(tuple(wanted)))

    def _visible_ids(self) -> list[str]:
        return [
            item for index in self.visible_range() if isinstance(item := self._items[index], str)
        ]

    def listed(self) -> Sequence[Entry]:
        """Return all entries of the list."""
        return self._entries

    def row(self, root_id: str) -> ListRow | None:
        """Return a row if it has been read."""
        return self._rows.get(root_id)

    # -- the current row -------------------------------------------------------------------

    def item(self, index: int) -> Item | None:
        """Return the item at a place."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def current_id(self) -> str | None:
        """Return the id of the current session."""
        target = self.target()
        return target.session_id if target is not None else None

    def target(self) -> Target | None:
        """Return the current conversation or session; None on a heading or in an empty list."""
        item = self.item(self.cursor)
        if item is None or isinstance(item, Heading):
            return None
        if isinstance(item, Below):
            session = item.branch.session
            return Target(item.root_id, session.id, self._rows.get(item.root_id), part=True)
        row = self._rows.get(item)
        return Target(item, item, row, part=False)

    def _place_of(self, session_id: str) -> int | None:
        for place, item in enumerate(self._items):
            if item == session_id:
                return place
            if isinstance(item, Below) and item.branch.session.id == session_id:
                return place
        return None

    def go_to(self, session_id: str) -> bool:
        """Move the cursor to a session; return whether it is in the list."""
        place = self._place_of(session_id)
        if place is not None:
            self.moved = True
            self.cursor = place
        return place is not None

    def move(self, items: int) -> None:
        self.moved = True
        super().move(items)

    def leave_row(self) -> None:
        """Move to the next row, or the one before the last, because this one is about to go."""
        before = self.cursor
        self.move(1)
        if self.cursor == before:
            self.move(-1)

    def action_last(self) -> None:
        self.moved = True
        super().action_last()

    def on_click(self, event: events.Click) -> None:
        self.moved = True

    # -- selecting and unfolding -----------------------------------------------------------

    def toggle_selected(self) -> None:
        """Select or deselect the current conversation and move down."""
        target = self.target()
        if target is None or target.part:
            return
        if target.root_id in self.selected:
            del self.selected[target.root_id]
        else:
            self.selected[target.root_id] = None
        self.refresh_item(self.cursor)
        self.action_cursor_down()

    def select_all(self) -> None:
        """Select all conversations, or none if any is selected."""
        if self.selected:
            self.selected = {}
        else:
            self.selected = {entry: None for entry in self._entries if isinstance(entry, str)}
        self.refresh()

    def chosen(self, target: Target) -> list[str]:
        """Return the conversations to act on: the selected ones, or the target."""
        return [*self.selected] or [target.root_id]

    def forget(self, gone: Iterable[str]) -> None:
        """Drop what is gone from the selection, and from below conversations."""
        ids = set(gone)
        self.selected = {root: None for root in self.selected if root not in ids}
        if ids and self._below:
            for root, below in self._below.items():
                self._below[root] = tuple(each for each in below if each.session.id not in ids)
            self._lay_out()

    def is_unfolded(self, root_id: str) -> bool:
        """Return whether the sessions below a conversation are shown."""
        return root_id in self._below

    def unfolded(self) -> list[str]:
        """Return the conversations below which sessions are shown."""
        return [*self._below]

    def unfold(self, below: Mapping[str, Sequence[Branch]], *, again: bool = False) -> None:
        """Show the sessions below conversations; `again`, only where they are shown already."""
        marked = self.current_id()
        for root_id, branches in below.items():
            if not again or root_id in self._below:
                self._below[root_id] = tuple(branches)
        self._lay_out()
        if marked is not None and (place := self._place_of(marked)) is not None:
            self.cursor = place

    def fold(self, root_id: str) -> None:
        """Hide the sessions below a conversation and move the cursor to it."""
        if self._below.pop(root_id, None) is not None:
            self._lay_out()
            self.go_to(root_id)

    # -- drawing ---------------------------------------------------------------------------

    def is_item(self, index: int) -> bool:
        return not isinstance(self._items[index], Heading)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ask()
        return super().render_lines(crop)

    def _ask(self) -> None:
        seen = self.visible_range()
        missing = []
        for index in range(max(0, seen.start - AHEAD), min(self.count, seen.stop + AHEAD)):
            item = self._items[index]
            if isinstance(item, str) and item not in self._rows and item not in self._asked:
                missing.append(item)
        if missing:
            self._asked.update(missing)
            self.post_message(RowsWanted(tuple(missing)))

    def item_line(self, index: int, line: int, width: int) -> Line:
        item = self._items[index]
        if isinstance(item, Heading):
            # In a list of two lines each, a heading has a blank line above it.
            last = line == self.item_height - 1
            return rows.heading_line(item, width, counted=self.looks.counted) if last else []
        state = rows.RowState(
            self.now,
            spans=self._spans,
            placed=self.looks.placed and self._any_place,
            by_day=self.looks.by_day,
            table=self.looks.density == "table",
            sort=self.looks.sort,
        )
        if isinstance(item, Below):
            return [] if line else rows.part_line(item.branch, width, state)
        row = self._rows.get(item)
        if row is None:
            return rows.placeholder_line(width) if not line else []
        if line and self._spans is None:
            return rows.last_line(row, width)
        hit = self._hits.get(item)
        if line:
            return rows.snippet_line(hit.snippet if hit else None, row.preview, width)
        state = state._replace(
            by_day=state.by_day and not row.pinned,
            selected=item in self.selected,
            unfolded=item in self._below,
            matched=hit.timestamp if hit is not None else None,
        )
        return rows.session_line(row, width, state)
