"""The menu of slash commands above the field: those that begin with what was typed."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from hermes_tui.chat import slash_syntax
from hermes_tui.presentation.fit_text import fit


class SlashMenu(Widget):
    """The matching commands, one to a line; the field moves its cursor."""

    @dataclass
    class Clicked(Message):
        """A command was clicked; the value is the text for the field."""

        text: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._text = ""
        self._found: list[slash_syntax.Command] = []
        self._cursor = 0
        self._moved = False

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self._found)

    def offer(self, text: str) -> None:
        """Show the commands that a text begins; the same text again changes nothing."""
        if text != self._text:
            self._text = text
            self._show(slash_syntax.matching(text))

    def _show(self, found: list[slash_syntax.Command]) -> None:
        self._found, self._cursor, self._moved = found, 0, False
        self.display = bool(found)
        self.refresh(layout=True)

    def close(self) -> bool:
        """Close until the text changes; return whether it was open."""
        was_open = self.is_open
        self._show([])
        return was_open

    def move(self, step: int) -> bool:
        """Move the cursor, around the ends; return whether the menu is open."""
        if self.is_open:
            self._cursor = (self._cursor + step) % len(self._found)
            self._moved = True
            self.refresh()
        return self.is_open

    def completed(self, *, unless_whole: bool = False) -> str | None:
        """Return the text for the command at the cursor, None if the menu is closed.

        With `unless_whole`, also None if a whole command was typed and the cursor did not move.
        """
        if not self.is_open or (
            unless_whole and not self._moved and slash_syntax.is_whole(self._text)
        ):
            return None
        return slash_syntax.completion(self._found[self._cursor])

    # -- drawing ---------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return a line for each command."""
        return len(self._found)

    def _first(self) -> int:
        """Return the first command on screen: the cursor's is always visible."""
        rows = max(1, self.content_size.height)
        return max(0, min(self._cursor - rows // 2, len(self._found) - rows))

    def render(self) -> Content:
        """Draw the commands that there is room for."""
        width = self.content_size.width
        usage = max((len(each.usage) for each in self._found), default=0)
        first = self._first()
        lines = []
        for place in range(first, min(first + self.content_size.height, len(self._found))):
            command, here = self._found[place], place == self._cursor
            about = fit(command.about, width - usage - 4)
            lines.append(
                Content.assemble(
                    ("▌ " if here else "  ", "$accent bold"),
                    (command.usage.ljust(usage), "$accent bold" if here else "$accent"),
                    (f"  {about}", "$foreground bold" if here else "$foreground-muted"),
                )
            )
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Take the command that was clicked."""
        event.stop()
        place = self._first() + event.y - self.gutter.top
        if 0 <= place < len(self._found):
            self.post_message(self.Clicked(slash_syntax.completion(self._found[place])))
