"""The trash dialog: restore or permanently delete conversations, by deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from hermes_store.records.trash import TrashedConversation
from hermes_tui.dialogs.base import Confirm, Dialog, Keys
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.styled_line import Line
from hermes_tui.presentation.times import age
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.virtual_list import VirtualList

EMPTY = "The trash is empty.\nWhat you delete is kept here until you empty the trash."
BUTTONS = ("restore", "batch", "purge", "everything")


@dataclass(frozen=True, slots=True)
class Restore:
    """Conversations of one deletion to restore."""

    conversations: tuple[TrashedConversation, ...]


@dataclass(frozen=True, slots=True)
class Purge:
    """Conversations to delete permanently; None means all."""

    conversation: TrashedConversation | None


@dataclass(frozen=True, slots=True)
class _Deletion:
    deleted_at: float
    reason: str
    number: int


class TrashList(VirtualList):
    """Conversations in the trash below their deletions, the latest first."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._items: Sequence[TrashedConversation | _Deletion] = ()

    def show(self, conversations: Sequence[TrashedConversation]) -> None:
        items: list[TrashedConversation | _Deletion] = []
        batches: dict[int, list[TrashedConversation]] = {}
        for each in conversations:
            batches.setdefault(each.batch_id, []).append(each)
        for members in batches.values():
            first = members[0]
            items += [_Deletion(first.deleted_at, first.reason, len(members)), *members]
        self._items = items
        self.set_count(len(items))

    def is_item(self, index: int) -> bool:
        return isinstance(self._items[index], TrashedConversation)

    def marked(self) -> TrashedConversation | None:
        """Return the current conversation."""
        item = self._items[self.cursor] if self._items else None
        return item if isinstance(item, TrashedConversation) else None

    @property
    def conversations(self) -> int:
        """How many there are."""
        return sum(isinstance(each, TrashedConversation) for each in self._items)

    def together(self) -> tuple[TrashedConversation, ...]:
        """Return all conversations that were deleted with the current one."""
        marked = self.marked()
        if marked is None:
            return ()
        found = (each for each in self._items if isinstance(each, TrashedConversation))
        return tuple(each for each in found if each.batch_id == marked.batch_id)

    def item_line(self, index: int, line: int, width: int) -> Line:
        item = self._items[index]
        if isinstance(item, _Deletion):
            when = age(item.deleted_at, self._now)
            what = f"{plain(item.reason).capitalize()} {when} · "
            return [(fit(what + plural(item.number, "conversation"), width), "heading")]
        right = f" {plural(item.messages, 'message'):>15} {byte_size(item.bytes):>9}"
        if width < 60:
            right = f" {item.messages:>5,}"
        return [(fit(f"  {plain(item.name)}", width - len(right)), "title"), (right, "age")]


class TrashDialog(Dialog[Restore | Purge]):
    """Lists the trash."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "press('restore')", "restore", show=False),
        Binding("a", "press('batch')", "restore all of it", show=False),
        Binding("delete,d", "press('purge')", "delete permanently", show=False),
    ]
    title_text = "Trash"

    class Listed(Answer[tuple[TrashedConversation, ...]]):
        """The conversations in the trash."""

    def __init__(self, access: Access, now: float) -> None:
        super().__init__()
        self.access = access
        self._now = now
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        yield TrashList(self._now, id="batches")
        yield PlainText("", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield PushButton("Close", id="cancel")
        yield PushButton("Restore", id="restore")
        yield PushButton("Restore all", id="batch")
        yield PushButton("Delete", id="purge")
        yield PushButton("Empty", id="everything")

    def keys(self) -> Keys:
        return (
            ("⏎", "restore"),
            ("a", "all"),
            ("d", "delete"),
            ("Esc", "close"),
        )

    def on_mount(self) -> None:
        self.query_one(TrashList).focus()
        self.ask(self.Listed, lambda store, _: store.trash.conversations())

    def on_trash_dialog_listed(self, event: Listed) -> None:
        event.stop()
        found = event.value
        view = self.query_one(TrashList)
        view.show(found)
        view.display = bool(found)
        text = EMPTY
        if found:
            size = byte_size(sum(each.bytes for each in found))
            text = f"{plural(len(found), 'conversation')}, {size}"
        self.query_one("#figures", PlainText).update(text)
        for button in BUTTONS:
            self.query_one(f"#{button}", PushButton).disabled = not found
        self.on_virtual_list_moved()
        (view if found else self.query_one("#cancel")).focus()

    def on_virtual_list_moved(self) -> None:
        """Say how many "Restore all" would restore."""
        number = len(self.query_one(TrashList).together())
        button = self.query_one("#batch", PushButton)
        button.label = f"Restore all {number}" if number > 1 else "Restore all"
        button.disabled = number < 2

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.confirm("restore")

    def action_press(self, button: str) -> None:
        self.confirm(button)

    def confirm(self, button: str) -> None:
        view = self.query_one(TrashList)
        marked = view.marked()
        if marked is None:
            return
        if button in ("restore", "batch"):
            self.dismiss(Restore((marked,) if button == "restore" else view.together()))
            return
        chosen = None if button == "everything" else marked
        what = f"“{plain(marked.name)}”"
        if chosen is None:
            what = f"all {plural(view.conversations, 'conversation')} in the trash"
        self.app.push_screen(
            Confirm(
                "Delete permanently", f"Delete {what} permanently? This cannot be undone.", "Delete"
            ),
            lambda sure: self._purge(chosen, sure=bool(sure)),
        )

    def _purge(self, conversation: TrashedConversation | None, *, sure: bool) -> None:
        if sure:
            self.dismiss(Purge(conversation))
