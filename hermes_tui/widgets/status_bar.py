"""The footer: the keys that work now."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.widget import Widget

Hint = tuple[str, str]
"""A key and what it does."""


class StatusBar(Widget):
    """Key hints, as many as fit."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: tuple[Hint, ...] = ()

    def show(self, hints: Iterable[Hint]) -> None:
        """Replace the key hints."""
        self._hints = tuple(hints)
        self.refresh()

    def render(self) -> Content:
        """Show as many hints as fit; the last one, help, always."""
        room = self.size.width - 2
        kept = list(self._hints)
        while len(kept) > 1 and sum(_width(hint) for hint in kept) > room:
            del kept[-2]
        pieces: list[tuple[str, str] | str] = [" "]
        for key, label in kept:
            pieces += [(key, "$accent bold"), (f" {label}  ", "$foreground-muted")]
        return Content.assemble(*pieces)

    def on_resize(self, event: events.Resize) -> None:
        self.refresh()


def _width(hint: Hint) -> int:
    return cell_len(hint[0]) + cell_len(hint[1]) + 3
