"""Relevance: which matches to show first when the order is not by time.

If few messages match, FTS5's bm25 ranks all of them. If many do, bm25 would have to walk every
occurrence of every word just to learn how common it is, so the newest matches are ranked by how
often and how densely they contain the words. Messages of the user and the model count more than
tool output, conversations with a user more than scheduled jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import apsw

from hermes_store.records.search import Hit
from hermes_store.search.candidates import Found
from hermes_store.search.run_plan import Search

WINDOW = 1_000
"""Up to this many matches are all ranked by bm25."""
RECENT = 200
"""If there are more, this many of the newest are ranked."""
TEXT_WINDOW = 200
"""Matches to rank by reading their text, if no index can rank them."""

_TOOL, _MACHINE = 0.4, 0.5
MACHINES = ("cron", "batch", "webhook", "tool", "subagent")
_SOURCES = ", ".join(f"'{name}'" for name in MACHINES)
WEIGHT_SQL = (
    f"CASE WHEN m.role IN ('user', 'assistant') THEN 1.0 ELSE {_TOOL} END * "
    f"CASE WHEN s.source IN ({_SOURCES}) THEN {_MACHINE} ELSE 1.0 END"
)


def _density(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
    """Score a message by its number of occurrences, lower for long messages."""
    occurrences = api.inst_count
    return occurrences / (occurrences + 1.2 + api.column_size(-1) / 150)


def best(search: Search, *, limit: int, offset: int = 0, weighted: bool = False) -> list[Hit]:
    """Return the most relevant matches; `weighted` prefers the user and model to tools and jobs."""
    number = offset + limit
    found = list(islice(ranked(search, number, weighted=weighted), offset, number))
    return [search.hit(row) for row in found]


def ranked(search: Search, number: int, *, weighted: bool) -> Iterator[Found]:
    """Yield matches, the most relevant first; `number` is how many will be used."""
    lookup = search.single_lookup()
    if search.has_short_cjk:
        # One or two characters expand to all trigrams that start with them; how common each
        # of those is says nothing about a message, so the newest come first.
        yield from search.found()
        return
    if lookup is None:
        rows = search.found()
        newest = list(islice(rows, TEXT_WINDOW))
        yield from sorted(newest, key=lambda row: -search.density(row) * weight(row))
        yield from rows
        return
    table, expression = lookup
    connection = search.connection
    connection.register_fts5_function("hermes_density", _density)
    many = search.rows.exceeds(table, expression, WINDOW)
    score = f"hermes_density({table})" if many else f"-bm25({table})"
    window = RECENT if many else WINDOW
    if weighted:
        score = f"{score} * {WEIGHT_SQL}"
    seen: set[int] = set()
    with search.stop.watching(connection):
        for row in search.rows.scored(table, expression, score, window=window, limit=number):
            seen.add(row.message_id)
            yield row
    if len(seen) < number:
        # What the look-up did not find, such as parts of words, follows by time.
        for row in search.found():
            if row.message_id not in seen:
                yield row


def weight(row: Found) -> float:
    """Return the weight of a match by role and source."""
    said = 1.0 if row.role in ("user", "assistant") else _TOOL
    return said * (_MACHINE if row.source in MACHINES else 1.0)
