"""The saved searches dialog: choose, save, move or delete a search. It stays open meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from hermes_store.records.marks import SavedSearch
from hermes_store.store import Store
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.styled_line import Line
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.text_field import Field
from hermes_tui.widgets.virtual_list import VirtualList

KEYS = 9
"""How many searches have a number key in the list."""

Undo = Callable[[Store], str]
"""Takes a change back and says what it did."""


@dataclass(frozen=True, slots=True)
class Use:
    """A search to run."""

    text: str


@dataclass(frozen=True, slots=True)
class _Changed:
    searches: tuple[SavedSearch, ...]
    changed: bool = False
    text: str = ""
    undo: Undo | None = None


class SearchList(VirtualList):
    """Saved searches, one per line."""

    searches: Sequence[SavedSearch] = ()

    def show(self, searches: Sequence[SavedSearch]) -> None:
        self.searches = searches
        self.set_count(len(searches))

    def item_line(self, index: int, line: int, width: int) -> Line:
        saved = self.searches[index]
        key = f"{index + 1} " if index < KEYS else "  "
        half = max(8, width // 3)
        return [
            (key, "mark"),
            (fit(plain(saved.name), half - 2), "title"),
            (fit(f" {plain(saved.text)}", width - half), "dim"),
        ]


class SavedDialog(Dialog[Use]):
    """Lists the saved searches and offers to save the current one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete,d", "press('forget')", "delete", show=False),
        Binding("u,shift+up", "press('up')", "move up", show=False),
        *(Binding(f"{key}", f"use({key - 1})", "choose", show=False) for key in range(1, KEYS + 1)),
    ]
    title_text = "Saved searches"

    class Listed(Answer[_Changed]):
        """All saved searches, after a change if there was one."""

    def __init__(
        self, access: Access, text: str, changed: Callable[[str, Undo | None], None]
    ) -> None:
        """`text` is the search that can be saved; `changed` is told what was done."""
        super().__init__()
        self.access = access
        self._text = text
        self._changed = changed

    def body(self) -> Iterable[Widget]:
        yield SearchList(id="saved")
        yield PlainText("", id="figures")
        if self._text:
            yield Field(placeholder=f"Name for: {self._text}", id="name", compact=True)

    def buttons(self) -> Iterable[Widget]:
        yield PushButton("Close", id="cancel")
        yield PushButton("Choose", id="use")
        yield PushButton("Move up", id="up")
        yield PushButton("Delete", id="forget")
        if self._text:
            yield PushButton("Save", id="keep")

    def keys(self) -> Keys:
        keys = (("⏎", "choose"), ("u", "up"), ("d", "delete"), ("Esc", "close"))
        return (("⏎", "save/choose"), *keys[1:]) if self._text else keys

    def on_mount(self) -> None:
        self.ask(self.Listed, lambda store, _: _Changed(store.saved_searches.list()))

    def on_saved_dialog_listed(self, event: Listed) -> None:
        event.stop()
        searches = event.value.searches
        view = self.query_one(SearchList)
        first = not view.searches
        view.show(searches)
        view.display = bool(searches)
        text = ""
        if not searches:
            save = "Give it a name below." if self._text else "Type a search, then press Ctrl+S."
            text = f"No saved searches\n{save}"
        self.query_one("#figures", PlainText).update(text)
        for button in ("use", "up", "forget"):
            self.query_one(f"#{button}", PushButton).disabled = not searches
        unsaved = self._text and self._text not in [each.text.strip() for each in searches]
        if unsaved and (first or not searches):
            self.query_one("#name").focus()
        elif first and searches:
            view.focus()
        if event.value.changed:
            self._changed(event.value.text, event.value.undo)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.confirm("use")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.confirm("keep")

    def action_press(self, button: str) -> None:
        self.confirm(button)

    def action_use(self, place: int) -> None:
        """Choose a search by its number."""
        view = self.query_one(SearchList)
        if place < len(view.searches):
            self.dismiss(Use(view.searches[place].text))

    def _change(self, job: Callable[[Store], _Changed]) -> None:
        assert self.access is not None
        self.access.change(self, self.Listed, lambda store, _: job(store))

    def confirm(self, button: str) -> None:
        view = self.query_one(SearchList)
        if button == "keep":
            name = self.query_one("#name", Input).value.strip()
            if name:
                self._change(lambda store: _save(store, name, self._text))
            return
        if not view.searches:
            return
        saved, place = view.searches[view.cursor], view.cursor
        if button == "use":
            self.dismiss(Use(saved.text))
        elif button == "up":
            view.cursor = max(0, place - 1)
            self._change(lambda store: _Changed(store.saved_searches.move(saved.name, -1), True))
        else:
            self._change(lambda store: _forget(store, saved, place))


def _save(store: Store, name: str, text: str) -> _Changed:
    before = {each.name: each for each in store.saved_searches.list()}
    saved = store.saved_searches.save(name, text)
    old = before.get(saved.name)

    def undo(store: Store) -> str:
        if old is None:
            store.saved_searches.forget(saved.name)
            return f"saved search “{saved.name}” deleted"
        store.saved_searches.save(old.name, old.text, old.saved_at)
        return f"saved search “{old.name}” is as before"

    return _Changed(store.saved_searches.list(), True, f"Search saved as “{saved.name}”", undo)


def _forget(store: Store, saved: SavedSearch, place: int) -> _Changed:
    store.saved_searches.forget(saved.name)

    def undo(store: Store) -> str:
        store.saved_searches.save(saved.name, saved.text, saved.saved_at, place=place)
        return f"saved search “{saved.name}” is back"

    return _Changed(store.saved_searches.list(), True, f"Saved search “{saved.name}” deleted", undo)
