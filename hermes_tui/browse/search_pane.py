"""The search pane: searches on every key, and shows counts and remarks."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.widgets import Input

from hermes_store.errors import StoreError
from hermes_store.records.marks import SavedSearch
from hermes_store.records.safe_text import clean
from hermes_store.records.search import Order, Request
from hermes_store.store import Store
from hermes_tui.browse.completion import Known, choices, labels, typed_value, with_value
from hermes_tui.browse.completion_list import CompletionList
from hermes_tui.browse.found import Found
from hermes_tui.browse.search_chips import chips
from hermes_tui.browse.search_field import SearchField
from hermes_tui.presentation import search_results
from hermes_tui.presentation.fit_text import cell_width, plain
from hermes_tui.store_access import Access, Answer, Failed, Stopped
from hermes_tui.widgets.notice import Keep, Notice
from hermes_tui.widgets.plain_text import PlainText

PAGE = 24
"""Conversations a search returns at a time; more when the user nears the end of the list."""
SEARCH_AGAIN = 2.0
"""Seconds between two searches for the same text while the database changes."""


class SearchPane(Vertical):
    """Searches while the user types."""

    field = query_one(SearchField)
    completions = query_one(CompletionList)
    chips = query_one("#chips", PlainText)

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

    class Earlier(Answer[tuple[tuple[str, ...], tuple[SavedSearch, ...], Known]]):
        """Earlier searches, saved searches, and field values in the database."""

    class Words(Answer[None]):
        """The list of words is up to date."""

    def __init__(
        self,
        access: Access,
        clock: Callable[[], float],
        key: Callable[[str], str],
        order: str | None = None,
    ) -> None:
        """`key` returns the key of an action, for display; `order` was chosen last time."""
        super().__init__(id="search")
        self.access = access
        self._key = key
        self.saved: tuple[SavedSearch, ...] = ()
        self.found: Found | None = None
        self.here: str | None = None
        """The only workspace to search."""
        self.workspace: str | None = None
        """What the path of a workspace must contain to be searched."""
        self._clock = clock
        self._order = _order(order)
        self._before: Found | None = None
        """The pages before the one that is being read."""
        self._history: tuple[str, ...] = ()
        self._history_place = -1
        self._draft = ""
        self._searched_at = 0.0
        self._words_asked = False
        self._again_planned = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="search-line"):
            yield PlainText("❯ ", id="prompt")
            yield SearchField()
            yield PlainText("", id="chips")
            yield PlainText("", id="found")
        yield PlainText("", id="notes")
        yield CompletionList()

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

    def _say(self, figures: Content, status: Content) -> None:
        self.query_one("#found", PlainText).update(figures)
        self.query_one("#notes", PlainText).update(status)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def show_figures(self) -> None:
        """Show the number of results, their order and any remarks; or the saved searches."""
        if self.found is not None and self.is_searching:
            result = self.found.result
            self._say(
                search_results.figures(result), search_results.status(result, self._key("order"))
            )
        elif not self.is_searching:
            key, numbered = self._key("saved-searches"), not self.field.has_focus
            tabs = search_results.tabs(self.saved, self.text, key, numbered=numbered)
            self._say(Content(""), tabs)

    def prepare(self) -> None:
        """Read earlier and saved searches and known values, then update the list of words.

        One after the other, because each reading thread has a connection with its own memory.
        """
        self.access.ask(self, self.Earlier, lambda store, _: _earlier(store))

    def on_search_pane_earlier(self, event: Earlier) -> None:
        event.stop()
        self._history, self.saved, self.field.known = event.value
        self.show_figures()
        if not self.access.read_only and not self._words_asked:
            self._words_asked = True
            self.access.ask(self, self.Words, _list_words)

    # -- searching -------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(self.text))
        self.chips.update(chips(self.text))
        self._offer()
        if self.is_searching:
            self.run(to_top=True)
            return
        self.access.cancel(self, self.Results.__qualname__)
        self.found = None
        self.show_figures()

    def _offer(self) -> None:
        """Offer the values of a field at the end of the text."""
        field = self.field
        at_end = field.has_focus and field.cursor_position == len(self.text)
        offered = choices(self.text, field.known) if at_end else []
        typed = cell_width(typed_value(self.text))
        called = labels(self.text, [value for value, _ in offered])
        self.completions.offer(offered, cell_width(self.text) - typed + 1, called)

    def complete(self) -> bool:
        """Take the current value, or complete a name; return whether there was anything to do."""
        value = self.completions.current
        if value is None:
            return self.field.complete()
        self.field.replace_text(with_value(self.text, value) + " ")
        return True

    def remove_text(self, start: int, end: int) -> None:
        """Remove a part of the text, such as a field."""
        rest = f"{self.text[:start].rstrip()} {self.text[end:].lstrip()}"
        self.field.replace_text(rest.strip())

    def take_completion(self) -> bool:
        """Take the value that was chosen with the arrow keys; return whether there was one."""
        return self.completions.moved and self.complete()

    def run_saved(self, number: int) -> None:
        """Run a saved search by its number; 0 shows all conversations."""
        if number <= len(self.saved):
            self.text = self.saved[number - 1].text if number else ""
            return
        key = self._key("saved-searches")
        self.post_message(Notice(f"There is no saved search {number}. {key} saves one."))

    def run(
        self,
        *,
        limit: int = PAGE,
        order: Order | None = None,
        to_top: bool = False,
        before: Found | None = None,
    ) -> None:
        """Search, canceling a search that is still running; with `before`, for the next page."""
        text, now = self.text, self._clock()
        wanted = order or (None if "sort:" in text.lower() else self._order)
        here, workspace = self.here, self.workspace
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
                workspace=workspace,
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
        if self._again_planned:
            self._again_planned = False
            self.search_later()

    def on_failed(self, event: Failed) -> None:
        """Show why a search failed; history, values and words are optional."""
        event.stop()
        if event.question is not self.Results or event.stale:
            return
        self.found = None
        self._say(Content(""), Content.styled(plain(str(event.error)), "$error"))
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
        self.post_message(Keep(search_order=self._order.value))
        if self.is_searching:
            self.run(to_top=True)

    def use_order(self, name: str | None) -> None:
        """Show results in the order that was chosen in the settings."""
        if _order(name) is not self._order:
            self._order = _order(name)
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


def _order(name: str | None) -> Order | None:
    return next((each for each in Order if each.value == name), None)


def _list_words(store: Store, stopped: Stopped) -> None:
    """Make the list of words; searches work meanwhile, parts of words by reading messages."""
    store.search.prepare(stopped=stopped)


def _earlier(store: Store) -> tuple[tuple[str, ...], tuple[SavedSearch, ...], Known]:
    known = {
        field: {value: number for value, number in values.items() if _can_be_typed(value)}
        for field, values in store.search.values().items()
    }
    return store.saved_searches.history(), store.saved_searches.list(), known


def _can_be_typed(name: str | None) -> bool:
    """Return whether a stored name is safe to offer in the search field."""
    return bool(name) and clean(str(name)) == name and not any(map(str.isspace, str(name)))
