"""The input field of a chat: several lines, Enter sends, Up recalls earlier messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from hermes_store.records.safe_text import clean_in_place
from hermes_tui.chat.slash_menu import SlashMenu


class Prompt(TextArea):
    """The message to send.

    | Key | What it does |
    |---|---|
    | Enter | send |
    | Shift+Enter, Ctrl+J, Alt+Enter | new line |
    | Up, Down | earlier messages, at the first and last line |
    | Tab | complete a command |

    While the menu of commands is open, Up and Down move in it, and Enter completes too.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "send", show=False),
        Binding("shift+enter,ctrl+j,alt+enter", "new_line", "new line", show=False),
        Binding("up", "earlier", "earlier", show=False),
        Binding("down", "later", "later", show=False),
        Binding("tab", "complete", "complete", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """The user sent a message."""

        text: str

    def __init__(self, menu: SlashMenu, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, compact=True)
        self._menu = menu
        self._said: list[str] = []
        self._unsent: list[str] = []
        self._place = 0
        self._draft = ""

    async def on_key(self, event: events.Key) -> None:
        # Enter is left to its binding, which, unlike a priority binding, waits for the letters
        # typed before it.
        if event.key == "enter":
            event.prevent_default()

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is shown; what is sent stays as it was typed or pasted."""
        line = super().get_line(line_index)
        line.plain = clean_in_place(line.plain)
        return line

    def remember(self, texts: Sequence[str]) -> None:
        """Set the messages that Up recalls, oldest first; what was not sent stays the newest."""
        self._said = [*texts, *self._unsent]
        self._place = len(self._said)

    def replace_text(self, text: str) -> None:
        """Replace the text and put the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def put_before(self, text: str) -> None:
        """Put a text before what was typed since."""
        self.replace_text(f"{text}\n{self.text}" if self.text.strip() else text)

    def clear_to_history(self) -> str:
        """Clear the field; undo and Up bring the text back. Return the text."""
        text = self.text
        self.remember_unsent(text)
        self.history.checkpoint()
        self.clear()
        return text

    def remember_unsent(self, text: str) -> None:
        """Add a text to those that Up recalls."""
        self._unsent.append(text)
        self._said.append(text)
        self._place = len(self._said)

    def menu(self) -> SlashMenu:
        """Return the menu for what is in the field now, even if that is not drawn yet."""
        self._menu.offer(self.text)
        return self._menu

    def recall(self, text: str) -> None:
        """Put a text back into the field; a command among them does not open the menu."""
        self.replace_text(text)
        self.menu().close()

    def action_submit(self) -> None:
        completed = self.menu().completed(unless_whole=True)
        if completed is not None:
            self.replace_text(completed)
            return
        text = self.text.strip()
        if text:
            self._said.append(text)
            self._place = len(self._said)
            self.text = ""
            self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_earlier(self) -> None:
        """Go up a line; from the first one, recall an earlier message."""
        if self.menu().move(-1):
            return
        if self.cursor_location[0] > 0:
            self.action_cursor_up()
        elif self._place > 0:
            if self._place == len(self._said):
                self._draft = self.text
            self._place -= 1
            self.recall(self._said[self._place])

    def action_later(self) -> None:
        """Go down a line; from the last one, recall a later message."""
        if self.menu().move(1):
            return
        if self.cursor_location[0] < self.document.line_count - 1:
            self.action_cursor_down()
        elif self._place < len(self._said):
            self._place += 1
            later = self._said[self._place] if self._place < len(self._said) else self._draft
            self.recall(later)

    def action_complete(self) -> None:
        completed = self.menu().completed()
        if completed is not None:
            self.replace_text(completed)
