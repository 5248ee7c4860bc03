"""Lists by activity, and their first rows without computing all the others.

Where `session_activity` is a table, an index has the order. Where it is a view, every row of it is
computed, and a page would cost as much as the whole list. There, a few sessions that stand in the
list say how recent its first rows are at least, and the index of messages by session and time says
which sessions are that recent: only those are computed. Nothing is assumed about the order in
which sessions or messages were stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, islice
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records.listing import NO_LIMIT
from hermes_store.records.sources import of_source
from hermes_store.records.stored_values import LATEST, moment, sorts_by_time

FEW = 300
"""A list of so few sessions is computed completely: looking for its first ones takes as long."""
SPARE = 30
"""How many sessions to look at beyond those needed: some are less recent than their start."""

# CROSS JOIN fixes the join order: session_activity is read through its list index.
ORIGIN = "session_activity a CROSS JOIN sessions s ON s.id = a.session_id"

# Sessions as recent as a time, and those that they continue: these are as recent as what continues
# them. Both indexes are read without their tables, whose rows have long texts before the times.
_SINCE = (
    "(WITH RECURSIVE recent(id) AS (SELECT r.id FROM sessions r WHERE EXISTS "
    "(SELECT 1 FROM messages WHERE session_id = r.id AND timestamp >= ?1) "
    "UNION ALL SELECT id FROM sessions WHERE started_at >= ?1{noted}), "
    "up(id) AS (SELECT id FROM recent UNION SELECT c.parent_session_id FROM up "
    "CROSS JOIN sessions c ON c.id = up.id CROSS JOIN session_activity k ON k.session_id = c.id "
    "WHERE c.parent_session_id IS NOT NULL AND k.edge = 'compression') SELECT id FROM up)"
)
_NOTED_SINCE = " UNION ALL SELECT id FROM sessions WHERE last_activity_at >= ?1"
_HAS_INDEX = (
    "SELECT 1 FROM pragma_index_list('messages', 'main') l WHERE NOT l.partial AND "
    "(SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name, 'main') "
    "WHERE seqno < 2 ORDER BY seqno)) = 'session_id,timestamp'"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list by activity, in SQL about a row `a` of session_activity and `s` of sessions."""

    last: str
    """The time by which it is sorted."""
    ties: tuple[str, ...]
    """What sorts the sessions of one time."""
    where: str
    values: Sequence[Any]
    source: str | None
    """The only source in it, if `where` has such a condition."""

    @property
    def order(self) -> str:
        return ", ".join(f"{column} DESC" for column in (self.last, *self.ties))


def first_rows(
    tx: Transaction, columns: str, listing: Listing, reach: int = NO_LIMIT
) -> Iterator[tuple[Any, ...]]:
    """Yield as many rows of a list as `reach` says, by the time as it is shown.

    Of `columns`, the second must be the time.
    """
    origin, values = _with_first(tx, listing, min(reach, NO_LIMIT))
    rows = tx.rows(
        f"SELECT {columns} FROM {origin} WHERE {listing.where} ORDER BY {listing.order}",
        (*values, *listing.values),
    )
    return islice(in_time(rows), reach)


def _with_first(tx: Transaction, listing: Listing, reach: int) -> tuple[str, list[Any]]:
    """Return the SQL for sessions with at least the first ones of a list, and its values."""
    if tx.caps.activity or not _is_long(tx, listing.source, reach):
        return ORIGIN, []
    # As many sessions of the list are as recent as this. Odd times are always more recent to SQL.
    least = tx.value(
        f"SELECT last FROM (SELECT {listing.last} AS last FROM sessions s "
        "CROSS JOIN session_activity a ON a.session_id = s.id "
        f"WHERE {listing.where} AND s.started_at <= {LATEST} "
        # Not as values: SQLite would compile the statement again for every page.
        f"ORDER BY s.started_at DESC LIMIT {reach + SPARE}) WHERE last <= {LATEST} "
        f"ORDER BY last DESC LIMIT 1 OFFSET {max(0, reach - 1)}",
        listing.values,
    )
    if least is None:
        return ORIGIN, []
    noted = _NOTED_SINCE if tx.caps.has_session("last_activity_at") else ""
    recent = f"{_SINCE.format(noted=noted)} near CROSS JOIN session_activity a"
    return (
        f"{recent} ON a.session_id = near.id CROSS JOIN sessions s ON s.id = a.session_id",
        [least],
    )


def _is_long(tx: Transaction, source: str | None, reach: int) -> bool:
    """Return whether there are many more sessions than needed, and the index to choose from."""
    condition, names = of_source("source", source)
    more = f"SELECT 1 FROM sessions WHERE {condition} LIMIT 1 OFFSET {reach + FEW}"
    return tx.one(more, names) is not None and tx.one(_HAS_INDEX) is not None


def in_time(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of an id and a time by the time as it is shown, the newest first.

    SQL has them in that order already, except for what is no time in seconds: that comes first.
    """
    odd: list[tuple[Any, ...]] = []
    for row in rows:
        if sorts_by_time(row[1]):
            rows = chain([row], rows)
            break
        odd.append(row)
    if not odd:
        return rows
    odd.sort(key=_newest_first)
    return merge(odd, rows, key=_newest_first)


def _newest_first(row: tuple[Any, ...]) -> float:
    return -moment(row[1])
