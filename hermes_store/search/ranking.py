"""Relevance: which matches to show first when the order is not by time.

The newest matches are ranked by how often and how densely they contain the words. How rare a word
is plays no part: finding that out would take a walk through every occurrence of every word.
Messages of the user and the model count more than tool output, conversations with a user more than
scheduled jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from hermes_store.search.matcher import Found
from hermes_store.search.run_plan import Search


def ranked(search: Search, number: int, *, weighted: bool) -> Iterator[Found]:
    """Yield matches, the most relevant first; `number` is how many will be used.

    `weighted` prefers the user and the model to tools and jobs. What no index can rank, such as
    parts of words, follows by time.
    """
    seen: set[int] = set()
    for row in search.best(number, weighted=weighted):
        seen.add(row.message_id)
        yield row
    if len(seen) < number:
        for row in search.found():
            if row.message_id not in seen:
                yield row
