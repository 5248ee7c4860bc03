"""The saved searches dialog: save, run or remove a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Button, Input

from hermes_store.records.marks import SavedSearch
from hermes_tui.dialogs.base import Dialog
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.styled_line import Line
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.text_field import Field
from hermes_tui.widgets.virtual_list import VirtualList


@dataclass(frozen=True, slots=True)
class Use:
    """A search to run."""

    text: str


@dataclass(frozen=True, slots=True)
class Keep:
    """A search to save under a name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Forget:
    """A saved search to remove."""

    name: str


class SearchList(VirtualList):
    """Saved searches, one per line."""

    searches: Sequence[SavedSearch] = ()

    def show(self, searches: Sequence[SavedSearch]) -> None:
        self.searches = searches
        self.set_count(len(searches))

    def item_line(self, index: int, line: int, width: int) -> Line:
        saved = self.searches[index]
        half = max(8, width // 3)
        return [
            (fit(plain(saved.name), half), "title"),
            (fit(f" {plain(saved.text)}", width - half), "dim"),
        ]


class SavedDialog(Dialog[Use | Keep | Forget]):
    """Lists the saved searches and offers to save the current one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete,d", "forget", "remove", show=False),
    ]
    title_text = "Saved searches"

    class Listed(Answer[tuple[SavedSearch, ...]]):
        """All saved searches."""

    def __init__(self, access: Access, text: str) -> None:
        super().__init__()
        self.access = access
        self._text = text

    def body(self) -> Iterable[Widget]:
        yield SearchList(id="saved")
        yield PlainText("", id="figures")
        if self._text:
            yield Field(placeholder=f"Name for: {self._text}", id="name", compact=True)

    def buttons(self) -> Iterable[Widget]:
        yield Button("Close", id="cancel", compact=True)
        yield Button("Run", id="use", variant="primary", compact=True)
        yield Button("Remove", id="forget", compact=True)
        if self._text:
            yield Button("Save this search", id="keep", compact=True)

    def on_mount(self) -> None:
        self.ask(self.Listed, lambda store, _: store.saved_searches.list())

    def on_saved_dialog_listed(self, event: Listed) -> None:
        event.stop()
        searches = event.value
        view = self.query_one(SearchList)
        view.show(searches)
        view.display = bool(searches)
        text = "Enter runs a search, d removes it." if searches else "No saved searches yet."
        self.query_one("#figures", PlainText).update(text)
        if searches:
            view.focus()
        elif self._text:
            self.query_one("#name").focus()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.confirm("use")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.confirm("keep")

    def action_forget(self) -> None:
        self.confirm("forget")

    def confirm(self, button: str) -> None:
        view = self.query_one(SearchList)
        if button == "keep":
            name = self.query_one("#name", Input).value.strip()
            if name:
                self.dismiss(Keep(name, self._text))
        elif view.searches:
            saved = view.searches[view.cursor]
            self.dismiss(Use(saved.text) if button == "use" else Forget(saved.name))
