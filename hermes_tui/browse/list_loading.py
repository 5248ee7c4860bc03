"""Reading a whole list, what is below its rows, and putting a newer beginning before it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_store.errors import NotFound
from hermes_store.records.listing import Entry, Heading, Hidden, ListRow, View
from hermes_store.records.search import Group
from hermes_store.store import Store
from hermes_tui.opening.first_list_rows import FIRST_ROWS
from hermes_tui.presentation.lineage_lines import Branch, branches
from hermes_tui.store_access import Stopped

Families = dict[str, list[Branch]]
"""The sessions below conversations, by the first session of each."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The whole list, with its first rows."""

    entries: list[Entry]
    rows: list[ListRow]
    hidden: dict[Hidden, int]
    days: tuple[int, ...]
    """Sessions started on each of the last thirty days, the last one today."""
    started: float
    seconds: float


def read_all(store: Store, view: View, now: float, stopped: Stopped, *, last: bool) -> Loaded:
    """Read the whole list; with `last`, its first rows with their last messages."""
    started = time.monotonic()
    entries = list(_until(stopped, store.lists.entries(view, now=now)))
    ids = [entry for entry in entries[:FIRST_ROWS] if isinstance(entry, str)]
    rows = store.lists.rows(ids, now=now, last=last)
    hidden = store.lists.hidden_counts(view)
    days = store.lists.days(now=now)
    return Loaded(entries, rows, hidden, days, started, time.monotonic() - started)


def _until(stopped: Stopped, entries: Iterator[Entry]) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        if not number % 1_000 and stopped():
            return
        yield entry


def with_headings(groups: Sequence[Group]) -> list[Entry]:
    """Return search results, with matching titles under a heading of their own."""
    titled = [group.root_id for group in groups if group.title_matches]
    others = [group.root_id for group in groups if not group.title_matches]
    if not titled:
        return [*others]
    below: list[Entry] = [Heading("Matching messages", 0), *others] if others else []
    return [Heading("Matching titles", 0), *titled, *below]


def begun_with(entries: Sequence[Entry], head: Sequence[Entry]) -> list[Entry]:
    """Return a list with its head replaced by a newer one.

    Entries above the last known one of the new head that are not in it are gone.
    """
    ids = {entry for entry in head if isinstance(entry, str)}
    names = {entry.text for entry in head if isinstance(entry, Heading)}
    places = {entry: place for place, entry in enumerate(entries) if entry in ids}
    fresh = [entry for entry in head if isinstance(entry, str)]
    last = next((places[each] for each in reversed(fresh) if each in places), -1)
    rest = (
        entry
        for entry in entries[last + 1 :]
        if (entry not in ids if isinstance(entry, str) else entry.text not in names)
    )
    return _without_empty([*head, *rest])


def _without_empty(entries: Sequence[Entry]) -> list[Entry]:
    """Return a list without headings that have nothing below them."""
    return [
        entry
        for entry, after in zip(entries, [*entries[1:], None], strict=False)
        if isinstance(entry, str) or isinstance(after, str)
    ]


def families(store: Store, roots: Sequence[str]) -> Families:
    """Read the sessions below conversations; one that is gone is left out."""
    found: Families = {}
    for root_id in roots:
        try:
            tree = store.lineage.tree(root_id)
        except NotFound:
            continue
        below = [each for each in branches(tree) if each.session.id != root_id]
        found[root_id] = [replace(each, current=False) for each in below]
    return found
