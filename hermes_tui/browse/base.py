"""What all parts of the main screen share: its widgets, its options, and asking the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.getters import query_one
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from hermes_store.errors import StoreError
from hermes_store.records.text import clean
from hermes_store.store import Store
from hermes_tui.access import Asks, Stopped, Workers
from hermes_tui.actions import Scope, bindings
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.search_bar import SearchBar
from hermes_tui.browse.session_list import SessionList
from hermes_tui.opening import Choice, Opening
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.status_bar import StatusBar

Answer = TypeVar("Answer")
TABS = ("recap", "transcript", "lineage", "info")


class BrowseBase(Asks, Screen[Choice]):
    """The widgets of the main screen."""

    BINDINGS = bindings(Scope.ANYWHERE)

    header = query_one("#header", Static)
    search_bar = query_one(SearchBar)
    sessions = query_one(SessionList)
    empty = query_one("#empty", Static)
    pane = query_one("#pane", Vertical)
    recap = query_one("#recap-text", Static)
    transcript = query_one(Transcript)
    lineage = query_one(LineageTree)
    info = query_one("#info-text", Static)
    status = query_one(StatusBar)

    def __init__(self, office: Workers, opening: Opening) -> None:
        super().__init__()
        self.office = office
        self.opening = opening
        self.clock = opening.clock
        self.view = opening.view
        self.tab = opening.state.tab
        """The page of the right side that is open."""
        self.key_overrides = dict(opening.keys)

    def compose(self) -> ComposeResult:
        """Lay out header, search pane, list, right pane and key line."""
        now = self.clock()
        with Vertical(id="top"):
            yield Static("", id="header", markup=False)
            yield SearchBar(id="search")
        with Vertical(id="list"):
            yield SessionList(now, id="sessions")
            yield Static("", id="empty", markup=False)
        with Vertical(id="pane"):
            for page in self._pages(now):
                page.display = page.id == self.tab
                yield page
        yield StatusBar(id="status")

    def _pages(self, now: float) -> Iterator[Widget]:
        """Make the pages of the right side, by the names in `TABS`."""
        yield VerticalScroll(Static("", id="recap-text", markup=False), id="recap")
        yield Transcript(id="transcript")
        yield LineageTree(now, id="lineage")
        yield VerticalScroll(Static("", id="info-text", markup=False), id="info")

    def ask(
        self,
        group: str,
        job: Callable[[Store, Stopped], Answer],
        then: Callable[[Answer], None],
        otherwise: Callable[[StoreError], None] | None = None,
        *,
        exclusive: bool = True,
    ) -> None:
        """Ask the store in the background."""
        self.office.ask(self, group, job, then, otherwise or self.failed, exclusive=exclusive)

    def change(
        self, job: Callable[[Store, Stopped], Answer], then: Callable[[Answer], None]
    ) -> None:
        """Change the store in the background."""
        self.office.change(self, job, then, self.failed)

    def failed(self, error: StoreError) -> None:
        """Say what could not be done."""
        self.notify(clean(str(error)), severity="error", timeout=10, markup=False)

    def say(self, sentence: str) -> None:
        """Say what was done, in the place of what was said before."""
        self.app.clear_notifications()
        self.notify(clean(sentence), markup=False)
