"""The prune dialog: a filter, and a preview of exactly what it would prune."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from textual.containers import Grid
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Label

from hermes_store.errors import InvalidInput, StoreError
from hermes_store.records.prune import PruneFilter, PrunePlan, PruneRow
from hermes_store.records.safe_text import clean
from hermes_store.records.sources import describe, known_name
from hermes_tui.dialogs.base import Dialog
from hermes_tui.presentation.fit_text import fit, plain
from hermes_tui.presentation.numbers import byte_size, plural, short_number
from hermes_tui.presentation.styled_line import Line
from hermes_tui.presentation.times import age
from hermes_tui.store_access import Access, Answer
from hermes_tui.widgets.checkboxes import Tick
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.text_field import Field
from hermes_tui.widgets.virtual_list import VirtualList

FIELDS = (
    ("older", "Inactive (days)", "90"),
    ("source", "Source", ""),
    ("title", "Title contains", ""),
    ("most", "Max messages", ""),
    ("where", "Search fields", ""),
)


class PruneList(VirtualList):
    """The conversations that would be pruned."""

    def __init__(self, now: float, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._rows: Sequence[PruneRow] = ()

    def show(self, rows: Sequence[PruneRow]) -> None:
        self._rows = rows
        self.set_count(len(rows))

    def item_line(self, index: int, line: int, width: int) -> Line:
        row = self._rows[index]
        source = plain(describe(row.source).short)
        right = (
            f" {age(row.last_active, self._now):>11} {source:<6}"
            f"{short_number(row.messages):>6} {byte_size(row.bytes):>9}"
        )
        if width < 60:
            right = f" {age(row.last_active, self._now, short=True):>8}"
        name = plain(row.title or row.root_id)
        return [(fit(name, width - len(right)), "title"), (right, "age")]


class PruneDialog(Dialog[PrunePlan]):
    """Asks which old conversations to prune."""

    title_text = "Prune"

    class Planned(Answer[PrunePlan]):
        """What the filter would prune."""

    def __init__(self, access: Access, now: float, where: str = "") -> None:
        """`where` is what the field for conditions says at first."""
        super().__init__()
        self.access = access
        self._where = where
        self._now = now
        self._plan: PrunePlan | None = None
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        with Grid(id="filter"):
            for name, label, value in FIELDS:
                yield Label(label, markup=False)
                hint = "source:cron -tag:work before:2026-01-01" if name == "where" else ""
                said = self._where if name == "where" else value
                yield Field(said, id=name, compact=True, placeholder=hint)
        yield Tick("Include conversations that never ended", id="open", compact=True)
        yield PruneList(self._now, id="preview")
        yield PlainText("", id="figures")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button("Move to trash", id="ok", variant="error", disabled=True, compact=True)

    def on_mount(self) -> None:
        self.query_one("#older", Input).focus()
        self._preview()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._preview()

    def on_checkbox_changed(self) -> None:
        self._preview()

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
        try:
            chosen = self._filter()
        except InvalidInput as error:
            self.failed(error)
            return
        self.ask(self.Planned, lambda store, _: store.upkeep.plan_prune(chosen, self._now))

    def on_prune_dialog_planned(self, event: Planned) -> None:
        event.stop()
        if event.stale:
            return
        self._plan = plan = event.value
        self.query_one(PruneList).show(plan.rows)
        parts: list[tuple[str, str] | str] = ["Nothing to prune."]
        if plan.rows:
            parts = [
                f"{plural(plan.conversations, 'conversation')}, "
                f"{plural(plan.messages, 'message')}, {byte_size(plan.bytes)} of text would "
                "move to trash."
            ]
        if plan.spared:
            parts.append(
                (f" {len(plan.spared):,} kept: {clean(plan.spared[0].text)}", "$foreground-muted")
            )
        self._say(parts, ready=bool(plan.rows))

    def failed(self, error: StoreError) -> None:
        """Show what is wrong with the filter."""
        self._plan = None
        self.query_one(PruneList).show(())
        self._say([(clean(str(error)), "$error")], ready=False)

    def _say(self, parts: list[tuple[str, str] | str], *, ready: bool) -> None:
        self.query_one("#figures", PlainText).update(Content.assemble(*parts))
        self.query_one("#ok", Button).disabled = not ready

    def confirm(self, button: str) -> None:
        self.dismiss(self._plan)
