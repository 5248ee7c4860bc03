"""The trash dialog: restore or permanently delete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Button

from hermes_store.records.trash import TrashBatch
from hermes_tui.dialogs.base import Confirm, Dialog
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.presentation.styled_line import Line
from hermes_tui.presentation.times import age
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.virtual_list import VirtualList


@dataclass(frozen=True, slots=True)
class Restore:
    """A batch to restore."""

    batch_id: int


@dataclass(frozen=True, slots=True)
class Purge:
    """A batch to delete permanently; None means all."""

    batch_id: int | None


class TrashList(VirtualList):
    """Batches in the trash, newest first."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._batches: Sequence[TrashBatch] = ()

    def show(self, batches: Sequence[TrashBatch]) -> None:
        self._batches = batches
        self.set_count(len(batches))

    def marked(self) -> TrashBatch | None:
        """Return the current batch."""
        return self._batches[self.cursor] if self._batches else None

    def item_line(self, index: int, line: int, width: int) -> Line:
        batch = self._batches[index]
        names = ", ".join(plain(title) for title in batch.titles[:5])
        more = len(batch.titles) - 5
        if more > 0:
            names += f" and {more:,} more"
        right = (
            f"  {plain(batch.reason):<8} {age(batch.deleted_at, self._now):>10}"
            f" {plural(batch.messages, 'message'):>15} {byte_size(batch.bytes):>9}"
        )
        if width < 70:
            right = f" {age(batch.deleted_at, self._now, short=True):>6}"
        return [(fit(names, width - len(right)), "title"), (right, "age")]


class TrashDialog(Dialog[Restore | Purge]):
    """Lists the trash."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "press('restore')", "restore", show=False),
        Binding("delete,d", "press('purge')", "purge", show=False),
    ]
    title_text = "Trash"

    class Listed(Answer[tuple[tuple[TrashBatch, ...], int]]):
        """The batches in the trash, and its size."""

    def __init__(self, access: Access, now: float) -> None:
        super().__init__()
        self.access = access
        self._now = now
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        yield TrashList(self._now, id="batches")
        yield PlainText("", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield Button("Close", id="cancel", compact=True)
        yield Button("Restore", id="restore", variant="primary", compact=True)
        yield Button("Delete permanently", id="purge", variant="error", compact=True)
        yield Button("Empty the trash", id="everything", variant="error", compact=True)

    def on_mount(self) -> None:
        self.query_one(TrashList).focus()
        self.ask(self.Listed, lambda store, _: (store.trash.list(), store.trash.size()))

    def on_trash_dialog_listed(self, event: Listed) -> None:
        event.stop()
        batches, size = event.value
        self.query_one(TrashList).show(batches)
        text = "The trash is empty."
        if batches:
            text = f"{plural(len(batches), 'deletion')}, {byte_size(size)}. Enter restores."
        self.query_one("#figures", PlainText).update(text)
        for button in ("restore", "purge", "everything"):
            self.query_one(f"#{button}", Button).disabled = not batches

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.confirm("restore")

    def action_press(self, button: str) -> None:
        if self.query_one(TrashList).marked() is not None:
            self.confirm(button)

    def confirm(self, button: str) -> None:
        batch = self.query_one(TrashList).marked()
        if batch is None:
            return
        if button == "restore":
            self.dismiss(Restore(batch.id))
            return
        chosen = None if button == "everything" else batch.id
        what = "everything in the trash" if chosen is None else "this entry"
        self.app.push_screen(
            Confirm(
                "Delete permanently", f"Delete {what} permanently? This cannot be undone.", "Delete"
            ),
            lambda sure: self._purge(chosen, sure=bool(sure)),
        )

    def _purge(self, batch_id: int | None, *, sure: bool) -> None:
        if sure:
            self.dismiss(Purge(batch_id))
