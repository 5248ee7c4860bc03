"""The key hints of the chat, for the status bar."""

from __future__ import annotations

from hermes_tui.widgets.status_bar import Hint

_KEYS: tuple[Hint, ...] = (
    ("/", "commands"),
    ("⇧⏎", "new line"),
    ("PgUp", "scroll"),
    ("F1", "help"),
)


_CHOOSING: tuple[Hint, ...] = (
    ("↑↓", "move"),
    ("⏎", "complete"),
    ("Esc", "close"),
)


def hints(on_escape: str, *, choosing: bool) -> list[Hint]:
    """Return the key hints: those of the menu of commands, or with what Esc does now."""
    if choosing:
        return list(_CHOOSING)
    return [("⏎", "send"), ("Esc", on_escape), *_KEYS]
