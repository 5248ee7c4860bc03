"""What the browser remembers between two runs: a small JSON file of its own in the home folder.

config.yaml stays the user's. What is chosen inside the browser applies until config.yaml says
something else about it than it did at the time. Nothing but comfort depends on the file: one that
cannot be read or written is passed over in silence.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hermes_store.config.paths import BROWSER_STATE_NAME, create_folder, write_privately
from hermes_store.records.listing import Grouping, Hidden, Sort

log = logging.getLogger("hermes_tui.opening.kept_state")
MOST_BYTES = 500_000
PAGES = ("transcript", "recap", "lineage", "info")
"""The pages of the reading pane."""
DENSITIES = ("one", "two", "table")
"""One line for each conversation, two lines, or a table."""
SEARCH_ORDERS = ("newest", "relevance")
LEAST_SPLIT, MOST_SPLIT = 20, 80
CHOICES: Mapping[str, tuple[str, ...]] = {
    "sort": tuple(each.value for each in Sort),
    "group": tuple(each.value for each in Grouping),
    "page": PAGES,
    "density": DENSITIES,
    "search_order": SEARCH_ORDERS,
}
"""The values that some fields can have."""
KINDS = tuple(each.value for each in Hidden)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the browser remembers between two runs; None is as config.yaml says."""

    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by action, to be used over those of config.yaml."""
    sort: str | None = None
    """The value of a `Sort`."""
    group: str | None = None
    """The value of a `Grouping`."""
    shown: tuple[str, ...] | None = None
    """The values of each `Hidden` that is shown."""
    page: str | None = None
    """The page of the reading pane."""
    density: str = "one"
    search_order: str | None = None
    """The order of results that was last chosen."""
    split: int = 55
    """The width of the list in percent."""
    over: Mapping[str, str] = field(default_factory=dict)
    """What config.yaml said, by field, when something else was chosen."""

    def under(self, said: Mapping[str, str]) -> Kept:
        """Return what still holds, given what config.yaml says now, by field.

        A later edit of config.yaml wins over what was chosen in the browser before it.
        """
        outdated = {name: None for name, now in said.items() if self.over.get(name, now) != now}
        changes: dict[str, Any] = {**outdated, "over": dict(said)}
        return replace(self, **changes)


def path_for(database: Path) -> Path:
    """Return where the state of a database's browser is kept."""
    return database.parent / BROWSER_STATE_NAME


def load(path: Path) -> Kept:
    """Read the state; whatever is missing or wrong has its default."""
    found = _read(path)
    values = {each.name: found[each.name] for each in fields(Kept) if each.name in found}
    if isinstance(values.get("shown"), list):
        values["shown"] = tuple(kind for kind in KINDS if kind in values["shown"])
    return Kept(**{name: value for name, value in values.items() if _fits(name, value)})


def save(path: Path, kept: Kept, changed: frozenset[str]) -> None:
    """Write some fields and leave the others, which another browser may have changed."""
    found = _read(path)
    for name in changed:
        found[name] = getattr(kept, name)
    # What config.yaml says is noted for what is chosen now; for the rest it stays as it was.
    before: dict[str, str] = found["over"] if _fits("over", found.get("over")) else {}
    now = {name: said for name, said in kept.over.items() if name in changed}
    found["over"] = {**before, **now}
    try:
        create_folder(path.parent)
        write_privately(path, found, indent=1)
    except OSError as error:
        log.debug("The state was not kept: %s", error.strerror)


def _read(path: Path) -> dict[str, Any]:
    """Return what the file holds, with the fields of other versions."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        found = json.loads(content.decode("utf-8")) if len(content) <= MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _fits(name: str, value: object) -> bool:
    """Return whether a field can have a value."""
    if name in CHOICES:
        return value in CHOICES[name]
    if name == "split":
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and LEAST_SPLIT <= value <= MOST_SPLIT  # type: ignore[operator]
    if name == "shown":
        return isinstance(value, tuple)
    if name in ("keys", "over"):
        return isinstance(value, dict) and all(
            isinstance(each, str) for pair in value.items() for each in pair
        )
    return isinstance(value, str)
