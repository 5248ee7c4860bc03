"""Deleting old conversations: a filter, and a preview in which single ones can be spared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Label

from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.listing import ListRow
from hermes_store.records.prune import KEPT, PruneFilter, PrunePlan, PruneRow
from hermes_store.records.safe_text import clean
from hermes_store.records.sources import known_name
from hermes_store.records.trash import Remark
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.presentation.fit_text import first_words, fit, plain
from hermes_tui.presentation.numbers import byte_size, plural, short_number
from hermes_tui.presentation.styled_line import Line
from hermes_tui.presentation.times import age
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.checkboxes import Tick
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.push_button import PushButton
from hermes_tui.widgets.text_field import Field
from hermes_tui.widgets.virtual_list import VirtualList

FIELDS = (
    ("older", "Inactive for (days)", "90"),
    ("source", "Source", ""),
    ("title", "Title contains", ""),
    ("most", "Max messages", ""),
    ("where", "Search fields", ""),
)


@dataclass
class NamesWanted(Message):
    """Conversations on screen whose rows have not been read yet."""

    roots: tuple[str, ...]


class PruneList(VirtualList):
    """The conversations that would be deleted; Space keeps one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space,x", "keep", "keep", show=False)]

    @dataclass
    class Kept(Message):
        """Which conversations are kept has changed."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._rows: Sequence[PruneRow] = ()
        self._names: dict[str, ListRow] = {}
        self._asked: set[str] = set()
        self.kept: set[str] = set()

    def show(self, rows: Sequence[PruneRow]) -> None:
        self._rows = rows
        self.set_count(len(rows))

    def take_names(self, rows: Iterable[ListRow]) -> None:
        """Take the rows that the list of conversations has for some of these."""
        self._names |= {row.id: row for row in rows}
        self.refresh()

    def action_keep(self) -> None:
        """Keep the current conversation, or do not."""
        if self._rows:
            self.kept ^= {self._rows[self.cursor].root_id}
            self.refresh_item(self.cursor)
            self.action_cursor_down()
            self.post_message(self.Kept())

    def render_lines(self, crop: Region) -> list[Strip]:
        seen = {self._rows[index].root_id for index in self.visible_range()}
        missing = seen - self._names.keys() - self._asked
        if missing:
            self._asked |= missing
            self.post_message(NamesWanted(tuple(missing)))
        return super().render_lines(crop)

    def item_line(self, index: int, line: int, width: int) -> Line:
        row = self._rows[index]
        known = self._names.get(row.root_id)
        messages = row.messages if known is None else known.message_count
        right = (
            f" {age(row.last_active, self._now):>11}"
            f" {short_number(messages):>5} msg {byte_size(row.bytes):>9}"
        )
        if width < 60:
            right = f" {age(row.last_active, self._now, short=True):>5} {short_number(messages):>4}"
        kept = row.root_id in self.kept
        begins = first_words(known.preview) if known is not None else ""
        name = plain(row.title or begins or row.root_id)
        lead = "keep  " if kept else "      "
        style = "dim" if kept else "title"
        return [(lead, "mark"), (fit(name, width - len(right) - len(lead)), style), (right, "age")]


class PruneDialog(Dialog[PrunePlan]):
    """Asks which old conversations to delete."""

    title_text = "Delete old conversations"

    class Planned(Answer[PrunePlan]):
        """What the filter would delete."""

    class Named(Answer[list[ListRow]]):
        """Rows of the list of conversations."""

    def __init__(self, access: Access, now: float, where: str = "") -> None:
        """`where` is what the field for conditions says at first."""
        super().__init__()
        self.access = access
        self._where = where
        self._now = now
        self._plan: PrunePlan | None = None
        """What the fields ask for; None until that is known."""
        self._is_asked = False
        self._submitted = False
        """Whether Enter was pressed before the plan was there."""
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        with Grid(id="filter"):
            for name, label, value in FIELDS:
                yield Label(label, markup=False)
                hint = "source:cron -tag:work before:2026-01-01" if name == "where" else ""
                said = self._where if name == "where" else value
                yield Field(said, id=name, compact=True, placeholder=hint)
        yield Tick("Include unfinished", id="open", compact=True)
        yield PruneList(self._now, id="preview")
        yield PlainText("", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield PushButton("Delete", id="ok", disabled=True)

    def keys(self) -> Keys:
        return (("Space", "keep"), ("⏎", "to Delete"), ("Esc", "cancel"))

    def on_mount(self) -> None:
        self.query_one("#older", Input).focus()
        self._preview()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._preview()

    def on_checkbox_changed(self) -> None:
        self._preview()

    def action_submit(self) -> None:
        """Go to the button: what goes should have been looked at, and belong to the fields."""
        if self._is_asked:
            self._submitted = True
        else:
            self.query_one("#ok").focus()

    @property
    def holds_keys(self) -> bool:
        """Whether what is typed next has to wait for the plan."""
        return self._submitted

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.action_submit()

    def on_names_wanted(self, event: NamesWanted) -> None:
        event.stop()
        assert self.access is not None
        roots, now = event.roots, self._now
        self.access.ask(
            self, self.Named, lambda store, _: store.lists.rows(roots, now=now), exclusive=False
        )

    def on_prune_dialog_named(self, event: Named) -> None:
        event.stop()
        self.query_one(PruneList).take_names(event.value)

    def on_prune_list_kept(self, event: PruneList.Kept) -> None:
        event.stop()
        self._show()

    def _filter(self) -> PruneFilter:
        texts = {name: self.query_one(f"#{name}", Input).value.strip() for name, _, _ in FIELDS}
        older = texts["older"]
        most = texts["most"]
        try:
            days = float(older) if older else None
            messages = int(most) if most else None
        except ValueError:
            raise InvalidInput("Days and messages must be numbers, or empty for any.") from None
        if days is not None and not isfinite(days):
            raise InvalidInput("Days and messages must be numbers, or empty for any.")
        if (days or 0) < 0 or (messages or 0) < 0:
            raise InvalidInput("Days and messages cannot be negative.")
        return PruneFilter(
            older_than_days=days,
            source=known_name(texts["source"]) if texts["source"] else None,
            title=texts["title"] or None,
            max_messages=messages,
            where=texts["where"],
            include_open=self.query_one("#open", Tick).value,
        )

    def _preview(self) -> None:
        self._plan = None
        try:
            chosen = self._filter()
        except InvalidInput as error:
            self.failed(error)
            return
        self._is_asked = True
        self.ask(self.Planned, lambda store, _: store.upkeep.plan_prune(chosen, self._now))

    def on_prune_dialog_planned(self, event: Planned) -> None:
        event.stop()
        if event.stale:
            return
        self._plan = event.value
        self.query_one(PruneList).show(event.value.rows)
        self._show()
        self._answered()

    def _answered(self) -> None:
        """Do what waited for the plan."""
        submitted, self._is_asked, self._submitted = self._submitted, False, False
        if submitted:
            self.action_submit()

    def _wanted(self) -> PrunePlan | None:
        """Return the plan without what is to be kept."""
        kept = self.query_one(PruneList).kept
        plan = self._plan
        if plan is None:
            return None
        return replace(plan, rows=tuple(row for row in plan.rows if row.root_id not in kept))

    def _show(self) -> None:
        plan, whole = self._wanted(), self._plan
        if plan is None or whole is None:
            return
        parts: list[tuple[str, str] | str] = ["Nothing matches."]
        if whole.rows:
            parts = [
                f"{plural(plan.conversations, 'conversation')}, "
                f"{plural(plan.messages, 'message')}, {byte_size(plan.bytes)} of text. "
                "Moved to trash; can be undone."
            ]
        kept = len(whole.rows) - len(plan.rows)
        if kept:
            parts.append((f" You keep {kept:,}.", "$accent"))
        if whole.spared:
            parts.append((f" {_protected(whole.spared)}", "$foreground-muted"))
        self._say(parts, ready=bool(plan.rows))

    def failed(self, error: StoreError) -> None:
        """Show what is wrong with the filter."""
        self._plan = None
        self.query_one(PruneList).show(())
        self._say([(clean(str(error)), "$error")], ready=False)
        self._answered()

    def _say(self, parts: list[tuple[str, str] | str], *, ready: bool) -> None:
        self.query_one("#figures", PlainText).update(Content.assemble(*parts))
        self.query_one("#ok", PushButton).disabled = not ready

    def confirm(self, button: str) -> None:
        wanted = self._wanted()
        if wanted is not None:
            self.dismiss(wanted)


def _protected(spared: Sequence[Remark]) -> str:
    """Return how many conversations stay, and why, in few words."""
    kinds = {sentence: kind for kind, sentence in KEPT.items()}
    counted = Counter(kinds.get(each.text, "in use") for each in spared)
    why = ", ".join(
        f"{number:,} {kind}" if len(counted) > 1 else kind for kind, number in counted.most_common()
    )
    return f"{len(spared):,} {'is' if len(spared) == 1 else 'are'} protected ({why})."
