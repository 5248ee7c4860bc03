"""The line at the bottom of the reading pane that finds text in a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.getters import query_one
from textual.message import Message
from textual.widgets import Input

from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.text_field import Field


class FindField(Field):
    """The field; Enter and Down go to the next match, Up to the one before."""

    BINDINGS = [  # noqa: RUF012
        Binding("enter,down", "step(1)", "next match", show=False),
        Binding("shift+enter,up", "step(-1)", "previous match", show=False),
        Binding("tab", "read", "read", show=False),
    ]

    def action_step(self, direction: int) -> None:
        self.post_message(FindBar.Step(direction))

    def action_read(self) -> None:
        self.post_message(FindBar.Done())


class FindBar(Horizontal):
    """A field, and which match is current."""

    field = query_one(FindField)
    count = query_one("#find-count", PlainText)

    @dataclass
    class Typed(Message):
        """The text to find has changed."""

        text: str

    @dataclass
    class Step(Message):
        """The next or previous match is wanted."""

        direction: int

    class Done(Message):
        """The text is to be read, with the matches in it."""

    def __init__(self) -> None:
        super().__init__(id="find-bar")

    def compose(self) -> ComposeResult:
        yield PlainText("/", id="find-sign")
        yield FindField(placeholder="Find in this conversation", id="find", compact=True)
        yield PlainText("", id="find-count")

    def on_mount(self) -> None:
        self.field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    def say(self, number: int, count: int) -> None:
        """Say which match is current, or that there is none."""
        said = f"match {number or '–'} of {count:,}" if count else "no matches"
        if self.is_mounted:
            self.count.update(said if self.field.value.strip() else "")

    def open(self) -> None:
        """Begin anew."""
        self.display = True
        self.field.value = ""
        self.field.focus()
