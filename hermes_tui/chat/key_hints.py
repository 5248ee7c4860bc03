"""The key hints of the chat, for the status bar."""

from __future__ import annotations

from hermes_tui.widgets.status_bar import Hint

_KEYS: tuple[Hint, ...] = (
    ("⏎", "send"),
    ("⇧⏎", "new line"),
    ("/", "commands"),
    ("PgUp", "scroll"),
)


def hints(*, answering: bool) -> list[Hint]:
    """Return the key hints; Esc depends on whether an answer is coming."""
    return [*_KEYS, ("Esc", "stop" if answering else "leave"), ("F1", "help")]
