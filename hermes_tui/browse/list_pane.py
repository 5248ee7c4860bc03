"""The list pane: loads, refreshes, sorts, groups and folds the conversations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message

from hermes_store.errors import DatabaseMissing, ServerUnreachable, StoreError
from hermes_store.records.listing import Entry, Grouping, Hidden, ListRow, Sort
from hermes_store.records.safe_text import clean
from hermes_store.store import Store
from hermes_tui.actions import Scope, bindings
from hermes_tui.browse import list_loading, list_options
from hermes_tui.browse.found import Found
from hermes_tui.browse.list_loading import Families
from hermes_tui.browse.list_options import DENSITY_WORDS, Chosen, looks
from hermes_tui.browse.session_list_widget import RowsWanted, SessionList
from hermes_tui.opening.first_list_rows import Head, read_head
from hermes_tui.opening.kept_state import DENSITIES
from hermes_tui.opening.start_options import Opening
from hermes_tui.presentation import empty_list
from hermes_tui.presentation.browser_header import Header
from hermes_tui.presentation.search_results import still_looking
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Keep, Notice
from hermes_tui.widgets.plain_text import PlainText

RETRY_SECONDS = 1.0
REST = 20
"""The pause between full reloads, as a multiple of the time one takes."""


class ListPane(Vertical):
    """Shows all conversations, most recently active first, or search results."""

    BINDINGS = bindings(Scope.LIST)

    sessions = query_one(SessionList)
    empty = query_one("#empty", PlainText)

    @dataclass
    class Shown(Message):
        """The content of the list has changed."""

        text: str
        """The search text it answers; empty for the whole list."""
        undecided: bool = False
        """Whether nothing was found so far, but not everything looked at."""

    class LoadedFirst(Message):
        """The whole list was loaded for the first time."""

    class HeadRead(Answer[Head]):
        """The beginning of the list."""

    class AllRead(Answer[list_loading.Loaded]):
        """The whole list."""

    class RowsRead(Answer[list[ListRow]]):
        """Rows that scrolled into view."""

    class Unfolded(Answer[Families]):
        """The sessions below a conversation that is unfolded."""

    class ReadAgain(Answer[Families]):
        """The sessions below all unfolded conversations, after a change."""

    def __init__(self, access: Access, opening: Opening, head: Head | None = None) -> None:
        super().__init__(id="list")
        self.access = access
        self.view = opening.view
        self.hidden: dict[Hidden, int] = {}
        self.days: tuple[int, ...] = ()
        """Sessions started on each of the last thirty days."""
        self.density = opening.kept.density
        self.missing: StoreError | None = None
        self.not_searched: StoreError | None = None
        self._unfinished: str | None = None
        """How far a search has come that is still going on."""
        self._clock, self._demo = opening.clock, opening.demo
        self._here = opening.here or opening.view.here
        self.wanted = opening.state.session_id
        """The session to move the cursor to once it is in the list."""
        self._head = head
        self._head_at = 0.0
        self._entries: list[Entry] = []
        self._searching = False
        self._load_seconds = 0.0
        self._loaded_at: float | None = None
        self._reading = self._again = False

    def compose(self) -> ComposeResult:
        yield SessionList(self._clock(), id="sessions")
        yield PlainText("", id="empty")

    def header(self, found: str | None) -> Header:
        """Return the content of the header; `found` is the number of results."""
        return Header(
            self.access.place,
            sum(isinstance(entry, str) for entry in self._entries),
            self._loaded_at is not None,
            selected=len(self.sessions.selected),
            hidden=self.hidden,
            days=self.days,
            search=found,
            demo=self._demo,
            read_only=self.access.read_only,
            here=self.view.here,
        )

    # -- loading ---------------------------------------------------------------------------

    def begin(self) -> bool:
        """Show the rows read beforehand; return whether there were any."""
        if self._head is None or not self._by_activity:
            return False
        self._show_head(self._head)
        return True

    @property
    def _by_activity(self) -> bool:
        plain = self.view.group in (Grouping.NONE, Grouping.DATE)
        return self.view.sort is Sort.ACTIVITY and plain

    def load(self) -> None:
        """Load the list: first its head where possible, then all of it."""
        if self._by_activity:
            view, now = self.view, self._clock()
            self.access.ask(self, self.HeadRead, lambda store, _: read_head(store, view, now))
        else:
            self.load_all()

    def load_all(self) -> None:
        """Read the whole list, after a read that is already running."""
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        view, now, last = self.view, self._clock(), self.density == "two"

        def read(store: Store, stopped: Stopped) -> list_loading.Loaded:
            return list_loading.read_all(store, view, now, stopped, last=last)

        self.access.ask(self, self.AllRead, read)

    def on_list_pane_head_read(self, event: HeadRead) -> None:
        event.stop()
        if event.stale:
            return
        self._show_head(event.value)
        self._load_all_in_time()

    def _show_head(self, head: Head) -> None:
        self._head, self._head_at = head, time.monotonic()
        self._entries = list_loading.begun_with(self._entries, head.entries)
        self._show(head.rows)

    def _load_all_in_time(self) -> None:
        """Read everything, but pause after a slow read."""
        since = time.monotonic() - (self._loaded_at or 0.0)
        pause = REST * self._load_seconds - since
        if pause <= 0:
            self.load_all()
        elif not self._again:
            self._again = True
            self.set_timer(pause, self._load_if_wanted)

    def _load_if_wanted(self) -> None:
        if self._again:
            self.load_all()

    def on_list_pane_all_read(self, event: AllRead) -> None:
        event.stop()
        if event.stale:
            return
        self._reading = False
        loaded = event.value
        self._entries, self._load_seconds = loaded.entries, loaded.seconds
        self.hidden, self.days = loaded.hidden, loaded.days
        if self._head is not None and self._by_activity and self._head_at > loaded.started:
            self._entries = list_loading.begun_with(self._entries, self._head.entries)
        if self._loaded_at is None:
            self.post_message(self.LoadedFirst())
        self._loaded_at = time.monotonic()
        self._show(loaded.rows)
        if self._again:
            self._again = False
            self._load_all_in_time()

    def on_failed(self, event: Failed) -> None:
        event.stop()
        if event.stale:
            return
        away = isinstance(event.error, ServerUnreachable)
        reading = event.question in (self.HeadRead, self.AllRead)
        if reading:
            self._reading, self.missing = False, event.error
            if away or isinstance(event.error, DatabaseMissing):
                self.set_timer(RETRY_SECONDS, self.load)  # gone and back between two polls
        if not reading or (away and self._entries):  # what is on screen is as good as it was
            self.post_message(Notice(str(event.error)))
            return
        self._entries, self.hidden = [], {}
        self._loaded_at = time.monotonic()
        self._show([])

    def refresh_list(self) -> None:
        """Reload the list and the rows on screen without moving anything."""
        if self.missing is not None:
            self.access.reopen()
        self.sessions.now = self._clock()
        self.sessions.forget_rows()
        self._read_below(self.ReadAgain, self.sessions.unfolded())
        self.load()

    def on_rows_wanted(self, event: RowsWanted) -> None:
        event.stop()
        ids, now, last = event.ids, self._clock(), self.density == "two"
        self.access.ask(
            self,
            self.RowsRead,
            lambda store, _: store.lists.rows(ids, now=now, last=last),
            exclusive=False,
        )

    def on_list_pane_rows_read(self, event: RowsRead) -> None:
        event.stop()
        self.sessions.provide(event.value)

    # -- showing ---------------------------------------------------------------------------

    def _show(self, rows: Sequence[ListRow], *, to_top: bool = False) -> None:
        if rows:
            self.missing = None
        self.sessions.now = self._clock()
        if self._searching:
            return
        self.sessions.looks = looks(self.view, self.density)
        self.sessions.show_entries(self._entries, rows, to_top=to_top)
        if self.wanted is not None and self.sessions.go_to(self.wanted):
            self.wanted = None
        self._show_emptiness()
        self.post_message(self.Shown(""))

    def show_all(self) -> None:
        """Show the whole list again after a search."""
        self._searching, self.not_searched = False, None
        self._show([], to_top=True)

    def show_found(self, found: Found, *, to_top: bool) -> None:
        """Show search results."""
        self._searching, self.not_searched = True, None
        groups = found.result.groups
        self._unfinished = still_looking(found.result.looked) if found.result.partial else None
        self.sessions.looks = looks(self.view, self.density, found=True)
        present = {row.id for row in found.rows}
        self.sessions.show_entries(
            list_loading.with_headings([group for group in groups if group.root_id in present]),
            found.rows,
            {group.root_id: group.hits[0] for group in groups if group.hits},
            spans=found.result.highlighter,
            to_top=to_top,
        )
        self._show_emptiness()
        undecided = self._unfinished is not None and not groups
        self.post_message(self.Shown(found.text, undecided))

    def show_failure(self, text: str, error: StoreError) -> None:
        """Show why a search failed instead of results."""
        self._searching, self.not_searched, self._unfinished = True, error, None
        self.sessions.show_entries([], hits={}, to_top=True)
        self._show_emptiness()
        self.post_message(self.Shown(text))

    def searching(self) -> None:
        """Note that a search is running, so that the list does not replace its results."""
        self._searching = True
        self._show_title()

    def _show_title(self) -> None:
        order = "" if self.view.sort is Sort.ACTIVITY else f" by {self.view.sort.value}"
        source = f" · {self.view.source}" if self.view.source else ""
        source += f" · {self.view.workspace}" if self.view.workspace else ""
        text = "Results" if self._searching else f"Conversations{order}{source}"
        self.border_title = Content(clean(text))

    def _show_emptiness(self) -> None:
        self._show_title()
        vacant = self.sessions.count == 0
        self.empty.display = vacant
        self.sessions.display = not vacant
        if vacant and self._searching and self.missing is None:
            self.empty.update(
                empty_list.nothing_found(self.not_searched, self._unfinished, self.view.here)
            )
        elif vacant:
            place, hidden = self.access.place, bool(self.hidden)
            self.empty.update(
                empty_list.nothing_listed(self.missing, self.view, place, hidden=hidden)
            )

    # -- sorting, grouping, hiding ---------------------------------------------------------

    def choose(self, chosen: Chosen) -> None:
        """Show another view, and remember it."""
        self.view = chosen.view
        self._entries, self._head, self._reading = [], None, False
        self.load_all()
        self.post_message(Notice(chosen.sentence))
        if chosen.kept:
            self.post_message(Keep(**chosen.kept))

    def next_sort(self) -> None:
        """Sort by the next value."""
        self.action_sort_by(list_options.after(self.view.sort, list(Sort)).value)

    def action_sort_by(self, name: str) -> None:
        self.choose(list_options.sorted_by(self.view, Sort(name), found=self._searching))

    def action_group(self) -> None:
        groups = list_options.groupings(self.access.address)
        self.action_group_by(list_options.after(self.view.group, groups).value)

    def action_group_by(self, name: str) -> None:
        self.choose(list_options.grouped_by(self.view, Grouping(name)))

    def action_density(self) -> None:
        self.action_density_of(list_options.after(self.density, DENSITIES))

    def action_density_of(self, density: str) -> None:
        """Show each conversation on one line, on two, or as a table."""
        self.density = density
        self.post_message(Keep(density=density))
        self.post_message(Notice(DENSITY_WORDS[density]))
        self.sessions.looks = replace(self.sessions.looks, density=density)
        self._show([])
        self.sessions.refresh()
        if density == "two":
            self.sessions.forget_rows()

    def toggle_scope(self) -> bool:
        """Show this workspace only, or all; return False if there is none here."""
        if self.view.workspace is not None or self._here is None:
            opened = f"The browser was opened with --workspace {self.view.workspace}."
            nothing = "No conversation took place in this folder yet."
            self.post_message(Notice(nothing if self.view.workspace is None else opened))
            return False
        here = self._here if self.view.here is None else None
        self.choose(list_options.scoped_to(self.view, here))
        return True

    def action_all_hidden(self) -> None:
        self.show_kinds(frozenset() if self.view.shown else frozenset(Hidden))

    def action_show_kind(self, name: str) -> None:
        """Show one kind of hidden conversations, or hide it again."""
        self.show_kinds(self.view.shown ^ {Hidden(name)})

    def show_kinds(self, kinds: frozenset[Hidden]) -> None:
        """Show some of the kinds that are hidden by default."""
        self.choose(list_options.with_kinds(self.view, kinds))

    # -- selecting and folding -------------------------------------------------------------

    def action_select(self) -> None:
        self.sessions.toggle_selected()
        self.post_message(SessionList.SelectionChanged())

    def action_select_all(self) -> None:
        self.sessions.select_all()
        self.post_message(SessionList.SelectionChanged())

    def action_unfold(self) -> None:
        target = self.sessions.target()
        if target is not None and target.is_foldable:
            self._read_below(self.Unfolded, [target.root_id])

    def _read_below(self, answer: type[Answer[Families]], roots: list[str]) -> None:
        if roots:
            self.access.ask(self, answer, lambda store, _: list_loading.families(store, roots))

    def on_list_pane_unfolded(self, event: Unfolded) -> None:
        event.stop()
        self.sessions.unfold(event.value)

    def on_list_pane_read_again(self, event: ReadAgain) -> None:
        event.stop()
        self.sessions.unfold(event.value, again=True)

    def action_fold(self) -> None:
        target = self.sessions.target()
        if target is not None:
            self.sessions.fold(target.root_id)
