"""The search pane: searches on every key, and shows counts and remarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.widgets import Input

from hermes_store.errors import StoreError
from hermes_store.records.listing import ListRow
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit, Order, Request, SearchResult
from hermes_store.records.workspace import short_name
from hermes_store.store import Store
from hermes_tui.browse.search_field import Known, SearchField
from hermes_tui.presentation import search_results
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.plain_text import PlainText

PAGE = 24
"""Conversations a search returns at a time; more when the user nears the end of the list."""
SEARCH_AGAIN = 2.0
"""Seconds between two searches for the same text while the database changes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A search and its results."""

    text: str
    result: SearchResult
    rows: list[ListRow]
    to_top: bool
    """Whether the list should scroll to its top."""

    def with_more(self, more: Found) -> Found:
        """Return this page and the next one as one."""
        result = replace(
            more.result,
            groups=(*self.result.groups, *more.result.groups),
            messages=self.result.messages,
        )
        return replace(more, result=result, rows=[*self.rows, *more.rows])

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

    class Results(Answer[Found]):
        """The results of a search, complete or not yet."""

    class History(Answer[tuple[str, ...]]):
        """The search history."""

    class Words(Answer[None]):
        """The list of words is up to date."""

    class Values(Answer[Known]):
        """Field values in the database."""

    def __init__(self, access: Access, clock: Callable[[], float]) -> None:
        super().__init__(id="search")
        self.access = access
        self.found: Found | None = None
        self.here: str | None = None
        """The only workspace to search."""
        self._clock = clock
        self._order: Order | None = None
        self._before: Found | None = None
        """The pages before the one that is being read."""
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
        """Read the search history, then bring the list of words up to date.

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
        self.post_message(self.Changed(self.text))
        if self.is_searching:
            self.run(to_top=True)
            return
        self.access.cancel(self, self.Results.__qualname__)
        self.found = None
        self._say(Content(""), None)

    def run(
        self,
        *,
        limit: int = PAGE,
        order: Order | None = None,
        to_top: bool = False,
        before: Found | None = None,
    ) -> None:
        """Search, canceling a search that is still running; with `before`, for the next page."""
        text, wanted, now = self.text, order or self._order, self._clock()
        here = self.here
        self._searched_at = time.monotonic()
        self._before = before
        after = before.result.next if before is not None else None

        def search(store: Store, stopped: Stopped) -> Generator[Found, None, Found]:
            request = Request(
                text,
                order=wanted,
                limit=limit,
                after=after,
                here=here,
                grouped=True,
                typing=True,
                cancelled=stopped,
                now=now,
            )
            found = None
            for result in store.search.stream(request):
                roots = [group.root_id for group in result.groups]
                found = Found(text, result, store.lists.rows(roots, now=now), to_top)
                if result.partial:
                    yield found
            assert found is not None
            return found

        self.access.follow(self, self.Results, search)

    def on_search_pane_results(self, event: Results) -> None:
        """Show results; what comes after the first moves nothing."""
        event.stop()
        found = event.value
        if event.stale or found.text != self.text:
            return
        if self._before is not None:
            found = self._before.with_more(found)
        elif self.found is not None and self.found.text == found.text and self.found.result.partial:
            found = replace(found, to_top=False)
        self.found = found
        self.post_message(self.Shown(found))
        if found.result.partial:
            return
        if not self._values_asked:
            self._values_asked = True
            self.access.ask(self, self.Values, lambda store, _: _values(store))
        if self._again_planned:
            self._again_planned = False
            self.search_later()

    def on_failed(self, event: Failed) -> None:
        """Show why a search failed; history, values and words are optional."""
        event.stop()
        if event.question is not self.Results or event.stale:
            return
        self.found = None
        self._say(Content(""), Content.styled(clean(str(event.error)), "$error"))
        self.post_message(self.NotSearched(self.text, event.error))

    def search_later(self) -> None:
        """Search again soon, because the database changed, without moving anything.

        A search that is still going on comes to its end first.
        """
        if not self.is_searching or self._again_planned:
            return
        self._again_planned = True
        if self.found is not None and not self.found.result.partial:
            left = SEARCH_AGAIN - (time.monotonic() - self._searched_at)
            self.set_timer(max(left, 0.01), self.search_again)

    def search_again(self) -> None:
        """Search for the same text in the same order, without moving anything."""
        self._again_planned = False
        found = self.found
        if not self.is_searching:
            return
        if found is not None and found.text == self.text:
            shown = max(PAGE, len(found.result.groups))
            self.run(limit=shown, order=found.result.order)
        else:
            self.run(to_top=True)

    def toggle_order(self) -> None:
        """Switch between newest and most relevant first."""
        shown = self.found.result.order if self.found is not None else Order.NEWEST
        self._order = Order.NEWEST if shown is Order.RELEVANCE else Order.RELEVANCE
        if self.is_searching:
            self.run(to_top=True)

    def load_more(self, cursor: int, count: int) -> None:
        """Load more results when the cursor nears the last one."""
        found = self.found
        if found is None or found.result.partial or found.result.next is None:
            return
        if cursor >= count - PAGE // 2:
            self.run(order=found.result.order, before=found)

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
    """Make the list of words; searches work meanwhile, parts of words by reading messages."""
    store.search.prepare(stopped=stopped)


def _values(store: Store) -> Known:
    models = dict.fromkeys(usage.model for usage in store.upkeep.usage_by_model())
    tags = (name for name, _ in store.marks.tags())
    workspaces = dict.fromkeys(short_name(each) for each in store.lists.workspaces())
    return {
        "workspace": tuple(filter(_can_be_typed, workspaces)),
        "branch": tuple(filter(_can_be_typed, store.lists.branches())),
        "model": tuple(filter(_can_be_typed, models)),
        "tag": tuple(filter(_can_be_typed, tags)),
    }


def _can_be_typed(name: str | None) -> bool:
    """Return whether a stored name is safe to offer in the search field."""
    return bool(name) and clean(str(name)) == name and not any(map(str.isspace, str(name)))
