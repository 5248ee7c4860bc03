"""The command palette: everything that can be done, by what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from hermes_store.records.listing import Grouping, Hidden, Sort
from hermes_tui.actions import ACTIONS, Scope, first_key
from hermes_tui.opening.kept_state import DENSITIES, PAGES

GROUPS = {Grouping.NONE: "Group by nothing", Grouping.DATE: "Group by day"}
DENSITY_NAMES = {"one": "one line each", "two": "two lines each", "table": "a table"}


@dataclass(frozen=True, slots=True)
class Command:
    """An action as the palette offers it."""

    name: str
    about: str
    action: str
    scope: Scope


def commands() -> Iterator[Command]:
    """Yield every action, and one command for each value that an option can have."""
    for each in ACTIONS:
        if each.palette:
            name = f"{each.about.rstrip('.')}  ({first_key(each.keys)})"
            yield Command(name, each.scope.value, each.action, each.scope)
    for page in PAGES:
        yield _command(f"Show the {page}", "In the reading pane", f"screen.show_tab('{page}')")
    for sort in Sort:
        yield _command(f"Sort by {sort.value}", "Order of the list", f"sort_by('{sort.value}')")
    for group in Grouping:
        name = GROUPS.get(group, f"Group by {group.value}")
        yield _command(name, "Headings of the list", f"group_by('{group.value}')")
    for kind in Hidden:
        name = f"Show hidden: {kind.value}"
        yield _command(name, "Or hide them again", f"show_kind('{kind.value}')")
    for density in DENSITIES:
        name = f"Show {DENSITY_NAMES[density]}"
        yield _command(name, "Density of the list", f"density_of('{density}')")


def _command(name: str, about: str, action: str) -> Command:
    return Command(name, about, action, Scope.LIST)


class Actions(Provider):
    """Offers the actions of the key table, and the values of options."""

    async def discover(self) -> Hits:
        for each in commands():
            yield DiscoveryHit(each.name, partial(self._run, each), help=each.about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for each in commands():
            score = matcher.match(each.name)
            if score > 0:
                run = partial(self._run, each)
                yield Hit(score, matcher.highlight(each.name), run, help=each.about)

    async def _run(self, command: Command) -> None:
        namespace = getattr(self.screen, "namespace", None)
        node = namespace(command.scope) if callable(namespace) else self.screen
        await self.app.run_action(command.action, default_namespace=node)
