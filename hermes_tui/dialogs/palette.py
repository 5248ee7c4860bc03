"""The command palette: every action by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from hermes_tui.actions import ACTIONS, Action, first_key


class Actions(Provider):
    """Offers the actions of the key table."""

    def _offered(self) -> Iterator[tuple[str, Action]]:
        for action in ACTIONS:
            if action.palette:
                yield f"{action.label.capitalize()}  ({first_key(action.keys)})", action

    async def discover(self) -> Hits:
        for text, action in self._offered():
            yield DiscoveryHit(text, partial(self._run, action), help=action.about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, action in self._offered():
            score = max(matcher.match(text), matcher.match(action.about))
            if score > 0:
                yield Hit(score, matcher.highlight(text), partial(self._run, action),
                          help=action.about)  # fmt: skip

    async def _run(self, action: Action) -> None:
        namespace = getattr(self.screen, "namespace", None)
        node = namespace(action.scope) if callable(namespace) else self.screen
        await self.app.run_action(action.action, default_namespace=node)
