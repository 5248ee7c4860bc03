"""The help screen: every key, the search language and the symbols."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button

from hermes_tui import actions
from hermes_tui.actions import Scope
from hermes_tui.dialogs.base import Dialog
from hermes_tui.widgets.plain_text import PlainText

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
    ("○", "done"),
    ("◐", "interrupted: never ended"),
    ("✗", "ended with an error"),
    ("·", "empty"),
    ("▸", "has segments, branches or sub-agents"),
    ("⚑ ✓", "pinned, selected"),
)

Part = tuple[str, str] | str


class HelpScreen(Dialog[None]):
    """All keys, the search language and the symbols."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "cancel", "close", show=False)
    ]
    title_text = "Help"

    def __init__(self, overrides: Mapping[str, str]) -> None:
        super().__init__()
        self._overrides = overrides
        self.add_class("wide")

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="page"):
            width = min(90, self.app.size.width - 8)
            yield PlainText(help_text(self._overrides, width))

    def buttons(self) -> Iterable[Widget]:
        yield Button("Close", id="cancel", compact=True)

    def on_mount(self) -> None:
        self.query_one("#page").focus()


def help_text(overrides: Mapping[str, str], width: int) -> Content:
    """Return the page, with the user's keys."""
    parts: list[Part] = []
    for scope in Scope:
        parts.append((f"{scope.value}\n", "$primary bold"))
        for action, keys in actions.in_force(overrides):
            if action.scope is scope:
                names = " ".join(actions.shown(keys))
                parts += _row(names, action.about, 14, width, f"  {action.id}")
        parts.append("\n")
    parts.append(("Search language\n", "$primary bold"))
    for example, meaning in LANGUAGE:
        parts += _row(example, meaning, 28, width)
    parts.append(("\nSymbols\n", "$primary bold"))
    for sign, meaning in SIGNS:
        parts += _row(sign, meaning, 6, width)
    parts.append(
        (
            "\nTo change keys, set browse.keys in config.yaml, using the gray names above:\n"
            "browse:\n  keys: {delete: x, select: space}\n",
            "$foreground-muted",
        )
    )
    return Content.assemble(*parts)


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
