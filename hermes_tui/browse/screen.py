"""The main screen, put together: focus, keys, and leaving it."""

from __future__ import annotations

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input

from hermes_tui import actions
from hermes_tui.actions import Scope
from hermes_tui.browse.changes import ChangePart
from hermes_tui.browse.lineage_tree import LineageTree
from hermes_tui.browse.messages import OpenChat
from hermes_tui.browse.session_list import SessionList
from hermes_tui.opening import Choice, State
from hermes_tui.transcript.view import Transcript
from hermes_tui.widgets.virtual_list import VirtualList


class BrowseScreen(ChangePart):
    """Conversations on the left, one of them on the right, and a search pane above."""

    def on_mount(self) -> None:
        """Begin in the search pane."""
        self.search_bar.input.focus()
        if self.opening.notice:
            self.notify(self.opening.notice, severity="warning", timeout=12, markup=False)

    # -- size ------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Use the room there is."""
        self.show_header()
        self.show_tabs()

    # -- focus -----------------------------------------------------------------------------

    def _stops(self) -> list[Widget]:
        """Return what Tab goes through."""
        return [self.search_bar.input, self.sessions, self._page()]

    def _page(self) -> Widget:
        return self.query_one(f"#{self.tab}")

    def focus_pane(self) -> None:
        """Give the keys to the page that is open."""
        self._page().focus()

    def _go_pane(self, step: int) -> None:
        stops = self._stops()
        place = next((i for i, stop in enumerate(stops) if stop.has_focus), 0)
        stop = stops[(place + step) % len(stops)]
        if stop is self.sessions and not self.sessions.display:
            stop = stops[(place + 2 * step) % len(stops)]
        stop.focus()

    def action_next_pane(self) -> None:
        """Complete what is being typed, or go to the next pane."""
        if self.search_bar.input.has_focus and self.search_bar.complete():
            return
        self._go_pane(1)

    def action_previous_pane(self) -> None:
        """Go to the pane before."""
        self._go_pane(-1)

    def action_search(self) -> None:
        """Go to the search pane."""
        self.search_bar.input.focus()

    def on_descendant_focus(self) -> None:
        """Show the keys of the pane that has them now."""
        self.set_class(self.pane.has_focus_within, "-pane")
        self.show_hints()

    def show_hints(self) -> None:
        """Show the keys that work now."""
        scopes = [Scope.ANYWHERE]
        if isinstance(self.focused, SessionList):
            scopes = [Scope.LIST]
        elif isinstance(self.focused, Transcript):
            scopes = [Scope.TRANSCRIPT]
        elif isinstance(self.focused, LineageTree):
            scopes = [Scope.LINEAGE]
        overrides = self.key_overrides
        found = sorted(
            (action.hint, actions.first_key(keys), action.label)
            for action, keys in actions.in_force(overrides)
            if action.hint and action.scope in scopes
        )
        hints = [(key, label) for _, key, label in found]
        if scopes == [Scope.LIST]:
            hints.insert(0, ("⏎", "resume"))
        if scopes == [Scope.LINEAGE]:
            hints.insert(0, ("⏎", "go there"))
        if scopes == [Scope.ANYWHERE]:
            hints.append(("F1", "help"))
        self.status.show(hints)

    # -- stepping back and leaving ---------------------------------------------------------

    def action_back(self) -> None:
        """Step back: clear the search, leave the pane, quit."""
        if self.pane.has_focus_within:
            self.sessions.focus()
        elif self.sessions.selected:
            self.sessions.select_all()
            self.show_header()
        elif self.search_bar.text:
            self.search_bar.text = ""
            self.search_bar.input.focus()
        elif self.sessions.has_focus:
            self.search_bar.input.focus()
        elif self.opening.chooser:
            self.dismiss(None)
        else:
            self.app.exit()

    def state(self) -> State:
        """Return where the person is."""
        return State(self.search_bar.text, self.sessions.current_id(), self.tab)

    def action_resume(self) -> None:
        """Leave with the marked session."""
        if self.too_early(self.action_resume):
            return
        target = self.sessions.target()
        if target is None:
            return
        self.remember_search()
        tip = target.row.tip_id if target.row is not None and not target.part else None
        session_id = tip or target.session_id
        if self.opening.chooser:
            self.dismiss(Choice(session_id, self.state()))
            return
        opening = self.opening
        if opening.print_id or opening.open_chat is None or opening.is_taken_over():
            self.app.exit(Choice(session_id, self.state()))
            return
        self.post_message(OpenChat(session_id, self._back_from_chat))

    def _back_from_chat(self, choice: Choice | None) -> None:
        if choice is not None and choice.state.query:
            self.search_bar.text = choice.state.query
        self.refresh_list()
        self.follow()

    @on(Input.Submitted, "#query")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_resume()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Resume a row of the list; go to a session of the tree."""
        event.stop()
        if isinstance(event.view, SessionList):
            self.action_resume()
        elif isinstance(event.view, LineageTree):
            branch = event.view.branch(event.index)
            if branch is not None:
                self._go_to(branch.session.id)

    def _go_to(self, session_id: str) -> None:
        """Mark a session in the list, wherever it is, and show it."""
        if self.sessions.go_to(session_id):
            self.sessions.focus()
            return
        self.search_bar.text = f"id:{session_id}"
        self.sessions.focus()

    # -- finding and help ------------------------------------------------------------------

    def action_find(self) -> None:
        """Ask what to find in the open conversation."""
        from hermes_tui.dialogs.base import Ask

        self.app.push_screen(
            Ask("Find in this conversation", self.find_text or "", "Find"), self._find
        )

    def _find(self, text: str | None) -> None:
        if text is not None:
            self.find_text = text or None
            self.follow()

    def action_help(self) -> None:
        """Show all keys."""
        from hermes_tui.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen(self.key_overrides))
