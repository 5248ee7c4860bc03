"""What can be chosen about a list: its order, groups, hidden kinds and density, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hermes_store.records.listing import Grouping, Hidden, Sort, View
from hermes_store.records.workspace import short_name
from hermes_tui.browse.session_list_widget import Looks
from hermes_tui.presentation.rows import HIDDEN_WORDS

Value = TypeVar("Value")

DENSITY_WORDS = {
    "one": "One line for each conversation.",
    "two": "Two lines for each conversation, with its last message.",
    "table": "A table with model, tokens and cost.",
}
GROUP_WORDS = {
    Grouping.NONE: "Not grouped.",
    Grouping.DATE: "Grouped by day.",
    Grouping.SOURCE: "Grouped by source.",
    Grouping.MODEL: "Grouped by model.",
    Grouping.WORKSPACE: "Grouped by workspace.",
    Grouping.HOST: "Grouped by host.",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Another view, what to say about it, and what to remember."""

    view: View
    sentence: str
    kept: dict[str, Any] = field(default_factory=dict)


def after(current: Value, choices: Sequence[Value]) -> Value:
    """Return the next of some choices, after the last the first."""
    return choices[(choices.index(current) + 1) % len(choices)]


def sorted_by(view: View, sort: Sort, *, found: bool = False) -> Chosen:
    """Return the view in another order; what a search `found` has an order of its own."""
    said = f"The list is sorted by {sort.value}; results keep their order."
    said = said if found else f"Sorted by {sort.value}."
    return Chosen(replace(view, sort=sort), said, {"sort": sort.value})


def groupings(address: str | None) -> list[Grouping]:
    """Return the headings that make sense: only a server has sessions of several hosts."""
    return [each for each in Grouping if address is not None or each is not Grouping.HOST]


def grouped_by(view: View, group: Grouping) -> Chosen:
    """Return the view with other headings."""
    return Chosen(replace(view, group=group), GROUP_WORDS[group], {"group": group.value})


def with_kinds(view: View, kinds: frozenset[Hidden]) -> Chosen:
    """Return the view with some of the kinds that are hidden by default."""
    names = tuple(kind.value for kind in Hidden if kind in kinds)
    words = [HIDDEN_WORDS[kind].lower() for kind in Hidden if kind in kinds]
    said = f"Showing {', '.join(words)} too." if words else "Showing the usual conversations."
    said = "Showing all conversations." if len(names) == len(Hidden) else said
    return Chosen(replace(view, shown=kinds), said, {"shown": names})


def scoped_to(view: View, here: str | None) -> Chosen:
    """Return the view of one workspace, or of all."""
    said = "all workspaces" if here is None else f"only {short_name(here)}"
    return Chosen(replace(view, here=here), f"Showing {said}.")


def looks(view: View, density: str, *, found: bool = False) -> Looks:
    """Return how to show the rows of a view, or what a search `found`."""
    dated = view.group is Grouping.DATE and view.sort in (Sort.ACTIVITY, Sort.STARTED)
    return Looks(
        placed=view.here is None and (found or view.group is not Grouping.WORKSPACE),
        by_day=dated and not found,
        counted=not dated and not found,
        sort=Sort.ACTIVITY if found else view.sort,
        density=density,
    )
