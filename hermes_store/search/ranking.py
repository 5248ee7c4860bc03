"""Relevance: which matches to show first when the order is not by time.

The newest matches are ranked by how often and how densely they contain the words. How rare a word
is plays no part: FTS5's bm25 would have to walk every occurrence of every word to learn that.
Messages of the user and the model count more than tool output, conversations with a user more than
scheduled jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from hermes_store.search.candidates import Found
from hermes_store.search.run_plan import Search

WINDOW = 100
"""How many of the newest matches are ranked."""

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


def ranked(search: Search, number: int, *, weighted: bool) -> Iterator[Found]:
    """Yield matches, the most relevant first; `number` is how many will be used.

    `weighted` prefers the user and the model to tools and jobs. What no index can rank, such as
    parts of words, follows by time.
    """
    lookup = search.single_lookup()
    seen: set[int] = set()
    if lookup is not None:
        table, expression, test = lookup
        connection = search.connection
        connection.register_fts5_function("hermes_density", _density)
        score = f"hermes_density({table})" + (f" * {WEIGHT_SQL}" if weighted else "")
        with search.stop.watching(connection):
            for row in search.rows.scored(
                table, expression, test, score, window=WINDOW, limit=number
            ):
                seen.add(row.message_id)
                yield row
    if len(seen) < number:
        for row in search.found():
            if row.message_id not in seen:
                yield row
