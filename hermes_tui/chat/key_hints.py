"""The keys of the chat, for the line at the bottom."""

from __future__ import annotations

from hermes_tui.widgets.status_bar import Hint

_KEYS: tuple[Hint, ...] = (
    ("⏎", "send"),
    ("⇧⏎", "new line"),
    ("/", "commands"),
    ("PgUp", "scroll"),
)


def hints(*, answering: bool) -> list[Hint]:
    """Return keys and what they do now."""
    return [*_KEYS, ("Esc", "stop" if answering else "leave"), ("F1", "help")]
