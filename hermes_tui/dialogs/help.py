"""The help screen: every key, the search language and the symbols."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import Input

from hermes_tui import actions
from hermes_tui.actions import Scope
from hermes_tui.dialogs.base import Dialog, Keys
from hermes_tui.widgets.plain_text import PlainText
from hermes_tui.widgets.text_field import Field

LANGUAGE = (
    ("docker deploy", "messages with both words"),
    ('"exit code"', "this exact phrase"),
    ("docker OR podman", "either word"),
    ("docker NOT compose", "without the second word; same as -compose"),
    ("deploy*", "words that start with deploy"),
    ("source:telegram", "from one source; -source:cron excludes one"),
    ("role:user", "your messages; also assistant and tool"),
    ("model:opus tool:terminal", "by model, by tool used"),
    ("title:auth id:20250305", "by title or id"),
    ("after:7d before:2026-01-01", "by date; also on:yesterday"),
    ("has:code", "also tools, title, url, image, reasoning"),
    ("is:live", "also ended, archived, pinned, branch, agent, compressed"),
    ("tag:work", "by tag"),
    ("sort:relevance", "also newest and oldest"),
)
SIGNS = (
    ("●", "live: active a moment ago; cannot be deleted"),
    ("◐", "interrupted: never ended"),
    ("✗", "ended with an error"),
    ("·", "empty"),
    ("▸", "has segments, branches or sub-agents"),
    ("⚑ ✓ •", "pinned, selected, not read yet"),
    ("▁ … █", "how long a conversation is"),
)

Part = tuple[str, str] | str


class HelpScreen(Dialog[None]):
    """All keys, those of the pane one comes from first; typing filters them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "cancel", "close", show=False),
        Binding("up", "scroll(-1)", "up", show=False, priority=True),
        Binding("down", "scroll(1)", "down", show=False, priority=True),
        Binding("pageup", "page(-1)", "page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "page down", show=False, priority=True),
    ]
    title_text = "Help"

    page = query_one("#page", VerticalScroll)

    def __init__(self, overrides: Mapping[str, str], scope: Scope | None = None) -> None:
        """`scope` is where the keys come from that are shown first."""
        super().__init__()
        self._overrides, self._scope = overrides, scope
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        yield Field(id="filter-help", placeholder="Type to filter", compact=True)
        with VerticalScroll(id="page", can_focus=False):
            yield PlainText(self._text(""), id="help-text")

    def buttons(self) -> Iterable[Widget]:
        return ()

    def keys(self) -> Keys:
        return (("↑↓", "scroll"), ("^p", "actions"), ("Esc", "close"))

    def on_mount(self) -> None:
        self.query_one("#filter-help").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one("#help-text", PlainText).update(self._text(event.value))
        self.page.scroll_home(animate=False)

    def _text(self, wanted: str) -> Content:
        width = min(90, self.app.size.width - 11)
        return help_text(self._overrides, width, self._scope, wanted)

    def action_scroll(self, lines: int) -> None:
        self.page.scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        self.page.scroll_relative(y=pages * (self.page.size.height - 1), animate=False)


def help_text(
    overrides: Mapping[str, str], width: int, first: Scope | None = None, wanted: str = ""
) -> Content:
    """Return the page with the user's keys, one scope first, only what contains `wanted`."""
    sections = [
        (
            f"{scope.value}: the keys here" if scope is first else scope.value,
            _keys(overrides, scope),
            14,
        )
        for scope in sorted(Scope, key=lambda scope: scope is not first)
    ]
    sections.append(("Search language", [(*each, "") for each in LANGUAGE], 28))
    sections.append(("Symbols", [(*each, "") for each in SIGNS], 6))
    parts: list[Part] = []
    sought = wanted.strip().lower()
    for heading, rows, column in sections:
        kept = [row for row in rows if sought in " ".join((heading, *row)).lower()]
        if kept:
            parts.append((f"{heading}\n", "$primary bold"))
            for name, about, note in kept:
                parts += _row(name, about, column, width, f"  {note}" if note else "")
            parts.append("\n")
    if not parts:
        return Content.styled(f"Nothing here is about “{wanted.strip()}”.", "$foreground-muted")
    if not sought:
        parts.append(("F9 changes keys. The gray names are those of browse.keys in config.yaml.",
                      "$foreground-muted"))  # fmt: skip
    return Content.assemble(*parts)


def _keys(overrides: Mapping[str, str], scope: Scope) -> list[tuple[str, str, str]]:
    """Return the keys of a scope, what they do, and the names of the actions."""
    found = []
    for action, keys in actions.in_force(overrides):
        if action.scope is not scope:
            continue
        if action.id.startswith("saved-") and action.id[6:].isdecimal():
            if action.id == "saved-1":
                found.append(("1 … 9", "Run a saved search.", "saved-1 … saved-9"))
            continue
        found.append((" ".join(actions.shown(keys)), action.about, action.id))
    return found


def _row(name: str, about: str, column: int, width: int, note: str = "") -> list[Part]:
    column = min(column, max(6, width // 2))
    lines = textwrap.wrap(about, max(12, width - column - 2)) or [""]
    if len(name) > column:
        lines.insert(0, "")
    parts: list[Part] = [(f"  {name:<{column}}", "$accent"), lines[0]]
    parts += [f"\n{' ' * (column + 2)}{line}" for line in lines[1:]]
    if len(lines[-1]) + len(note) <= width - column - 2:
        parts.append((note, "$foreground-disabled"))
    return [*parts, "\n"]
