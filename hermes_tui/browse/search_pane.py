"""The search pane: searches on every key, and shows counts and remarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from hermes_store.errors import StoreError
from hermes_store.records.listing import ListRow
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit, Order, Request, SearchResult
from hermes_store.store import Store
from hermes_tui.browse.search_field import Known, SearchField
from hermes_tui.presentation import search_results
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.plain_text import PlainText

PAGE = 24
"""Conversations a search returns at first; more when the user nears the end of the list."""
MAX_PAGE = 4_000
WORDS_AT_ONCE = 0.1
"""Seconds of work, and of rest, while the side index is built."""
SEARCH_AGAIN = 2.0
"""Seconds between two searches for the same text while the database changes."""
PAUSE = 0.8
"""Seconds without a key before results are ranked."""


@dataclass(frozen=True, slots=True)
class Found:
    """A search and its results."""

    text: str
    limit: int
    result: SearchResult
    rows: list[ListRow]
    to_top: bool
    """Whether the list should scroll to its top."""

    def hit_of(self, root_id: str) -> Hit | None:
        """Return the best match in a conversation."""
        for group in self.result.groups:
            if group.root_id == root_id and group.hits:
                return group.hits[0]
        return None


class SearchPane(Vertical):
    """Searches while the user types."""

    field = query_one(SearchField)

    @dataclass
    class Changed(Message):
        """The search text has changed."""

        text: str

    @dataclass
    class Shown(Message):
        """A search has results to show."""

        found: Found

    @dataclass
    class NotSearched(Message):
        """A search failed."""

        text: str
        error: StoreError

    class Rested(Message):
        """The user has stopped typing; results can be ranked now."""

    class Results(Answer[Found]):
        """The results of a search."""

    class History(Answer[tuple[str, ...]]):
        """The search history."""

    class Words(Answer[None]):
        """The side index is up to date."""

    class Values(Answer[Known]):
        """Field values in the database."""

    def __init__(self, access: Access, clock: Callable[[], float]) -> None:
        super().__init__(id="search")
        self.access = access
        self.found: Found | None = None
        self._clock = clock
        self._order: Order | None = None
        self._pause: Timer | None = None
        self._history: tuple[str, ...] = ()
        self._history_place = -1
        self._draft = ""
        self._searched_at = 0.0
        self._values_asked = False
        self._again_planned = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="search-line"):
            yield SearchField()
            yield PlainText("", id="found")
        yield PlainText("", id="notes")

    @property
    def text(self) -> str:
        """The search text."""
        return self.field.value

    @text.setter
    def text(self, value: str) -> None:
        self.field.replace_text(value)

    @property
    def is_searching(self) -> bool:
        """Whether there is anything to search for."""
        return bool(self.text.strip())

    def figures(self) -> str:
        """Return the number of results, for the header where this pane has no room."""
        if self.found is None:
            return "searching …"
        return search_results.figures(self.found.result).plain

    def _say(self, figures: Content, remarks: Content | None) -> None:
        self.query_one("#found", PlainText).update(figures)
        label = self.query_one("#notes", PlainText)
        label.display = remarks is not None
        label.update(remarks or "")

    def show_figures(self) -> None:
        """Show the number of results and any remarks."""
        if self.found is not None:
            result = self.found.result
            self._say(search_results.figures(result), search_results.remarks(result))

    def prepare(self) -> None:
        """Read the search history, then update the side index.

        One after the other, because each reading thread has a connection with its own memory.
        """
        self.access.ask(self, self.History, lambda store, _: store.saved_searches.history())

    def on_search_pane_history(self, event: History) -> None:
        event.stop()
        self._history = event.value
        if not self.access.read_only:
            self.access.ask(self, self.Words, _list_words)

    def on_search_pane_values(self, event: Values) -> None:
        event.stop()
        self.field.known = event.value

    # -- searching -------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pause is not None:
            self._pause.stop()
        self.post_message(self.Changed(self.text))
        if self.is_searching:
            self.run(to_top=True)
            return
        self.access.cancel(self, self.Results.__qualname__)
        self.found = None
        self._say(Content(""), None)

    def run(self, *, limit: int = PAGE, order: Order | None = None, to_top: bool = False) -> None:
        """Search, canceling a search that is still running."""
        text, wanted, now = self.text, order or self._order, self._clock()
        self._searched_at = time.monotonic()

        def search(store: Store, stopped: Stopped) -> Found:
            request = Request(
                text,
                order=wanted,
                limit=limit,
                grouped=True,
                typing=True,
                cancelled=stopped,
                now=now,
            )
            result = store.search.run(request)
            roots = [group.root_id for group in result.groups]
            return Found(text, limit, result, store.lists.rows(roots, now=now), to_top)

        self.access.ask(self, self.Results, search)

    def on_search_pane_results(self, event: Results) -> None:
        event.stop()
        found = event.value
        if event.stale or found.text != self.text:
            return
        self.found = found
        self.post_message(self.Shown(found))
        if not self._values_asked:
            self._values_asked = True
            self.access.ask(self, self.Values, lambda store, _: _values(store))
        if found.to_top and self._order is None:
            self._pause = self.set_timer(PAUSE, lambda: self.post_message(self.Rested()))

    def on_failed(self, event: Failed) -> None:
        """Show why a search failed; history, values and side index are optional."""
        event.stop()
        if event.question is not self.Results or event.stale:
            return
        self.found = None
        self._say(Content(""), Content.styled(clean(str(event.error)), "$error"))
        self.post_message(self.NotSearched(self.text, event.error))

    def search_later(self) -> None:
        """Search again soon, because the database changed, without moving anything."""
        if self.is_searching and not self._again_planned:
            self._again_planned = True
            left = SEARCH_AGAIN - (time.monotonic() - self._searched_at)
            self.set_timer(max(left, 0.01), self.search_again)

    def search_again(self) -> None:
        """Search for the same text in the same order, without moving anything."""
        self._again_planned = False
        found = self.found
        if not self.is_searching:
            return
        if found is not None and found.text == self.text:
            self.run(limit=found.limit, order=found.result.order)
        else:
            self.run(to_top=True)

    def rank(self) -> None:
        """Show the most relevant first, unless the user chose an order."""
        found = self.found
        if found is None or found.result.order is not Order.NEWEST:
            return
        if "sort:" not in found.text and len(found.result.groups) > 1:
            self.run(order=Order.RELEVANCE, to_top=True)

    def toggle_order(self) -> None:
        """Switch between newest and most relevant first."""
        shown = self.found.result.order if self.found is not None else Order.NEWEST
        self._order = Order.NEWEST if shown is Order.RELEVANCE else Order.RELEVANCE
        if self.is_searching:
            self.run(to_top=True)

    def load_more(self, cursor: int, count: int) -> None:
        """Load more results when the cursor nears the last one."""
        found = self.found
        if found is None or found.result.conversations.exact or found.limit >= MAX_PAGE:
            return
        if cursor >= count - PAGE // 2:
            self.run(limit=found.limit * 4, order=found.result.order)

    # -- history ---------------------------------------------------------------------------

    def remember(self) -> None:
        """Add the search text to the history, once the user has used a result."""
        text = self.text.strip()
        if not text or self._history[:1] == (text,):
            return
        self._history = (text, *(each for each in self._history if each != text))
        if not self.access.read_only:
            self.access.note_search(text)

    @property
    def in_history(self) -> bool:
        """Whether the field shows a search from the history."""
        return self._history_place >= 0

    def go_in_history(self, step: int) -> None:
        """Show an earlier (positive step) or later search of the history."""
        if self._history_place < 0:
            self._draft = self.text
        place = max(-1, min(self._history_place + step, len(self._history) - 1))
        if place != self._history_place:
            self._history_place = place
            self.text = self._history[place] if place >= 0 else self._draft


def _list_words(store: Store, stopped: Stopped) -> None:
    """Update the side index in small steps, so that typing stays responsive.

    A database opened for the first time may take minutes; searches work meanwhile, prefix searches
    more slowly.
    """
    before, done = -1, 0

    def note(listed: int, _: int) -> None:
        nonlocal done
        done = listed

    # Without progress, the side index cannot be written: stop.
    while not stopped() and before < done:
        before = done
        if store.search.prepare(note, WORDS_AT_ONCE):
            return
        time.sleep(WORDS_AT_ONCE)


def _values(store: Store) -> Known:
    models = dict.fromkeys(usage.model for usage in store.upkeep.usage_by_model())
    tags = (name for name, _ in store.marks.tags())
    return {
        "model": tuple(filter(_can_be_typed, models)),
        "tag": tuple(filter(_can_be_typed, tags)),
    }


def _can_be_typed(name: str | None) -> bool:
    """Return whether a stored name is safe to offer in the search field."""
    return bool(name) and clean(str(name)) == name and not any(map(str.isspace, str(name)))
