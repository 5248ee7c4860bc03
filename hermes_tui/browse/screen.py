"""The main screen, which connects search pane, list pane and reading pane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.records.safe_text import clean
from hermes_store.records.search import Hit
from hermes_tui import actions
from hermes_tui.actions import Scope, bindings
from hermes_tui.browse.action_after_search import Pending
from hermes_tui.browse.change_conversations import Changes
from hermes_tui.browse.key_hints import hints
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.browse.reading_pane import ReadingPane
from hermes_tui.browse.search_pane import SearchPane
from hermes_tui.browse.session_list_widget import SessionList, Target
from hermes_tui.first_list_rows import Head
from hermes_tui.presentation import browser_header
from hermes_tui.start_options import Choice, Opening, State
from hermes_tui.store_access import Access, StoreChanged
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.notice import Notice
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
    header = query_one("#header", PlainText)
    status = query_one(StatusBar)

    @dataclass
    class OpenChat(Message):
        """A session should be resumed in the built-in chat."""

        session_id: str
        then: Callable[[Choice | None], None]
        """Called with the result of the chat."""

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

    def compose(self) -> ComposeResult:
        with Vertical(id="top"):
            yield PlainText("", id="header")
            yield SearchPane(self.access, self.opening.clock)
        yield ListPane(self.access, self.opening, self._head)
        yield ReadingPane(self.access, self.opening)
        yield Changes(self.access, self.opening, self._undo_key)
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """Show the first rows, and start reading once they are painted.

        Threads that read at the same time would double the time to the first frame.
        """
        self.search.field.focus()
        self.search.here = self.list.view.here
        if self.opening.state.query:
            self.search.text = self.opening.state.query
            self.list.searching()
        if self.opening.notice:
            self.notify(self.opening.notice, severity="warning", timeout=12, markup=False)
        if self.list.begin():
            self.show_header()
            self.call_after_refresh(self._begin, self.list.load_all)
        else:
            self._begin(self.list.load)

    def _begin(self, load: Callable[[], None]) -> None:
        self._begun = True
        self.reading.follow_if_moved(*self._marked())
        load()
        self.access.watch(self)

    def _undo_key(self) -> str:
        # Not a letter: it would be typed into the search field.
        return actions.key_for("undo-now", self._keys)

    def on_store_changed(self, event: StoreChanged) -> None:
        event.stop()
        self.list.refresh_list()
        self.search.search_later()
        self.reading.refresh_page()

    def on_resize(self) -> None:
        self.show_header()

    # -- messages to the user --------------------------------------------------------------

    def say(self, sentence: str, *, error: bool = False) -> None:
        """Show a message; one that is not an error replaces earlier ones."""
        if error:
            self.notify(clean(sentence), severity="error", timeout=10, markup=False)
            return
        self.app.clear_notifications()
        self.notify(clean(sentence), markup=False)

    def on_notice(self, event: Notice) -> None:
        event.stop()
        self.say(event.text, error=event.error)

    def on_changes_done(self, event: Changes.Done) -> None:
        event.stop()
        if event.text:
            self.list.sessions.selected = {}
            self.say(event.text)
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
        key = actions.key_for("scope", self._keys)
        header = replace(self.list.header(found), scope_key=key)
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
        self.show_header()
        if self.search.is_searching and event.text == self.search.text:
            self._follow()
            if not event.undecided:
                self._answer(event.text)
        elif not self.search.is_searching:
            if self._begun:
                self.reading.follow_if_moved(*self._marked())
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
        self.reading.follow(*self._marked())

    def _marked(self) -> tuple[Target | None, str, Hit | None]:
        target = self.list.sessions.target()
        found = self.search.found
        hit = found.hit_of(target.root_id) if found is not None and target is not None else None
        return target, self.search.text if self.search.is_searching else "", hit

    # -- actions on conversations ----------------------------------------------------------

    def _answer(self, text: str) -> None:
        self._pending.answer(text, wanted=self.app.screen is self)

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
        self.changes.copy(event.text, f"{len(event.text):,} characters")

    # -- moving ----------------------------------------------------------------------------

    def _go_pane(self, step: int) -> None:
        stops: list[Widget] = [self.search.field, self.list.sessions, self.reading.page]
        place = next((i for i, stop in enumerate(stops) if stop.has_focus), 0)
        stop = stops[(place + step) % len(stops)]
        if stop is self.list.sessions and not stop.display:
            stop = stops[(place + 2 * step) % len(stops)]
        stop.focus()

    def action_next_pane(self) -> None:
        if not (self.search.field.has_focus and self.search.field.complete()):
            self._go_pane(1)

    def action_previous_pane(self) -> None:
        self._go_pane(-1)

    def action_search(self) -> None:
        self.search.field.focus()

    def action_list_up(self) -> None:
        """Move up in the list; from the first row, go back in the search history."""
        if self._moved_down():
            self.list.sessions.action_cursor_up()
        else:
            self.search.go_in_history(1)

    def action_list_down(self) -> None:
        """Move down in the list, or forward in the search history."""
        if self.search.in_history and not self._moved_down():
            self.search.go_in_history(-1)
        else:
            self.list.sessions.action_cursor_down()

    def _moved_down(self) -> bool:
        return self.list.sessions.cursor > self.list.sessions.nearest(0)

    def action_list_page(self, direction: int) -> None:
        self.list.sessions.move(direction * self.list.sessions.page())

    def action_history(self, step: int) -> None:
        self.search.go_in_history(step)

    def action_toggle_order(self) -> None:
        self.search.toggle_order()

    def action_show_tab(self, tab: str) -> None:
        self.reading.show_tab(tab)

    def action_next_tab(self) -> None:
        self.reading.next_tab()

    def action_scope(self) -> None:
        """Show and search this workspace only, or all."""
        if self.list.toggle_scope():
            self.search.here = self.list.view.here
            self.search.search_again()

    def action_everything(self) -> None:
        self.reading.toggle_everything()

    def action_match(self, direction: int) -> None:
        self.reading.go_to_match(direction)

    @on(ReadingPane.TabChanged)
    @on(events.ScreenResume)
    def show_hints(self) -> None:
        """Update the key hints."""
        self.status.show(hints(self.focused, self._keys))

    def on_descendant_focus(self) -> None:
        self.set_class(self.reading.has_focus_within, "-pane")
        self.show_hints()

    def namespace(self, scope: Scope) -> Widget:
        """Return the widget that the actions of a scope belong to."""
        return self.list if scope is Scope.LIST else self

    # -- back, resume, quit ----------------------------------------------------------------

    def action_back(self) -> None:
        """Leave the pane, clear the selection or the search, or quit."""
        sessions = self.list.sessions
        if self.reading.has_focus_within:
            sessions.focus()
        elif sessions.selected:
            self.list.action_select_all()
        elif self.search.text:
            self.search.text = ""
            self.search.field.focus()
        elif sessions.has_focus:
            self.search.field.focus()
        elif self.opening.chooser:
            self.dismiss(None)
        else:
            self.app.exit()

    def action_resume(self) -> None:
        if not self._pending.wait_for(self.search.text, self.action_resume):
            target = self.list.sessions.target()
            if target is not None:
                self._resume(target.resumed_id)

    def _state(self) -> State:
        return State(self.search.text, self.list.sessions.current_id(), self.reading.tab)

    def _resume(self, session_id: str) -> None:
        opening = self.opening
        self.search.remember()
        if opening.chooser:
            self.dismiss(Choice(session_id, self._state()))
        elif opening.print_id or opening.open_chat is None or opening.is_taken_over():
            self.app.exit(Choice(session_id, self._state()))
        else:
            self.post_message(self.OpenChat(session_id, self._back_from_chat))

    def _back_from_chat(self, choice: Choice | None) -> None:
        if choice is not None and choice.state.query:
            self.search.text = choice.state.query
        self.list.refresh_list()
        self._follow()

    @on(Input.Submitted, "#query")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_resume()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Resume a conversation of the list, or go to a session of the lineage tree."""
        event.stop()
        if isinstance(event.view, SessionList):
            self.action_resume()
        elif isinstance(event.view, LineageTree):
            branch = event.view.branch(event.index)
            if branch is not None:
                self._go_to(branch.session.id)

    def _go_to(self, session_id: str) -> None:
        if not self.list.sessions.go_to(session_id):
            self.search.text = f"id:{session_id}"
        self.list.sessions.focus()

    def action_find(self) -> None:
        from hermes_tui.dialogs.base import Ask

        dialog = Ask("Find in this conversation", self.reading.find_text or "", "Find")
        self.app.push_screen(
            dialog, lambda text: self.reading.find(text or None) if text is not None else None
        )
