"""The search field, which completes field names and values."""

from __future__ import annotations

from collections.abc import Callable

from textual.suggester import Suggester

from hermes_tui.actions import Scope, bindings
from hermes_tui.browse.completion import Known, completed
from hermes_tui.widgets.text_field import Field

PLACEHOLDER = "Type to search every message"


class _Completions(Suggester):
    """Suggests a completion."""

    def __init__(self, known: Callable[[], Known]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._known = known

    async def get_suggestion(self, value: str) -> str | None:
        return completed(value, self._known())


class SearchField(Field):
    """A one-line field; keys it does not use go to the list."""

    BINDINGS = bindings(Scope.SEARCH)

    def __init__(self) -> None:
        self.known: Known = {}
        super().__init__(
            placeholder=PLACEHOLDER,
            suggester=_Completions(lambda: self.known),
            id="query",
            select_on_focus=False,
            compact=True,
        )

    def replace_text(self, text: str) -> None:
        """Replace the text and put the cursor at its end."""
        self.value = text
        self.cursor_position = len(text)

    def complete(self) -> bool:
        """Complete the last word; return whether there was anything to complete."""
        if self.cursor_position < len(self.value):
            return False
        wider = completed(self.value, self.known)
        if wider is not None:
            self.replace_text(wider)
        return wider is not None
