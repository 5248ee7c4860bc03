"""A button whose focus is seen by symbol and inverse text, not by color alone."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Button

from hermes_store.records.safe_text import clean_line


class PushButton(Button):
    """A flat button; with the focus it stands between two arrows."""

    def __init__(self, text: str, *, id: str, disabled: bool = False) -> None:
        super().__init__(Content(clean_line(text)), id=id, disabled=disabled, compact=True)

    def render(self) -> Content:
        label = self.label if isinstance(self.label, Content) else Content(str(self.label))
        left, right = ("▸", "◂") if self.has_focus else (" ", " ")
        return Content.assemble(left, label, right)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Make room for the arrows, whether they are there or not."""
        return super().get_content_width(container, viewport) + 2

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()
