"""The note above the field: what happened, or what went wrong. A long one scrolls."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from hermes_store.records.safe_text import clean
from hermes_tui.widgets.plain_text import PlainText


class NoteBox(VerticalScroll, can_focus=False):
    """One note; it takes no room while it is empty."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = PlainText("", id="chat-note")
        self._empty, self._covered = True, False
        self.is_page = False
        """Whether it is a page to read, which Esc closes."""

    def compose(self) -> ComposeResult:
        yield self._text

    def say(self, text: str, style: str, *, page: bool = False) -> None:
        """Show a note, or a whole page; empty text removes it."""
        self.is_page = page
        self._text.update(Content.styled(clean(text), style))
        self._empty = not text
        self.scroll_home(animate=False)
        self._arrange()

    def close_page(self) -> bool:
        """Remove a page; return whether there was one."""
        was_open = self.is_page
        if was_open:
            self.say("", "")
        return was_open

    def cover(self, covered: bool) -> None:
        """Give way to something else that a small screen has no room for beside it."""
        self._covered = covered
        self._arrange()

    def _arrange(self) -> None:
        self.display = not self._empty and not self._covered

    def scroll_page(self, direction: int) -> bool:
        """Scroll a note that does not fit; return whether this is one."""
        scrolls = self.display and self.max_scroll_y > 0
        if scrolls:
            self.scroll_relative(y=direction * self.size.height, animate=False)
        return scrolls
