"""The search part of the main screen: results on every key, order, history, remarks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.timer import Timer

from hermes_store.errors import StoreError
from hermes_store.records.listing import ListRow
from hermes_store.records.text import clean, local_day
from hermes_store.store import Store
from hermes_tui.access import Stopped, StoreChanged, Workers
from hermes_tui.browse.list_pane import ListPart
from hermes_tui.browse.messages import QueryChanged
from hermes_tui.opening import Opening

# Loaded with the first search: the first rows should not wait for it.
if TYPE_CHECKING:
    from hermes_store.records.search import Hit, Order, SearchResult

PAGE = 24
"""Conversations that a search returns at first; more when the end of the list comes near."""
MAX_PAGE = 4_000
WORDS_AT_ONCE = 0.1
"""Seconds of work, and of rest, while the list of words is made."""
SEARCH_AGAIN = 2.0
"""Seconds between two searches for the same text while others write."""
PAUSE = 0.8
"""Seconds without a key after which results are ranked."""


class Found(NamedTuple):
    """A search and what it found."""

    text: str
    limit: int
    result: SearchResult
    rows: list[ListRow]


class SearchPart(ListPart):
    """SavedSearches while a person types."""

    def __init__(self, office: Workers, opening: Opening) -> None:
        super().__init__(office, opening)
        self.found: Found | None = None
        self._order: Order | None = None
        self._pause: Timer | None = None
        self._history: tuple[str, ...] = ()
        self._history_place = -1
        self._draft = ""
        self._searched_at = 0.0
        self._values_asked = False
        self._again_planned = False

    def on_mount(self) -> None:
        """Begin with the search text that was given."""
        if self.opening.state.query:
            self.search_bar.text = self.opening.state.query

    def loaded_first(self) -> None:
        """Read earlier searches, then list words. One after the other: each thread that reads
        has a connection of its own, with memory of its own.
        """
        self.ask(
            "history", lambda store, _: store.saved_searches.history(), self._learn, lambda _: None
        )

    def _learn(self, history: tuple[str, ...]) -> None:
        self._history = history
        if not self.office.read_only:
            self.ask("words", _list_words, lambda _: None, lambda _: None)

    # -- searching -------------------------------------------------------------------------

    def on_query_changed(self, event: QueryChanged) -> None:
        """Search for the new text, or show the list again."""
        event.stop()
        if self._pause is not None:
            self._pause.stop()
        self.forget_what_waits()
        if not self.is_searching:
            self.office.cancel(self, "search")
            self.found = None
            self.search_bar.say_found(Content(""))
            self.search_bar.say_notes(None)
            self._show_list([], to_top=True)
            return
        self.run_search(to_top=True)

    def _complete(self, values: dict[str, tuple[str, ...]]) -> None:
        self.search_bar.known = values

    def run_search(
        self, *, limit: int = PAGE, order: Order | None = None, to_top: bool = False
    ) -> None:
        """Search; a search that is still running is ended."""
        text = self.search_bar.text
        wanted = order or self._order
        self._searched_at = time.monotonic()

        def search(store: Store, stopped: Stopped) -> Found:
            from hermes_store.records.search import Request

            request = Request(
                text,
                order=wanted,
                limit=limit,
                grouped=True,
                typing=True,
                cancelled=stopped,
                now=self.clock(),
            )
            result = store.search.run(request)
            roots = [group.root_id for group in result.groups]
            return Found(text, limit, result, store.lists.rows(roots, now=self.clock()))

        self.ask(
            "search",
            search,
            lambda found: self._show(found, to_top),
            lambda error: self._not_searched(error, text),
        )

    def _show(self, found: Found, to_top: bool) -> None:
        if found.text != self.search_bar.text:
            return
        to_top = to_top and self.app.screen is self  # below a dialog everything stays in its place
        self.found, self.not_searched = found, None
        groups = found.result.groups
        present = {row.id for row in found.rows}
        snippets = {group.root_id: group.hits[0].snippet for group in groups if group.hits}
        self.sessions.show_entries(
            [group.root_id for group in groups if group.root_id in present],
            found.rows,
            snippets,
            spans=found.result.highlighter,
            to_top=to_top,
        )
        self.search_bar.say_found(_figures(found.result))
        self.search_bar.say_notes(_notes(found.result))
        self.show_header()
        self.show_emptiness()
        self.follow()
        if not self._values_asked:
            self._values_asked = True
            self.ask("values", lambda store, _: _values(store), self._complete, lambda _: None)
        if to_top and self._order is None:
            self._pause = self.set_timer(PAUSE, self._rank)
        self.answers(found.text)

    def on_store_changed(self, event: StoreChanged) -> None:
        """Search again now and then while somebody writes; everything stays where it is."""
        left = SEARCH_AGAIN - (time.monotonic() - self._searched_at)
        if self.is_searching and not self._again_planned:
            self._again_planned = True
            self.set_timer(max(left, 0.01), self.search_again)

    def search_again(self) -> None:
        """Search for the same text in the same order; everything stays where it is."""
        self._again_planned = False
        found = self.found
        if not self.is_searching:
            return
        if found is not None and found.text == self.search_bar.text:
            self.run_search(limit=found.limit, order=found.result.order)
        else:
            self.run_search(to_top=True)

    def _not_searched(self, error: StoreError, text: str) -> None:
        if text != self.search_bar.text:
            return
        self.search_bar.say_notes(Content.styled(clean(str(error)), "$error"))
        if text != self.answered:  # what stands in the list has nothing to do with it
            self.found, self.not_searched = None, error
            self.sessions.show_entries([], snippets={}, to_top=True)
            self.search_bar.say_found(Content(""))
            self.show_emptiness()
            self.follow()
        self.answers(text)

    def _rank(self) -> None:
        """After a pause the most relevant come first, unless the person moved on to read."""
        from hermes_store.records.search import Order

        found = self.found
        if found is None or found.result.order is not Order.NEWEST:
            return
        if self.sessions.cursor or self.app.screen is not self:
            return
        if "sort:" not in found.text and len(found.result.groups) > 1:
            self.run_search(order=Order.RELEVANCE, to_top=True)

    def figures(self) -> str:
        """Return how much was found."""
        return _figures(self.found.result).plain if self.found is not None else "searching …"

    def near_end(self) -> None:
        """Load more results when the last of those that are there come into sight."""
        found = self.found
        if found is None or found.result.conversations.exact or found.limit >= MAX_PAGE:
            return
        if self.sessions.cursor >= self.sessions.count - PAGE // 2:
            self.run_search(limit=found.limit * 4, order=found.result.order)

    def hit_of(self, root_id: str) -> Hit | None:
        """Return the best hit of a conversation in the results."""
        if self.found is None:
            return None
        for group in self.found.result.groups:
            if group.root_id == root_id and group.hits:
                return group.hits[0]
        return None

    def follow(self) -> None:
        """Show the marked conversation on the right."""
        raise NotImplementedError

    def action_toggle_order(self) -> None:
        """Change between newest and most relevant."""
        from hermes_store.records.search import Order

        shown = self.found.result.order if self.found is not None else Order.NEWEST
        self._order = Order.NEWEST if shown is Order.RELEVANCE else Order.RELEVANCE
        if self.is_searching:
            self.run_search(to_top=True)

    # -- history ---------------------------------------------------------------------------

    def remember_search(self) -> None:
        """Keep the search text for later, when a person used what it found."""
        text = self.search_bar.text.strip()
        if not text or self._history[:1] == (text,):
            return
        self._history = (text, *(each for each in self._history if each != text))
        if not self.office.read_only:
            self.office.note_search(text)

    def action_history(self, step: int) -> None:
        """Put an earlier search, or a later one, into the field."""
        if self._history_place < 0:
            self._draft = self.search_bar.text
        place = max(-1, min(self._history_place + step, len(self._history) - 1))
        if place == self._history_place:
            return
        self._history_place = place
        self.search_bar.text = self._history[place] if place >= 0 else self._draft

    def action_list_up(self) -> None:
        """Mark the conversation above; above the first one, go through earlier searches."""
        if self.sessions.cursor == self.sessions.nearest(0) and not self._moved_down():
            self.action_history(1)
        else:
            self.sessions.action_cursor_up()

    def _moved_down(self) -> bool:
        return self.sessions.cursor > self.sessions.nearest(0)

    def action_list_down(self) -> None:
        """Mark the conversation below, or go back through later searches."""
        if self._history_place >= 0 and not self._moved_down():
            self.action_history(-1)
        else:
            self.sessions.action_cursor_down()

    def action_list_page(self, direction: int) -> None:
        """Mark the conversation a page further."""
        self.sessions.move(direction * self.sessions.page())


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


def _values(store: Store) -> dict[str, tuple[str, ...]]:
    """Return values of fields that occur in the database."""
    models = tuple(
        dict.fromkeys(
            usage.model for usage in store.upkeep.usage_by_model() if _can_be_typed(usage.model)
        )
    )
    tags = tuple(name for name, _ in store.marks.tags() if _can_be_typed(name))
    return {"model": models, "tag": tags}


def _can_be_typed(name: str | None) -> bool:
    """Tell whether a stored name may be offered in a field, which shows it as it is."""
    return bool(name) and clean(str(name)) == name and not any(map(str.isspace, str(name)))


def _figures(result: SearchResult) -> Content:
    from hermes_store.records.search import Order

    messages, conversations = result.messages, result.conversations
    said = "message" if messages.number == 1 and messages.exact else "messages"
    where = "conversation" if conversations.number == 1 and conversations.exact else "conversations"
    text = f"{messages} {said} in {conversations} {where} · {result.order.value} first"
    if result.order is Order.RELEVANCE:
        text = f"{messages} {said} in {conversations} {where} · most relevant first"
    return Content.styled(text, "$foreground-muted")


def _notes(result: SearchResult) -> Content | None:
    """Return what is worth saying about a search: how it was widened, what was not understood."""
    from hermes_store.records.search import Severity

    parts: list[tuple[str, str]] = []
    for step in result.relaxations:
        parts.append((f"{step.explanation}\n", "$warning"))
    for remark in result.diagnostics:
        colour = "$error" if remark.severity is Severity.PROBLEM else "$foreground-muted"
        parts.append((f"{remark.message}\n", colour))
    if result.searched_back_to is not None:
        day = local_day(result.searched_back_to)
        parts.append((f"Searched back to {day:%d %B %Y}; the rest takes longer.\n", "$warning"))
    elif result.partial:
        parts.append(("Stopped before everything was searched.\n", "$warning"))
    if not parts:
        return None
    # What is wrong in three places is said once.
    said = dict.fromkeys((clean(text), colour) for text, colour in parts)
    return Content.assemble(*said).rstrip()
