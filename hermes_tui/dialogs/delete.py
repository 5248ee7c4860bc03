"""The delete dialog: what would move to trash, and how much it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, RadioSet

from hermes_store.records.safe_text import clean, shorten
from hermes_store.records.trash import Weight
from hermes_store.store import Store
from hermes_tui.dialogs.base import Dialog
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.store_access import Access, Answer, Stopped
from hermes_tui.widgets.checkboxes import Option
from hermes_tui.widgets.plain_text import PlainText

NAMES = 6


@dataclass(frozen=True, slots=True)
class Delete:
    """Sessions to delete."""

    session_ids: tuple[str, ...]
    conversations: int


@dataclass(frozen=True, slots=True)
class _Weights:
    whole: Weight
    part: Weight


class DeleteDialog(Dialog[Delete]):
    """Asks whether to move conversations to trash."""

    title_text = "Delete"

    class Weighed(Answer[_Weights]):
        """How much would be deleted."""

    def __init__(
        self,
        access: Access,
        roots: Sequence[str],
        names: Sequence[str],
        now: float,
        *,
        part: str | None = None,
    ) -> None:
        super().__init__()
        self.access = access
        self._roots, self._names, self._now = tuple(roots), names, now
        self._part = part
        self._weights: _Weights | None = None

    def body(self) -> Iterable[Widget]:
        more = len(self._names) - NAMES
        shown = "\n".join(f"  {shorten(name, 54)}" for name in self._names[:NAMES])
        yield PlainText(shown + (f"\n  … and {more:,} more" if more > 0 else ""))
        if self._part is not None:
            with RadioSet(id="extent", compact=True):
                yield Option("The whole conversation", value=False, id="whole")
                yield Option("Only this session", value=True, id="part")
        yield PlainText("Counting …", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button("Move to trash", id="ok", variant="error", disabled=True, compact=True)

    def on_mount(self) -> None:
        self.query_one("#cancel").focus()
        self.ask(self.Weighed, self._weigh)

    def _weigh(self, store: Store, stopped: Stopped) -> _Weights:
        members: dict[str, None] = {}
        for root in self._roots:
            members.update(dict.fromkeys(store.lineage.members(root)))
        whole = store.trash.weigh(tuple(members), now=self._now)
        part = store.trash.weigh((self._part,), now=self._now) if self._part is not None else whole
        return _Weights(whole, part)

    def on_delete_dialog_weighed(self, event: Weighed) -> None:
        event.stop()
        self._weights = event.value
        self._show()

    def on_radio_set_changed(self) -> None:
        self._show()

    @property
    def _chosen(self) -> Weight | None:
        if self._weights is None:
            return None
        only = self._part is not None and self.query_one("#part", Option).value
        return self._weights.part if only else self._weights.whole

    def _show(self) -> None:
        weight = self._chosen
        if weight is None:
            return
        sessions = len(weight.session_ids)
        many = len(self._roots)
        what = f"{plural(many, 'conversation')}, " if many > 1 else ""
        parts: list[tuple[str, str] | str] = [
            f"{what}{plural(sessions, 'session')}, {plural(weight.messages, 'message')}, "
            f"{byte_size(weight.bytes)} of text.\n",
            ("You can restore them from the trash.", "$foreground-muted"),
        ]
        if weight.in_use is not None:
            parts = [(f"{clean(weight.in_use)} It cannot be deleted while in use.", "$warning")]
        self.query_one("#figures", PlainText).update(Content.assemble(*parts))
        self.query_one("#ok", Button).disabled = weight.in_use is not None

    def confirm(self, button: str) -> None:
        weight = self._chosen
        if weight is not None:
            self.dismiss(Delete(weight.session_ids, len(self._roots)))
