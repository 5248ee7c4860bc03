"""The search pane: the text, what was found, and what is worth saying about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Input, Static

from hermes_tui.actions import Scope, bindings
from hermes_tui.browse.completion import completed
from hermes_tui.browse.messages import QueryChanged
from hermes_tui.widgets.field import Field

PLACEHOLDER = 'Type to search every message · source:telegram after:7d "exact words"'


class _Completions(Suggester):
    """Completes fields and their values."""

    def __init__(self, bar: SearchBar) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._bar = bar

    async def get_suggestion(self, value: str) -> str | None:
        """Return the whole text with its end completed."""
        return completed(value, self._bar.known)


class QueryInput(Field):
    """One line of text; keys that mean nothing in it go to the list."""

    BINDINGS = bindings(Scope.SEARCH)

    def completion(self) -> str | None:
        """Return what the text could be completed to, if the cursor is at its end."""
        if self.cursor_position < len(self.value):
            return None
        bar = self.query_ancestor(SearchBar)
        return completed(self.value, bar.known)


class SearchBar(Vertical):
    """The search pane."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.known: Mapping[str, Sequence[str]] = {}

    def compose(self) -> ComposeResult:
        """Make the field, the figures beside it and the notes below."""
        with Horizontal(id="search-line"):
            yield QueryInput(
                placeholder=PLACEHOLDER,
                suggester=_Completions(self),
                id="query",
                select_on_focus=False,
                compact=True,
            )
            yield Static("", id="found", markup=False)
        yield Static("", id="notes", markup=False)

    @property
    def input(self) -> QueryInput:
        """The field."""
        return self.query_one(QueryInput)

    @property
    def text(self) -> str:
        """What is searched for."""
        return self.input.value

    @text.setter
    def text(self, value: str) -> None:
        self.input.value = value
        self.input.cursor_position = len(value)

    def complete(self) -> bool:
        """Complete the end of the text; tell whether there was something to complete."""
        wider = self.input.completion()
        if wider is None:
            return False
        self.text = wider
        return True

    def say_found(self, figures: Content) -> None:
        """Show how much was found, and in which order."""
        self.query_one("#found", Static).update(figures)

    def say_notes(self, notes: Content | None) -> None:
        """Show remarks below the field; None takes them away."""
        label = self.query_one("#notes", Static)
        label.display = notes is not None
        label.update(notes or "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell that the text is another one."""
        event.stop()
        self.post_message(QueryChanged(event.value))
