"""A search with its results, page after page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hermes_store.records.listing import ListRow
from hermes_store.records.search import Count, Hit, SearchResult

COUNTED = 1_000
"""From this number on, a page has counted all messages instead of its own."""


@dataclass(frozen=True, slots=True)
class Found:
    """A search and its results."""

    text: str
    result: SearchResult
    rows: list[ListRow]
    to_top: bool
    """Whether the list should scroll to its top."""

    def with_more(self, more: Found) -> Found:
        """Return this page and the next one as one."""
        result = replace(
            more.result,
            groups=(*self.result.groups, *more.result.groups),
            messages=_together(self.result.messages, more.result.messages),
        )
        return replace(more, result=result, rows=[*self.rows, *more.rows])

    def hit_of(self, root_id: str) -> Hit | None:
        """Return the best match in a conversation."""
        for group in self.result.groups:
            if group.root_id == root_id and group.hits:
                return group.hits[0]
        return None


def _together(first: Count, more: Count) -> Count:
    """Return the number of messages of several pages; the first page may have counted all."""
    if first.exact or first.number >= COUNTED:
        return first
    return Count(first.number + more.number, more.exact)
