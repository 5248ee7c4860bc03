"""The search pane: searches on every key, and says what was found and how."""

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
from textual.widgets import Input, Static

from hermes_store.errors import StoreError
from hermes_store.records.listing import ListRow
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit, Order, Request, SearchResult
from hermes_store.store import Store
from hermes_tui.browse.search_field import Known, SearchField
from hermes_tui.presentation import search_results
from hermes_tui.store_access import Access, Answer, Failed, Stopped

PAGE = 24
"""Conversations that a search returns at first; more when the end of the list comes near."""
MAX_PAGE = 4_000
WORDS_AT_ONCE = 0.1
"""Seconds of work, and of rest, while the list of words is made."""
SEARCH_AGAIN = 2.0
"""Seconds between two searches for the same text while others write."""
PAUSE = 0.8
"""Seconds without a key after which results are ranked."""


@dataclass(frozen=True, slots=True)
class Found:
    """A search and what it found."""

    text: str
    limit: int
    result: SearchResult
    rows: list[ListRow]
    to_top: bool
    """Whether the list should begin at its top again."""

    def hit_of(self, root_id: str) -> Hit | None:
        """Return the best hit of a conversation."""
        for group in self.result.groups:
            if group.root_id == root_id and group.hits:
                return group.hits[0]
        return None


class SearchPane(Vertical):
    """Searches while a person types."""

    field = query_one(SearchField)

    @dataclass
    class Changed(Message):
        """The search text is another one now."""

        text: str

    @dataclass
    class Shown(Message):
        """A search was answered."""

        found: Found

    @dataclass
    class NotSearched(Message):
        """A search failed."""

        text: str
        error: StoreError

    class Rested(Message):
        """The person has not typed for a moment; results could be ranked now."""

    class Results(Answer[Found]):
        """What a search found."""

    class History(Answer[tuple[str, ...]]):
        """Earlier searches."""

    class Words(Answer[None]):
        """The list of words is up to date."""

    class Values(Answer[Known]):
        """Values of fields that occur in the database."""

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
        """Make the field, the figures beside it and the remarks below."""
        with Horizontal(id="search-line"):
            yield SearchField()
            yield Static("", id="found", markup=False)
        yield Static("", id="notes", markup=False)

    @property
    def text(self) -> str:
        """What is searched for."""
        return self.field.value

    @text.setter
    def text(self, value: str) -> None:
        self.field.replace_text(value)

    @property
    def is_searching(self) -> bool:
        """Whether there is anything to search for."""
        return bool(self.text.strip())

    def figures(self) -> str:
        """Return how much was found, for where this pane has no room to say it."""
        if self.found is None:
            return "searching …"
        return search_results.figures(self.found.result).plain

    def _say(self, figures: Content, remarks: Content | None) -> None:
        self.query_one("#found", Static).update(figures)
        label = self.query_one("#notes", Static)
        label.display = remarks is not None
        label.update(remarks or "")

    def show_figures(self) -> None:
        """Say how much was found, and what is worth knowing about it."""
        if self.found is not None:
            result = self.found.result
            self._say(search_results.figures(result), search_results.remarks(result))

    def prepare(self) -> None:
        """Read earlier searches, then list words: one after the other, because each thread that
        reads has a connection with memory of its own.
        """
        self.access.ask(self, self.History, lambda store, _: store.saved_searches.history())

    def on_search_pane_history(self, event: History) -> None:
        """Keep earlier searches, and list words in the background."""
        event.stop()
        self._history = event.value
        if not self.access.read_only:
            self.access.ask(self, self.Words, _list_words)

    def on_search_pane_values(self, event: Values) -> None:
        """Offer values that occur."""
        event.stop()
        self.field.known = event.value

    # -- searching -------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the new text, or let the whole list be shown again."""
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
        """Search; a search that is still running is ended."""
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
        """Show what was found."""
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
        """Say why a search failed; the rest is a nicety that can be done without."""
        event.stop()
        if event.question is not self.Results or event.stale:
            return
        self.found = None
        self._say(Content(""), Content.styled(clean(str(event.error)), "$error"))
        self.post_message(self.NotSearched(self.text, event.error))

    def search_later(self) -> None:
        """Search again soon, because somebody wrote; everything stays where it is."""
        if self.is_searching and not self._again_planned:
            self._again_planned = True
            left = SEARCH_AGAIN - (time.monotonic() - self._searched_at)
            self.set_timer(max(left, 0.01), self.search_again)

    def search_again(self) -> None:
        """Search for the same text in the same order; everything stays where it is."""
        self._again_planned = False
        found = self.found
        if not self.is_searching:
            return
        if found is not None and found.text == self.text:
            self.run(limit=found.limit, order=found.result.order)
        else:
            self.run(to_top=True)

    def rank(self) -> None:
        """Show the most relevant first, unless an order was asked for."""
        found = self.found
        if found is None or found.result.order is not Order.NEWEST:
            return
        if "sort:" not in found.text and len(found.result.groups) > 1:
            self.run(order=Order.RELEVANCE, to_top=True)

    def toggle_order(self) -> None:
        """Change between newest and most relevant."""
        shown = self.found.result.order if self.found is not None else Order.NEWEST
        self._order = Order.NEWEST if shown is Order.RELEVANCE else Order.RELEVANCE
        if self.is_searching:
            self.run(to_top=True)

    def load_more(self, cursor: int, count: int) -> None:
        """Load more results when the last of those that are there come into sight."""
        found = self.found
        if found is None or found.result.conversations.exact or found.limit >= MAX_PAGE:
            return
        if cursor >= count - PAGE // 2:
            self.run(limit=found.limit * 4, order=found.result.order)

    # -- history ---------------------------------------------------------------------------

    def remember(self) -> None:
        """Keep the search text for later, when a person used what it found."""
        text = self.text.strip()
        if not text or self._history[:1] == (text,):
            return
        self._history = (text, *(each for each in self._history if each != text))
        if not self.access.read_only:
            self.access.note_search(text)

    @property
    def in_history(self) -> bool:
        """Whether an earlier search stands in the field."""
        return self._history_place >= 0

    def go_in_history(self, step: int) -> None:
        """Put an earlier search, or a later one, into the field."""
        if self._history_place < 0:
            self._draft = self.text
        place = max(-1, min(self._history_place + step, len(self._history) - 1))
        if place != self._history_place:
            self._history_place = place
            self.text = self._history[place] if place >= 0 else self._draft


def _list_words(store: Store, stopped: Stopped) -> None:
    """Bring the list of words up to date, a little at a time, so that typing is not held up.

    A file that is opened for the first time may take minutes; searches work meanwhile, those for
    the beginnings of words more slowly.
    """
    before, done = -1, 0

    def note(listed: int, _: int) -> None:
        nonlocal done
        done = listed

    # Where the list cannot be kept, nothing comes of it, and that is the end.
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
    """Return whether a stored name may be offered in a field, which shows it as it is."""
    return bool(name) and clean(str(name)) == name and not any(map(str.isspace, str(name)))
