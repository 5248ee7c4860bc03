"""Checkboxes and radio buttons that show their state by symbol, not by color alone.

Enter is left to the dialog they stand in.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Checkbox, RadioButton, RadioSet


class Tick(Checkbox, inherit_bindings=False):
    """A checkbox that is empty until ticked."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "toggle_button", show=False)]

    def render(self) -> Content:
        self.BUTTON_INNER = "✓" if self.value else " "
        return super().render()


class Option(RadioButton):
    """A radio button that is hollow until chosen."""

    def render(self) -> Content:
        self.BUTTON_INNER = "●" if self.value else "○"
        return super().render()


class OneOf(RadioSet, inherit_bindings=False):
    """Options of which the arrows choose one; past the last one they leave."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,right", "choose(1)", show=False),
        Binding("up,left", "choose(-1)", show=False),
    ]

    def action_choose(self, step: int) -> None:
        options = [each for each in self.query(RadioButton) if not each.disabled]
        pressed = self.pressed_button
        place = options.index(pressed) + step if pressed in options else 0
        if 0 <= place < len(options):
            options[place].value = True
        elif step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()
