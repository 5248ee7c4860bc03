"""The status line: the keys that work now, and what happened last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual import events
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from hermes_tui.presentation.fit_text import cell_width, plain

Hint = tuple[str, str] | tuple[str, str, str]
"""A key, what it does, and the action that a click runs."""

SECONDS = 8.0
"""How long a message stays."""
ERROR_SECONDS = 30.0
MOST_LINES = 3
"""Lines for a message that is longer than the screen is wide."""


class StatusBar(Widget):
    """Key hints on the left, as many as fit; on the right a message, which comes first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: tuple[Hint, ...] = ()
        self.message = ""
        self.is_error = False
        self._action = ""
        """What a click on the message runs."""
        self._until: Timer | None = None

    def show(self, hints: Iterable[Hint]) -> None:
        """Replace the key hints."""
        self._hints = tuple(hints)
        self.refresh()

    def say(self, text: str, *, error: bool = False, action: str = "") -> None:
        """Show a message until the next one, or for a while; a click on it runs an action."""
        if self._until is not None:
            self._until.stop()
            self._until = None
        self.message, self.is_error, self._action = plain(text), error, action
        if self.message:
            self._until = self.set_timer(ERROR_SECONDS if error else SECONDS, self.clear)
        self.refresh(layout=True)

    def clear(self) -> None:
        """Remove the message."""
        self.say("")

    # -- drawing ---------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One line, more for a message that does not fit."""
        if cell_width(self.message) <= width - 2:
            return 1
        return min(MOST_LINES, max(1, Content(f" {self.message}").get_height({}, width)))

    def render(self) -> Content:
        style = "$error bold" if self.is_error else "$foreground"
        room = self.size.width - 2
        said = cell_width(self.message)
        if said > room:
            return Content.assemble((f" {self.message}", style))
        pieces: list[tuple[str, str] | str] = [" "]
        used = 0
        for _, _, hint in self._placed():
            pieces += [(hint[0], "$accent bold"), (f" {hint[1]}  ", "$foreground-muted")]
            used += _width(hint)
        if self.message:
            pieces += [" " * (room - used - said), (self.message, style)]
        return Content.assemble(*pieces)

    def _placed(self) -> Iterator[tuple[int, int, Hint]]:
        """Yield the hints that fit, each with its columns; the last one, help, goes last."""
        room = self.size.width - 2 - (cell_width(self.message) + 1 if self.message else 0)
        kept = list(self._hints)
        while len(kept) > 1 and sum(_width(hint) for hint in kept) > room:
            del kept[-2]
        if self.message and sum(_width(hint) for hint in kept) > room:
            return
        start = 1
        for hint in kept:
            yield start, start + _width(hint), hint
            start += _width(hint)

    def on_resize(self, event: events.Resize) -> None:
        self.refresh()

    # -- the mouse -------------------------------------------------------------------------

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the key under the mouse."""
        event.stop()
        for start, end, hint in self._placed():
            if start <= event.x < end and len(hint) == 3 and hint[2]:
                await self.app.run_action(hint[2], self._namespace(hint[2]))
                return
        if self._action and event.x >= self.size.width - 1 - cell_width(self.message):
            await self.app.run_action(self._action, self._namespace(self._action))

    def _namespace(self, action: str) -> DOMNode:
        """Return who an action without a prefix belongs to, from the focused widget outwards."""
        method = f"action_{action.partition('(')[0]}"
        focused = self.screen.focused or self.screen
        return next(
            (node for node in focused.ancestors_with_self if hasattr(node, method)), self.screen
        )


def _width(hint: Hint) -> int:
    return cell_width(hint[0]) + cell_width(hint[1]) + 3
