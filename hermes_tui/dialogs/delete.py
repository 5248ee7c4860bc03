"""The delete dialog: what would move to trash, and how much it is.

A single conversation is deleted without it, because that can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from hermes_store.records.safe_text import clean, shorten
from hermes_store.records.trash import Weight
from hermes_store.store import Store
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.numbers import byte_size, plural
from hermes_tui.store_access import Access, Answer, Stopped
from hermes_tui.widgets.checkboxes import OneOf, Option
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton

NAMES = 6


@dataclass(frozen=True, slots=True)
class Delete:
    """Sessions to delete, of some conversations."""

    session_ids: tuple[str, ...]
    roots: tuple[str, ...]
    part: bool = False
    """Whether it is a single session of a conversation."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    whole: Weight
    part: Weight
    roots: tuple[str, ...]
    """The conversations of the whole that are not in use."""
    in_use: tuple[str, ...]
    """The others, which stay."""


class DeleteDialog(Dialog[Delete]):
    """Asks whether to move conversations to trash."""

    answers = True

    class Weighed(Answer[_Weighed]):
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
        several = f"Delete {plural(len(roots), 'conversation')}"
        self.title_text = several if part is None else "Delete a session"
        self._roots, self._names, self._now = tuple(roots), names, now
        self._part = part
        self._weighed: _Weighed | None = None
        self._sure = False
        """Whether it was confirmed before everything was counted."""

    def body(self) -> Iterable[Widget]:
        yield PlainText(_listed(self._names), id="names")
        if self._part is not None:
            with OneOf(id="extent", compact=True):
                yield Option("Only this session", value=True, id="part")
                yield Option("The whole conversation", value=False, id="whole")
        yield PlainText("Counting …", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Delete", id="ok")

    def keys(self) -> Keys:
        return (("⏎/y", "delete"), ("n/Esc", "cancel"), ("←→", "choose"))

    def on_mount(self) -> None:
        self.query_one("#ok").focus()
        self.ask(self.Weighed, self._weigh)

    def _weigh(self, store: Store, stopped: Stopped) -> _Weighed:
        members = {root: store.lineage.members(root) for root in self._roots}
        everyone = dict.fromkeys(each for found in members.values() for each in found)
        whole = store.trash.weigh(tuple(everyone), now=self._now)
        in_use: list[str] = []
        if whole.in_use is not None:
            for root, found in members.items():
                if store.trash.weigh(found, now=self._now).in_use is not None:
                    in_use.append(root)
            free = [each for root in members if root not in in_use for each in members[root]]
            if free:
                whole = store.trash.weigh(tuple(dict.fromkeys(free)), now=self._now)
        part = store.trash.weigh((self._part,), now=self._now) if self._part is not None else whole
        roots = tuple(root for root in self._roots if root not in in_use)
        return _Weighed(whole, part, roots, tuple(in_use))

    def on_delete_dialog_weighed(self, event: Weighed) -> None:
        event.stop()
        self._weighed = event.value
        self._show()
        if self._sure:
            self.confirm("ok")

    def on_radio_set_changed(self) -> None:
        self._show()

    @property
    def _only_part(self) -> bool:
        return self._part is not None and self.query_one("#part", Option).value

    @property
    def _chosen(self) -> Weight | None:
        if self._weighed is None:
            return None
        return self._weighed.part if self._only_part else self._weighed.whole

    def _show(self) -> None:
        weight, weighed = self._chosen, self._weighed
        if weight is None or weighed is None:
            return
        many = len(weighed.roots)
        what = f"{plural(many, 'conversation')}, " if len(self._roots) > 1 else ""
        parts: list[tuple[str, str] | str] = [
            f"{what}{plural(len(weight.session_ids), 'session')}, "
            f"{plural(weight.messages, 'message')}, {byte_size(weight.bytes)} of text.\n",
            ("Moved to trash; can be undone.", "$foreground-muted"),
        ]
        if weighed.in_use and not self._only_part and many:
            parts.insert(0, (f"{self._staying(weighed)}\n", "$warning"))
        if weight.in_use is not None:
            parts = [(f"{clean(weight.in_use)} It cannot be deleted while in use.", "$warning")]
        self.query_one("#figures", PlainText).update(Content.assemble(*parts))
        self.query_one("#ok", PushButton).disabled = weight.in_use is not None

    def _staying(self, weighed: _Weighed) -> str:
        """Name only what goes, and return a sentence on what is in use."""
        names = dict(zip(self._roots, self._names, strict=True))
        self.query_one("#names", PlainText).update(_listed([names[each] for each in weighed.roots]))
        self.box_title(f"Delete {plural(len(weighed.roots), 'conversation')}")
        first, others = shorten(names[weighed.in_use[0]], 40), len(weighed.in_use) - 1
        if others:
            return f"“{first}” and {others:,} more are in use and stay."
        return f"“{first}” is in use and stays."

    def confirm(self, button: str) -> None:
        weight, weighed = self._chosen, self._weighed
        if weight is None or weighed is None:
            self._sure = True
        elif weight.in_use is None:
            self.dismiss(Delete(weight.session_ids, weighed.roots, self._only_part))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES
    shown = "\n".join(f"  {shorten(name, 54)}" for name in names[:NAMES])
    return shown + (f"\n  … and {more:,} more" if more > 0 else "")
