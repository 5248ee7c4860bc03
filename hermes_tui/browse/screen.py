"""The main screen, which connects search pane, list pane and reading pane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.records.listing import Hidden
from hermes_tui import actions
from hermes_tui.actions import Scope, bindings
from hermes_tui.browse.action_after_search import Pending
from hermes_tui.browse.change_conversations import Changes
from hermes_tui.browse.key_hints import hints
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.browse.panes import Panes
from hermes_tui.browse.reading_pane import ReadingPane
from hermes_tui.browse.resuming import Resuming
from hermes_tui.browse.search_pane import SearchPane
from hermes_tui.browse.session_list_widget import SessionList
from hermes_tui.opening.first_list_rows import Head
from hermes_tui.opening.kept_state import LEAST_SPLIT, MOST_SPLIT
from hermes_tui.opening.start_options import Choice, Opening
from hermes_tui.presentation import browser_header
from hermes_tui.store_access import Access, StoreChanged
from hermes_tui.textual_private import KeysInOrder
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Keep, Notice
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.status_bar import StatusBar
from hermes_tui.widgets.virtual_list import VirtualList


class BrowseScreen(Screen[Choice]):
    """Conversations on the left, the current one on the right, the search pane above."""

    BINDINGS = bindings(Scope.ANYWHERE)

    search = query_one(SearchPane)
    list = query_one(ListPane)
    reading = query_one(ReadingPane)
    changes = query_one(Changes)
    split: reactive[int] = reactive(55, init=False)  # percent of the width, for the list
    header = query_one("#header", PlainText)
    status = query_one(StatusBar)

    def __init__(
        self,
        access: Access,
        opening: Opening,
        keys: Mapping[str, str],
        head: Head | None = None,
    ) -> None:
        """`keys` are those the user has changed; `head` was read beforehand."""
        super().__init__()
        self.access = access
        self.opening = opening
        self._keys = keys
        self._head = head
        self._begun = False
        self._pending = Pending()
        self._resuming = Resuming(self, access, opening)

    def compose(self) -> ComposeResult:
        with Vertical(id="top"):
            yield PlainText("", id="header")
            order = self.opening.kept.search_order
            yield SearchPane(self.access, self.opening.clock, self._key, order)
        yield ListPane(self.access, self.opening, self._head)
        yield ReadingPane(self.access, self.opening)
        yield Changes(self.access, self.opening, self._undo_key)
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """Show the first rows, and start reading once they are painted.

        Threads that read at the same time would double the time to the first frame.
        """
        self.search.field.focus()
        self.split = self.opening.kept.split
        self.watch(self.app, "kept", lambda kept: self.panes.apply(kept), init=False)
        self.panes.begin()
        if self.opening.state.query:
            self.search.text = self.opening.state.query
            self.list.searching()
        if self.opening.notice:
            self.say(self.opening.notice)
        if self.list.begin():
            self.show_header()
            self.call_after_refresh(self._begin, self.list.load_all)
        else:
            self._begin(self.list.load)

    def _begin(self, load: Callable[[], None]) -> None:
        self._begun = True
        self.reading.follow_if_moved(*self.panes.marked())
        load()
        self.access.watch(self)

    @property
    def panes(self) -> Panes:
        """The three panes."""
        return Panes(self.search, self.list, self.reading)

    def _key(self, action_id: str) -> str:
        return actions.key_for(action_id, self._keys)

    def _undo_key(self) -> str:
        return self._key("undo-now")  # a letter would be typed into the search field

    def on_store_changed(self, event: StoreChanged) -> None:
        event.stop()
        self.list.refresh_list()
        self.search.search_later()
        self.reading.refresh_page()

    def on_resize(self) -> None:
        self.show_header()
        self.watch_split(self.split)

    # -- messages to the user --------------------------------------------------------------

    def say(self, sentence: str, *, error: bool = False, action: str = "") -> None:
        """Show a message in the status line; a click on it runs an action."""
        self.status.say(sentence, error=error, action=action)

    def on_notice(self, event: Notice) -> None:
        event.stop()
        self.say(event.text, error=event.error)

    def on_changes_done(self, event: Changes.Done) -> None:
        event.stop()
        hidden = event.archived if Hidden.ARCHIVED not in self.list.view.shown else ()
        self.list.sessions.forget((*event.gone, *hidden))
        if event.text:
            self.say(event.text, action="screen.undo" if event.undoable else "")
        self.list.refresh_list()
        self.search.search_again()
        self._follow()

    def on_changes_search_chosen(self, event: Changes.SearchChosen) -> None:
        event.stop()
        self.search.text = event.text
        self.search.field.focus()

    def show_header(self) -> None:
        """Update the header."""
        found = self.search.figures() if self.search.is_searching else None
        header = replace(
            self.list.header(found),
            scope_key=self._key("scope"),
            hidden_key="" if self.search.field.has_focus else self._key("hidden"),
        )
        self.header.update(browser_header.content(header, self.size.width))

    @on(SessionList.SelectionChanged)
    def _selection_changed(self, event: SessionList.SelectionChanged) -> None:
        event.stop()
        self.show_header()

    # -- between the panes -----------------------------------------------------------------

    def on_search_pane_changed(self, event: SearchPane.Changed) -> None:
        """Drop an action that waits for another text; without text, show the whole list."""
        event.stop()
        self._pending.typed(event.text)
        if self.search.is_searching:
            self.list.searching()
        else:
            self.list.show_all()

    def on_search_pane_shown(self, event: SearchPane.Shown) -> None:
        """Show the results; do not scroll while a dialog is open."""
        event.stop()
        found = event.found
        if found.text == self.search.text:
            self.list.show_found(found, to_top=found.to_top and self.app.screen is self)
            self.search.show_figures()

    def on_search_pane_not_searched(self, event: SearchPane.NotSearched) -> None:
        """Show the failure, unless the list already answers this text."""
        event.stop()
        if event.text == self._pending.answered:
            self._answer(event.text)
        else:
            self.list.show_failure(event.text, event.error)

    def on_list_pane_shown(self, event: ListPane.Shown) -> None:
        event.stop()
        self.panes.keep_focus(self.focused)
        self.show_header()
        if self.search.is_searching and event.text == self.search.text:
            self._follow()
            if not event.undecided:
                self._answer(event.text)
        elif not self.search.is_searching:
            if self._begun:
                self.reading.follow_if_moved(*self.panes.marked())
            self._answer(self.search.text)

    def on_list_pane_loaded_first(self, event: ListPane.LoadedFirst) -> None:
        event.stop()
        self.show_header()  # the results of a search may already be there
        self.search.prepare()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        event.stop()
        if isinstance(event.view, SessionList):
            self._follow()
            self.search.load_more(event.view.cursor, event.view.count)

    def _follow(self) -> None:
        self.reading.follow(*self.panes.marked())

    # -- actions on conversations ----------------------------------------------------------

    def _answer(self, text: str) -> None:
        self._pending.answer(text, wanted=self.app.screen is self)

    @property
    def holds_keys(self) -> bool:
        """Whether an action waits for the results of what was typed before it."""
        return self._pending.is_waiting

    def action_change(self, what: str) -> None:
        """Start a change once the list answers what was typed."""
        change = self.changes.named(what)
        if not self._pending.wait_for(self.search.text, lambda: self.action_change(what)):
            change(self.list.sessions)

    def action_undo(self) -> None:
        self.changes.undo()

    def action_prune(self) -> None:
        self.changes.prune(self.list.view.here)

    def action_trash(self) -> None:
        self.changes.trash()

    def action_saved_searches(self) -> None:
        self.changes.saved_searches(self.search.text.strip())

    def on_transcript_copied(self, event: Transcript.Copied) -> None:
        event.stop()
        self.changes.copy(event.text, event.what)

    # -- moving ----------------------------------------------------------------------------

    def action_next_pane(self) -> None:
        """Go to the next pane; from a search, once the list shows what was typed."""
        typing = self.search.field.has_focus
        if typing and self.search.complete():
            return
        searching = typing and self.search.is_searching
        go = partial(self.panes.go, 1)
        if not (searching and self._pending.wait_for(self.search.text, go)):
            go()

    def action_previous_pane(self) -> None:
        self.panes.go(-1)

    def action_search(self) -> None:
        self.search.field.focus()

    def action_list_up(self) -> None:
        self.panes.up()

    def action_list_down(self) -> None:
        self.panes.down()

    def action_list_page(self, direction: int) -> None:
        self.list.sessions.move(direction * self.list.sessions.page())

    def action_history(self, step: int) -> None:
        self.search.go_in_history(step)

    def action_toggle_order(self) -> None:
        self.search.toggle_order()

    def action_sort(self) -> None:
        self.panes.sort()

    def action_saved(self, number: int) -> None:
        self.search.run_saved(number)

    def action_split(self, percent: int) -> None:
        """Make the list wider or narrower."""
        self.split = max(LEAST_SPLIT, min(self.split + percent, MOST_SPLIT))
        self.post_message(Keep(split=self.split))

    def watch_split(self, percent: int) -> None:
        self.list.styles.width = None if self.has_class("-single") else f"{percent}%"

    def action_remove_field(self, start: int, end: int) -> None:
        self.search.remove_text(start, end)

    def action_hidden_kinds(self) -> None:
        """Choose what to show of what is hidden."""
        from hermes_tui.dialogs.hidden_kinds import HiddenDialog

        def apply(kinds: frozenset[Hidden] | None) -> None:
            if kinds is not None:
                self.list.show_kinds(kinds)

        self.app.push_screen(HiddenDialog(self.list.hidden, self.list.view.shown), apply)

    def action_show_tab(self, tab: str) -> None:
        self.reading.show_tab(tab)
        self.post_message(Keep(page=tab))

    def action_next_tab(self) -> None:
        self.reading.next_tab()
        self.post_message(Keep(page=self.reading.tab))

    def action_scope(self) -> None:
        self.panes.toggle_scope()

    def action_everything(self) -> None:
        self.reading.toggle_everything()

    def action_match(self, direction: int) -> None:
        self.reading.go_to_match(direction)

    @on(Changes.SearchesChanged)
    def _look_for_saved_searches(self) -> None:
        self.search.prepare()

    @on(ReadingPane.TabChanged)
    @on(events.ScreenResume)
    def show_hints(self) -> None:
        """Update the key hints."""
        self.status.show(hints(self.focused, self._keys, chooser=self.opening.chooser))

    def on_descendant_focus(self) -> None:
        self.set_class(self.reading.has_focus_within, "-pane")
        self.show_hints()
        self.show_header()

    def namespace(self, scope: Scope) -> Widget:
        """Return the widget that the actions of a scope belong to."""
        return {Scope.LIST: self.list, Scope.READING: self.reading}.get(scope, self)

    # -- back, resume, quit ----------------------------------------------------------------

    def action_back(self) -> None:
        """Leave the pane, clear the selection or the search, or quit at the second time."""
        if self.panes.leave_details():
            return
        if self.opening.chooser and self.search.text in ("", self.opening.state.query):
            self.dismiss(None)
        elif self.panes.leave_search():
            return
        elif isinstance(self.app, KeysInOrder) and self.app.is_asked_twice():
            self.app.exit()
        else:
            self.say(f"{self._key('back')} again quits.")

    def action_resume(self) -> None:
        if not self._pending.wait_for(self.search.text, self.action_resume):
            target = self.list.sessions.target()
            if target is not None:
                self._resuming.resume(target.resumed_id, self.panes)

    def action_new_chat(self) -> None:
        if refusal := self.opening.refuses_new():
            self.say(refusal, error=True)
        else:
            self._resuming.resume(None, self.panes)

    @on(Input.Submitted, "#query")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self.search.take_completion():
            self.action_resume()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Resume a conversation of the list, or go to a session of the lineage tree."""
        event.stop()
        if isinstance(event.view, SessionList):
            self.action_resume()
        elif isinstance(event.view, LineageTree):
            branch = event.view.branch(event.index)
            if branch is not None:
                self.panes.go_to(branch.session.id)

    def action_find(self) -> None:
        self.reading.open_find()

    def action_zoom(self) -> None:
        self.reading.action_zoom()
