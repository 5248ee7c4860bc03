"""The order of a long list of conversations: all ids, and how many are left out.

Reading all ids is cheap (a walk through one index), so that a list scrolls from the newest to the
oldest without gaps; a row (see `rows`) is only built when it is shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, islice
from typing import Any

from hermes_store.browse.activity_order import ORIGIN, Listing, first_rows, in_time
from hermes_store.browse.rows import cost_and_tokens
from hermes_store.engines.base import Capabilities, Transaction
from hermes_store.records import stored_values
from hermes_store.records.listing import Entry, Grouping, Heading, Hidden, Sort, View
from hermes_store.records.safe_text import local_day
from hermes_store.records.sources import describe, of_source
from hermes_store.records.workspace import long_name, short_name
from hermes_store.sessions import workspaces
from hermes_store.sessions.lineage import any_in_chain, over_chain

HIDDEN_SOURCES = {
    "tool": Hidden.AGENT,
    "subagent": Hidden.AGENT,
    "cron": Hidden.CRON,
    "oneshot": Hidden.ONESHOT,
    "kanban": Hidden.KANBAN,
}
"""Sources that a list hides by default, and under which name."""
AGENT_SOURCES = tuple(name for name, kind in HIDDEN_SOURCES.items() if kind is Hidden.AGENT)

BY_TIME = (Sort.ACTIVITY, Sort.STARTED)
"""The orders in which days can be headings."""
PINNED = "Pinned"
"""The heading of pinned conversations."""

_LISTED = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class _Place:
    """A conversation with its sort and group values."""

    id: str
    moment: float
    group: str | None = None


# -- order -------------------------------------------------------------------------------------


def entries(
    tx: Transaction,
    view: View,
    *,
    archived: Collection[str] = (),
    pinned: Collection[str] = (),
    now: float,
) -> Iterator[Entry]:
    """Yield the ids of a list in order, with the headings of its grouping.

    `archived` are the sessions that are archived in the sidecar only; `pinned` come first.
    """
    limit = None if view.limit is None else max(0, view.limit)
    first = list(_places(tx, replace(view, limit=None), archived, pinned)) if pinned else []
    above = {place.id for place in first}
    wider = view if limit is None else replace(view, limit=limit + len(above))
    places = (place for place in _places(tx, wider, archived) if place.id not in above)
    first = first[:limit]
    rest = islice(places, None if limit is None else limit - len(first))
    if view.group is Grouping.NONE or (view.group is Grouping.DATE and view.sort not in BY_TIME):
        return (place.id for place in chain(first, rest))
    return _grouped(first, list(rest), view, now)


def _kind(tx: Transaction) -> str:
    """Return SQL for why a session is hidden: the value of a Hidden, or '' if it is shown."""
    sources = "".join(
        f"WHEN a.source = '{name}' THEN '{kind.value}' "
        for name, kind in HIDDEN_SOURCES.items()
        if kind is not Hidden.AGENT
    )
    agents = ", ".join(f"'{name}'" for name in AGENT_SOURCES)
    archived = " OR COALESCE(s.archived, 0) <> 0" if tx.caps.has_session("archived") else ""
    hidden = ""
    if tx.caps.has_session("hidden"):
        hidden = f"WHEN COALESCE(s.hidden, 0) <> 0 THEN '{Hidden.HIDDEN.value}' "
    return (
        f"CASE WHEN a.edge = 'agent' OR a.source IN ({agents}) THEN '{Hidden.AGENT.value}' "
        f"{sources}WHEN s.id IN {_LISTED}{archived} THEN '{Hidden.ARCHIVED.value}' "
        f"{hidden}WHEN NOT a.spoken THEN '{Hidden.EMPTY.value}' ELSE '' END"
    )


def _wanted_kinds(view: View) -> list[str]:
    shown = {"", *(kind.value for kind in view.shown)}
    if view.source in HIDDEN_SOURCES:
        shown.add(HIDDEN_SOURCES[view.source].value)
    return sorted(shown)


def _scope(tx: Transaction, view: View) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for the workspace of a view, and its values.

    A conversation belongs to the workspaces of all its parts.
    """
    scope = workspaces.scope(tx.caps, "c", view.workspace, view.here)
    conditions = [any_in_chain(sql) for sql, _ in scope]
    return " AND ".join(conditions) or "TRUE", tuple(value for _, found in scope for value in found)


def _places(
    tx: Transaction, view: View, archived: Collection[str], only: Collection[str] = ()
) -> Iterator[_Place]:
    """Yield the conversations of a view in its order; with `only`, no others."""
    plain = not only and view.sort is Sort.ACTIVITY and view.group in (Grouping.NONE, Grouping.DATE)
    plain = plain and not view.shown and view.source not in AGENT_SOURCES
    plain = plain and view.workspace is None and view.here is None
    limit = None if tx.caps.activity or view.sort is not Sort.ACTIVITY else view.limit
    if plain and limit is None and not archived and not _filing(tx):
        return _from_index(tx, view)
    where, values = _in_view(tx, view, archived)
    if only:
        where += f" AND a.session_id IN {_LISTED}"
        values = (*values, json.dumps(sorted(only)))
    columns = f"a.session_id, {_moment(view)}, {_group(tx, view)}"
    if limit is not None:
        listing = Listing("a.chain_active", ("a.session_id",), where, values, view.source)
        return map(_place, first_rows(tx, columns, listing, max(0, limit)))
    rows = tx.rows(
        f"SELECT {columns} FROM session_activity a JOIN sessions s ON s.id = a.session_id "
        f"WHERE {where} ORDER BY {_order(tx.caps, view.sort)}, a.session_id DESC"
        f"{_most(tx, view)}",
        values,
    )
    return map(_place, in_time(rows) if view.sort in BY_TIME else rows)


def _in_view(tx: Transaction, view: View, archived: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for the conversations that a view shows, and its values."""
    source, names = of_source("a.source", view.source)
    scope, scoped = _scope(tx, view)
    where = (
        f"(a.listed = TRUE OR a.edge = 'agent') AND {_kind(tx)} IN {_LISTED} "
        f"AND {source} AND {scope}"
    )
    return where, (
        json.dumps(sorted(archived)), json.dumps(_wanted_kinds(view)), *names, *scoped
    )  # fmt: skip


def shows_any(tx: Transaction, view: View, *, archived: Collection[str] = ()) -> bool:
    """Return whether a view shows any conversation."""
    where, values = _in_view(tx, view, archived)
    return tx.one(f"SELECT 1 FROM {ORIGIN} WHERE {where} LIMIT 1", values) is not None


def number_of(tx: Transaction, view: View, *, archived: Collection[str] = ()) -> int:
    """Return how many conversations a view shows, whatever its limit."""
    where, values = _in_view(tx, view, archived)
    return int(
        tx.value(
            "SELECT COUNT(*) FROM session_activity a JOIN sessions s ON s.id = a.session_id "
            f"WHERE {where}",
            values,
        )
    )


def _place(row: tuple[Any, ...]) -> _Place:
    session_id, moment, *group = row
    named = stored_values.optional_text(group[0]) if group else None
    return _Place(stored_values.text(session_id), stored_values.moment(moment), named)


def _from_index(tx: Transaction, view: View) -> Iterator[_Place]:
    """Read the list from its index alone."""
    chosen, names = of_source("a.source", view.source)
    if view.source is None:
        names = tuple(HIDDEN_SOURCES)
        chosen = f"a.source NOT IN ({', '.join('?' * len(names))})"
    # What is hidden for its source is shown with those without messages, once it is chosen.
    spoken = "" if view.source in HIDDEN_SOURCES else "AND a.spoken = TRUE"
    rows = tx.rows(
        "SELECT a.session_id, a.chain_active FROM session_activity a "
        f"WHERE a.listed = TRUE {spoken} AND {chosen} "
        f"ORDER BY a.chain_active DESC, a.session_id DESC{_most(tx, view)}",
        names,
    )
    return map(_place, in_time(rows))


def _most(tx: Transaction, view: View) -> str:
    """Return the SQL for the limit of a view; without types, what comes first may be no time."""
    return f" LIMIT {max(0, view.limit)}" if tx.caps.typed and view.limit is not None else ""


def _filing(tx: Transaction) -> list[str]:
    """Return the columns with which a newer Hermes hides sessions."""
    return [column for column in ("archived", "hidden") if tx.caps.has_session(column)]


_TOTAL = over_chain("SUM(COALESCE(c.message_count, 0))")
# As the row shows it: the title of the newest continuation.
_NEWEST = "ORDER BY c.id = s.id, c.started_at DESC, c.id DESC LIMIT 1"
_TITLE = f"COALESCE({over_chain('c.title', _NEWEST)}, s.title)"
_ORDERS = {
    Sort.ACTIVITY: "a.chain_active DESC",
    Sort.STARTED: "s.started_at DESC",
    Sort.MESSAGES: f"{_TOTAL} DESC, a.chain_active DESC",
}


def _order(caps: Capabilities, sort: Sort) -> str:
    """Return the SQL for an order; what a file has no columns for is the same everywhere."""
    if sort is Sort.TITLE:
        named = caps.dialect.alphabetical(_TITLE)
        return f"{_TITLE} IS NULL, {named}, a.chain_active DESC"
    if sort not in (Sort.COST, Sort.TOKENS):
        return _ORDERS[sort]
    cost, tokens = cost_and_tokens(caps, "c")
    total = over_chain(f"TOTAL({cost if sort is Sort.COST else tokens})")
    return f"{total} DESC, a.chain_active DESC"


def _moment(view: View) -> str:
    return "s.started_at" if view.sort is Sort.STARTED else "a.chain_active"


def _group(tx: Transaction, view: View) -> str:
    if view.group is Grouping.WORKSPACE:
        newest = over_chain(workspaces.key(tx.caps, "c"), _NEWEST)
        return f"COALESCE({newest}, {workspaces.key(tx.caps, 's')})"
    if view.group is Grouping.HOST:
        return f"COALESCE({tx.caps.session_column('host')}, '')"
    groups = {Grouping.SOURCE: "s.source", Grouping.MODEL: "COALESCE(s.model, '')"}
    return groups.get(view.group, "NULL")


# -- headings ----------------------------------------------------------------------------------


def _grouped(
    pinned: Sequence[_Place], places: Sequence[_Place], view: View, now: float
) -> Iterator[Entry]:
    if pinned:
        yield Heading(PINNED, len(pinned))
        yield from (place.id for place in pinned)
    days = _Days(now)
    groups: dict[str, list[str]] = {}
    named = Counter(short_name(each) for each in {place.group for place in places if place.group})
    for place in places:
        if view.group is Grouping.DATE:
            label = days.name(place.moment)
        elif view.group is Grouping.SOURCE:
            label = describe(place.group or "").label
        elif view.group is Grouping.WORKSPACE:
            label = _workspace_label(place.group, named)
        elif view.group is Grouping.HOST:
            label = place.group or "written here"
        else:
            label = place.group or "no model"
        groups.setdefault(label, []).append(place.id)
    for text, ids in groups.items():
        yield Heading(text, len(ids))
        yield from ids


def _workspace_label(workspace: str | None, named: Counter[str]) -> str:
    if workspace is None:
        return "no workspace"
    short = short_name(workspace)
    return short if named[short] < 2 else long_name(workspace)


class _Days:
    """Headings by day for a week, then coarser."""

    def __init__(self, now: float) -> None:
        today = local_day(now).replace(hour=0, minute=0, second=0, microsecond=0)
        days = [(today - timedelta(number), number) for number in range(7)]
        names = [(start, f"{start:%A}") for start, number in days if number > 1]
        names = [(today, "Today"), (days[1][0], "Yesterday"), *names]
        names.append((today - timedelta(29), "Last 30 days"))
        self._steps = [(start.timestamp(), text) for start, text in names]

    def name(self, moment: float) -> str:
        """Return the heading of a time."""
        for start, text in self._steps:
            if moment >= start:
                return text
        return f"{local_day(moment):%B %Y}"


# -- hidden ------------------------------------------------------------------------------------


def hidden_counts(
    tx: Transaction, view: View, *, archived: Collection[str] = ()
) -> dict[Hidden, int]:
    """Return how many conversations and sub-agents a view leaves out, by reason."""
    source, names = of_source("a.source", view.source)
    scope, scoped = _scope(tx, view)
    rows = tx.rows(
        f"SELECT {_kind(tx)}, COUNT(*) "
        f"FROM {ORIGIN} WHERE {source} AND a.edge <> 'compression' AND {scope} GROUP BY 1",
        (json.dumps(sorted(archived)), *names, *scoped),
    )
    kinds = set(_wanted_kinds(view))
    return {Hidden(kind): number for kind, number in rows if kind not in kinds}
