"""The settings: theme, appearance and keys. Every change applies and is kept at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, OptionList

from hermes_store.errors import ConfigError
from hermes_store.records.listing import Grouping, Sort
from hermes_tui import actions
from hermes_tui.actions import ACTIONS, Action
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.opening.kept_state import Kept
from hermes_tui.presentation.fit_text import fit
from hermes_tui.presentation.styled_line import Line
from hermes_tui.widgets.notice import Keep
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.virtual_list import VirtualList

LABEL = 14
WAITING = "press a key … (Esc cancels)"
APPLIES = "Changes apply at once; • marks what you changed."
NOT_SAVED = "Applies until you quit: with --read-only, nothing is saved."
IN_DEMO = "Applies until you quit: this is the demo."


@dataclass(frozen=True, slots=True)
class Option:
    """A field of `Kept`, and the values to choose from."""

    field: str
    label: str
    choices: Mapping[str, str]
    """What each value is called; without any it is the theme."""


OPTIONS = (
    Option("theme", "Theme", {}),
    Option("density", "Rows", {"one": "one line", "two": "two lines", "table": "table"}),
    Option("group", "Headings", {each.value: each.value for each in Grouping} | {"date": "day"}),
    Option("sort", "Sort by", {each.value: each.value for each in Sort}),
    Option(
        "search_order",
        "Search results",
        {"newest": "newest first", "relevance": "most relevant first"},
    ),
)
ROWS: tuple[str | Option | Action, ...] = ("Appearance", *OPTIONS, "Keys", *ACTIONS)


class SettingsList(VirtualList):
    """Everything that can be set, one row each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "previous", show=False),
        Binding("right", "turn(1)", "next", show=False),
        Binding("backspace,delete", "reset", "default", show=False),
    ]

    @dataclass
    class Turned(Message):
        """The previous or next value is wanted."""

        index: int
        step: int

    @dataclass
    class Reset(Message):
        """The default is wanted."""

        index: int

    @dataclass
    class Pressed(Message):
        """The new key of an action was pressed."""

        action: Action
        key: str

    def __init__(self, kept: Kept, keys: Mapping[str, str], *, id: str) -> None:
        """`keys` are those of config.yaml."""
        super().__init__(id=id)
        self.kept = kept
        self._keys = keys
        self.waiting: int | None = None
        """The row whose new key is to be pressed."""

    def keys_in_force(self) -> dict[str, str]:
        """Return all changed keys."""
        return actions.with_kept(self._keys, self.kept.keys)

    def value(self, option: Option) -> str:
        """Return the current value of an option."""
        if option.field == "theme":
            return self.app.theme
        found = getattr(self.kept, option.field) or self.kept.over.get(option.field)
        return found or next(iter(option.choices))

    # -- drawing ---------------------------------------------------------------------------

    def is_item(self, index: int) -> bool:
        return not isinstance(ROWS[index], str)

    def item_line(self, index: int, line: int, width: int) -> Line:
        row = ROWS[index]
        if isinstance(row, str):
            return [(row, "heading")]
        if isinstance(row, Option):
            changed = getattr(self.kept, row.field) not in (None, getattr(Kept(), row.field))
            value = self.value(row)
            text, about = row.choices.get(value, value), ""
            label = row.label
        else:
            changed = row.id in self.kept.keys
            label = " ".join(actions.shown(self.keys_in_force().get(row.id, row.keys)))
            text, about = row.about, row.scope.value
        mark = ("• " if changed else "  ", "mark")
        if index == self.waiting:
            room = max(0, width - 2 - len(WAITING) - 2)
            return [mark, (WAITING, "match"), ("  ", ""), (fit(text, room), "dim")]
        room = width - LABEL - 3
        beside = fit(f"{text}  ", room - len(about)) if len(text) + len(about) + 2 <= room else ""
        said: Line = [(beside, ""), (about, "dim")] if beside else [(fit(text, room), "")]
        return [mark, (fit(label, LABEL) + " ", "title"), *said]

    # -- keys ------------------------------------------------------------------------------

    def wait_for_key(self, index: int) -> None:
        """Take the next key that is pressed for a row's new one."""
        self.waiting = index
        self.refresh()

    def stop_waiting(self) -> None:
        """Let keys do what they do."""
        self.waiting = None
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        if self.waiting is None:
            return
        event.stop()
        event.prevent_default()
        action = ROWS[self.waiting]
        self.stop_waiting()
        if event.key != "escape" and isinstance(action, Action):
            printable = event.is_printable and event.character not in (None, " ")
            self.post_message(self.Pressed(action, (printable and event.character) or event.key))

    def on_blur(self) -> None:
        self.stop_waiting()

    def watch_cursor(self, before: int, now: int) -> None:
        self.stop_waiting()
        super().watch_cursor(before, now)

    def action_turn(self, step: int) -> None:
        self.post_message(self.Turned(self.cursor, step))

    def action_reset(self) -> None:
        self.post_message(self.Reset(self.cursor))


class ThemeDialog(Dialog[str]):
    """Chooses a theme; the one under the cursor is shown at once."""

    title_text = "Theme"

    def __init__(self, names: list[str], current: str) -> None:
        super().__init__()
        self._names, self._current = names, current

    def body(self) -> Iterable[Widget]:
        yield OptionList(*self._names, id="themes", compact=True)

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        yield Button("Choose", id="ok", variant="primary", compact=True)

    def on_mount(self) -> None:
        themes = self.query_one("#themes", OptionList)
        themes.highlighted = self._names.index(self._current)
        themes.focus()
        self.call_after_refresh(themes.scroll_to_highlight)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.app.theme = self._names[event.option_index]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.confirm("ok")

    def action_cancel(self) -> None:
        self.app.theme = self._current
        self.dismiss(None)

    def confirm(self, button: str) -> None:
        self.dismiss(self.app.theme)


class SettingsDialog(Dialog[None]):
    """Lets the user choose; says where that is kept."""

    title_text = "Settings"

    def __init__(self, kept: Kept, keys: Mapping[str, str], saved: str) -> None:
        """`keys` are those of config.yaml; `saved` says where the rest is kept, if it is."""
        super().__init__()
        self._kept = kept
        self._keys = keys
        self._saved = saved
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        yield SettingsList(self._kept, self._keys, id="settings")
        yield PlainText(APPLIES, id="kept")

    def keys(self) -> Keys:
        return (("⏎", "change"), ("⌫", "default"), ("Esc", "close"))

    def buttons(self) -> Iterable[Widget]:
        yield Button("Close", id="cancel", compact=True)

    def on_mount(self) -> None:
        rows = self.query_one(SettingsList)
        rows.set_count(len(ROWS))
        rows.focus()

    # -- choosing --------------------------------------------------------------------------

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        row = ROWS[event.index]
        if isinstance(row, Action):
            self.query_one(SettingsList).wait_for_key(event.index)
        elif isinstance(row, Option) and row.field == "theme":
            dialog = ThemeDialog(sorted(self.app.available_themes), self.app.theme)
            self.app.push_screen(dialog, self._set_theme)
        elif isinstance(row, Option):
            self._turn(row, 1)

    def on_settings_list_turned(self, event: SettingsList.Turned) -> None:
        event.stop()
        row = ROWS[event.index]
        if isinstance(row, Option):
            self._turn(row, event.step)

    def _turn(self, option: Option, step: int) -> None:
        """Choose the next value."""
        values = list(option.choices) or sorted(self.app.available_themes)
        here = values.index(self.query_one(SettingsList).value(option))
        value = values[(here + step) % len(values)]
        if option.field == "theme":
            self._set_theme(value)
        else:
            self._keep(option.field, value)

    def _set_theme(self, theme: str | None) -> None:
        if theme is not None:
            self.app.theme = theme
            self._keep("theme", theme)

    def on_settings_list_reset(self, event: SettingsList.Reset) -> None:
        event.stop()
        row = ROWS[event.index]
        if isinstance(row, Action):
            self._set_keys({name: key for name, key in self._kept.keys.items() if name != row.id})
        elif isinstance(row, Option):
            self._keep(row.field, getattr(Kept(), row.field))

    def on_settings_list_pressed(self, event: SettingsList.Pressed) -> None:
        event.stop()
        action, key = event.action, event.key
        in_force = self.query_one(SettingsList).keys_in_force()
        other = actions.taken(action.id, key, in_force)
        if other is not None:
            named = actions.first_key(key)
            self._say(f"{named} is taken: {other.about} ({other.scope.value})", error=True)
        else:
            self._set_keys({**self._kept.keys, action.id: key})

    def _set_keys(self, keys: Mapping[str, str]) -> None:
        try:
            actions.checked({**self._keys, **keys})
        except ConfigError as error:
            self._say(str(error), error=True)
        else:
            self._keep("keys", dict(keys))

    # -- keeping ---------------------------------------------------------------------------

    def _keep(self, field: str, value: object) -> None:
        change: dict[str, Any] = {field: value}
        self.post_message(Keep(**change))
        self._kept = replace(self._kept, **change)
        rows = self.query_one(SettingsList)
        rows.kept = self._kept
        rows.refresh()
        self._say(self._saved)

    def _say(self, sentence: str, *, error: bool = False) -> None:
        line = self.query_one("#kept", PlainText)
        line.update(sentence)
        line.set_class(error, "-error")
