"""The dialog of what a list hides: each kind with its number, shown or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.widget import Widget

from hermes_store.records.listing import Hidden
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.rows import HIDDEN_WORDS
from hermes_tui.widgets.checkboxes import Tick
from hermes_tui.widgets.push_button import PushButton


class HiddenDialog(Dialog[frozenset[Hidden]]):
    """Asks which kinds of conversations to show that are hidden by default."""

    title_text = "Show hidden"

    def __init__(self, hidden: Mapping[Hidden, int], shown: frozenset[Hidden]) -> None:
        """`hidden` are the numbers of those that are not shown now."""
        super().__init__()
        self._hidden, self._shown = hidden, shown

    def body(self) -> Iterable[Widget]:
        for kind, words in HIDDEN_WORDS.items():
            number = self._hidden.get(kind, 0)
            count = f" ({number:,})" if number else ""
            label = f"{words}{count}"
            yield Tick(label, value=kind in self._shown, id=f"kind-{kind.name}", compact=True)

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Show", id="ok")

    def keys(self) -> Keys:
        return (("Space", "tick"), ("⏎", "show"), ("Esc", "cancel"))

    def confirm(self, button: str) -> None:
        ticks = {kind: self.query_one(f"#kind-{kind.name}", Tick) for kind in HIDDEN_WORDS}
        self.dismiss(frozenset(kind for kind, tick in ticks.items() if tick.value))
