"""Boxes to tick and buttons to choose from whose sign, not only its colour, says what is on."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox, RadioButton


class Tick(Checkbox):
    """A box that is empty until it is ticked."""

    def render(self) -> Content:
        """Draw the sign that fits the value."""
        self.BUTTON_INNER = "✓" if self.value else " "
        return super().render()


class Option(RadioButton):
    """A button that is hollow until it is chosen."""

    def render(self) -> Content:
        """Draw the sign that fits the value."""
        self.BUTTON_INNER = "●" if self.value else "○"
        return super().render()
