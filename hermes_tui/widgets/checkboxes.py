"""Checkboxes and radio buttons that show their state by symbol, not by color alone."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox, RadioButton


class Tick(Checkbox):
    """A checkbox that is empty until ticked."""

    def render(self) -> Content:
        self.BUTTON_INNER = "✓" if self.value else " "
        return super().render()


class Option(RadioButton):
    """A radio button that is hollow until chosen."""

    def render(self) -> Content:
        self.BUTTON_INNER = "●" if self.value else "○"
        return super().render()
