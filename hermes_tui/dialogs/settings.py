"""The settings dialog: try themes and keys, and see the config.yaml lines that keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, OptionList

from hermes_store.errors import ConfigError
from hermes_tui import actions
from hermes_tui.actions import ACTIONS
from hermes_tui.dialogs.base import SHEET, Dialog
from hermes_tui.presentation.fit_text import fit
from hermes_tui.presentation.styled_line import Line
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.virtual_list import VirtualList


@dataclass(frozen=True, slots=True)
class Settings:
    """The chosen theme and keys."""

    theme: str
    keys: Mapping[str, str]


class KeyList(VirtualList):
    """Every action and its keys."""

    keys: Mapping[str, str] = {}

    def item_line(self, index: int, line: int, width: int) -> Line:
        action = ACTIONS[index]
        keys = " ".join(actions.shown(self.keys.get(action.id, action.keys)))
        changed = action.id in self.keys
        return [
            (fit(keys, 12), "match" if changed else "title"),
            (fit(f"{action.about} {action.scope.value}", width - 12), "dim"),
        ]


class PressKey(ModalScreen[str]):
    """Waits for one key."""

    CSS_PATH = SHEET
    BINDINGS: ClassVar[list[BindingType]] = []

    def compose(self) -> Iterable[Widget]:
        box = PlainText("Press the new key, or Esc to cancel.")
        box.add_class("dialog")
        yield box

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.dismiss(None if event.key == "escape" else event.key)


class SettingsDialog(Dialog[Settings]):
    """Lets the user try themes and keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel", show=False),
        Binding("c", "copy", "copy", show=False),
    ]
    title_text = "Settings"

    def __init__(self, keys: Mapping[str, str]) -> None:
        super().__init__()
        self._keys = dict(keys)
        self._before = ""
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="choices"):
            yield OptionList(*sorted(self.app.available_themes), id="themes", compact=True)
            yield KeyList(id="keys")
        yield PlainText("", id="yaml")

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button("Apply until I quit", id="ok", variant="primary", compact=True)

    def on_mount(self) -> None:
        self._before = self.app.theme
        themes = self.query_one("#themes", OptionList)
        themes.highlighted = sorted(self.app.available_themes).index(self._before)
        keys = self.query_one(KeyList)
        keys.keys = self._keys
        keys.set_count(len(ACTIONS))
        themes.focus()
        self._show_yaml()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.app.theme = sorted(self.app.available_themes)[event.option_index]
        self._show_yaml()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.confirm("ok")

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        action = ACTIONS[event.index]
        self.app.push_screen(PressKey(), lambda key: self._set(action.id, key))

    def _set(self, action: str, key: str | None) -> None:
        if key is None:
            return
        wanted = {**self._keys, action: key}
        try:
            actions.checked(wanted)
        except ConfigError as error:
            self.failed(error)
            return
        self._keys[action] = key
        self.query_one(KeyList).refresh()
        self._show_yaml()

    def yaml(self) -> str:
        """Return the lines for config.yaml."""
        lines = ["browse:", f"  theme: {self.app.theme}"]
        if self._keys:
            lines.append("  keys:")
            lines += [f"    {name}: '{key}'" for name, key in self._keys.items()]
        return "\n".join(lines)

    def _show_yaml(self) -> None:
        self.query_one("#yaml", PlainText).update(
            f"To keep this, add it to config.yaml (c copies it):\n{self.yaml()}"
        )

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.yaml())
        self.notify("Copied.", markup=False)

    def action_cancel(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)

    def confirm(self, button: str) -> None:
        self.dismiss(Settings(self.app.theme, self._keys))
