"""Lists of sessions: newest first by start or by activity, with preview and compression tips.

With the activity table, the cost of a page depends only on its rows. Without it (read-only on an
untouched database, or one of a newer Hermes) the same answers are computed from messages, as far
as they are needed (see `activity_order`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from hermes_store.browse import activity_order
from hermes_store.browse.activity_order import Listing, in_time
from hermes_store.engines.base import Transaction
from hermes_store.records.listing import NO_LIMIT, Filter, page_bounds
from hermes_store.records.message_content import MARKER, stored_preview
from hermes_store.records.safe_text import local_day
from hermes_store.records.session import Conversation
from hermes_store.records.sources import all_spellings, of_source
from hermes_store.records.stored_values import count, moment, sorts_by_time, text
from hermes_store.sessions import lineage, session_rows, workspaces
from hermes_store.sessions.lineage import any_in_chain, over_chain

DAYS = 30

# What a row takes from the newest session of its compression chain.
_FROM_TIP = (
    "id",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "title",
    "last_active",
    "preview",
    "model",
    "system_prompt",
    "cwd",
    "git_branch",
    "git_repo_root",
)

ORIGIN = activity_order.ORIGIN
# As a plain value, SQLite would take the id over into the join, and compile the statement again for
# every id, which takes ten times as long as running it.
_ONE = f"{ORIGIN} WHERE a.session_id = +?"
_EXTRAS = "a.last_active, a.preview_id, a.preview"


def _where(tx: Transaction, chosen: Filter, *, source_of: str) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if not chosen.include_children:
        conditions.append("a.listed = TRUE")
    if chosen.source is not None:
        condition, names = of_source(f"{source_of}.source", chosen.source)
        conditions.append(condition)
        values += names
    if chosen.exclude_sources:
        left_out = all_spellings(chosen.exclude_sources)
        marks = ", ".join("?" * len(left_out))
        conditions.append(f"{source_of}.source NOT IN ({marks})")
        values += left_out
    for column in ("archived", "hidden"):
        if tx.caps.has_session(column) and not chosen.include_archived:
            conditions.append(f"COALESCE(s.{column}, 0) = 0")
    if chosen.workspace is not None:
        condition, patterns = workspaces.matches(tx.caps, "c", chosen.workspace)
        conditions.append(any_in_chain(condition))
        values += patterns
    if chosen.archived_ids and not chosen.include_archived:
        conditions.append("s.id NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(chosen.archived_ids))
    return " AND ".join(conditions) or "TRUE", values


def preview(tx: Transaction, message_id: int | None, beginning: Any) -> str:
    mark = MARKER if isinstance(beginning, str) else MARKER.encode()
    if isinstance(beginning, bytes | str) and beginning.startswith(mark):  # type: ignore[arg-type]
        # Multimodal: the first bytes of the JSON are no preview, its text parts are.
        beginning = tx.value("SELECT content FROM messages WHERE id = ?", (message_id,))
    return stored_preview(beginning)


def _dict(tx: Transaction, names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    width = len(names)
    result = session_rows.mended(dict(zip(names, row[:width], strict=True)))
    last_active, preview_id, beginning = row[width : width + 3]
    result["last_active"] = moment(last_active)
    result["preview"] = preview(tx, preview_id, beginning)
    return result


def rich_row(tx: Transaction, session_id: str) -> dict[str, Any] | None:
    """Return one session with preview and last activity, None if there is none."""
    names, selected = session_rows.all_columns(tx, "s")
    row = tx.one(f"SELECT {selected}, {_EXTRAS} FROM {_ONE}", (session_id,))
    return None if row is None else _dict(tx, names, row)


def rich(
    tx: Transaction,
    chosen: Filter,
    *,
    limit: int = 20,
    offset: int = 0,
    project_tips: bool = True,
    by_activity: bool = False,
) -> list[dict[str, Any]]:
    """Return a page of sessions as dictionaries, the newest first."""
    limit, offset = page_bounds(limit, offset)
    if by_activity:
        found = _by_activity(tx, chosen, limit, offset)
    else:
        found = _by_start(tx, chosen, limit, offset)
    if project_tips and not chosen.include_children:
        found = [_project(tx, row) for row in found]
    return found


def _by_start(tx: Transaction, chosen: Filter, limit: int, offset: int) -> list[dict[str, Any]]:
    where, values = _where(tx, chosen, source_of="s")
    joined = "sessions s CROSS JOIN session_activity a ON a.session_id = s.id"
    origin = f"{joined} WHERE {where} ORDER BY s.started_at DESC"
    return _page(tx, origin, "s.started_at", values, limit, offset)


def _by_activity(tx: Transaction, chosen: Filter, limit: int, offset: int) -> list[dict[str, Any]]:
    if chosen.include_children:
        # The activity of continuations counts, even if they are listed separately.
        last = over_chain("MAX(k.last_active)", "JOIN session_activity k ON k.session_id = c.id")
        source_of = "s"
    else:
        last, source_of = "a.chain_active", "a"
    where, values = _where(tx, chosen, source_of=source_of)
    listing = Listing(last, ("s.started_at", "s.id"), where, values, chosen.source)
    if not tx.caps.activity or chosen.include_children:
        # No index has this order: everything but the time is computed for the page only.
        found = activity_order.first_rows(tx, f"s.id, {last}", listing, offset + limit)
        ids = [session_id for session_id, _ in islice(found, offset, None)]
        if not any("\ufffd" in text(each) for each in ids):  # else, one may stand for other bytes
            return [row for row in (rich_row(tx, each) for each in ids) if row is not None]
    origin = f"{ORIGIN} WHERE {where} ORDER BY {listing.order}"
    return _page(tx, origin, last, values, limit, offset)


def _page(
    tx: Transaction, origin: str, time: str, values: Sequence[Any], limit: int, offset: int
) -> list[dict[str, Any]]:
    """Return a page of sessions in the order of a time, best one that an index has."""
    names, selected = session_rows.all_columns(tx, "s")
    found = list(
        tx.rows(
            f"SELECT {selected}, {_EXTRAS}, {time} FROM {origin} LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
    )
    # The first row of all tells whether any time is odd.
    if offset:
        first = tx.value(f"SELECT {time} FROM {origin} LIMIT 1", values)
    else:
        first = found[0][-1] if found else None
    if sorts_by_time(first):
        return [_dict(tx, names, row) for row in found]
    ids = in_time(tx.rows(f"SELECT s.id, {time} FROM {origin}", values))
    rows = (rich_row(tx, session_id) for session_id, _ in islice(ids, offset, offset + limit))
    return [row for row in rows if row is not None]


def _project(tx: Transaction, row: dict[str, Any]) -> dict[str, Any]:
    """Show the root of a chain as its newest session, with the root's start and cost."""
    if row["end_reason"] != "compression":
        return row
    tip_id = lineage.compression_tip(tx, row["id"])
    tip = rich_row(tx, tip_id) if tip_id != row["id"] else None
    if tip is None:
        return row
    taken = {name: tip[name] for name in _FROM_TIP if name in tip}
    return row | taken | {"_lineage_root_id": row["id"]}


def recent(
    tx: Transaction, source: str | None = None, *, limit: int = 20, offset: int = 0
) -> list[dict[str, Any]]:
    """Return sessions of every kind by their own last activity, including children."""
    limit, offset = page_bounds(limit, offset)
    if not tx.caps.activity or limit in (0, NO_LIMIT) or _has_odd_times(tx):
        ids = islice(_by_own_activity(tx, source, offset + limit), offset, None)
        return [row for session_id in ids for row in _recent(tx, _ONE, (session_id,))]
    # No index has this order, but in the list index a session never comes after its own activity:
    # read ever more of it, until no session beyond can belong to the page.
    reach = limit + offset
    while True:
        near, values = _first_in_list(source, reach)
        within = f"{ORIGIN} WHERE a.session_id IN ({near}) ORDER BY {_OWN_ACTIVITY}"
        found = _recent(tx, f"{within} LIMIT ? OFFSET ?", (*values, limit, offset))
        beyond = _active_beyond(tx, source, reach)
        if beyond is None or (len(found) == limit and found[-1]["last_active"] > beyond):
            return found
        reach *= 4


_OWN_ACTIVITY = "a.last_active DESC, s.started_at DESC, s.id DESC"
_IN_LIST = (
    "FROM session_activity WHERE listed = {listed} AND {condition} ORDER BY chain_active DESC"
)


def _in_list(source: str | None) -> tuple[list[str], list[Any]]:
    """Return the clauses that read listed and unlisted sessions by activity."""
    condition, names = of_source("source", source)
    parts = [_IN_LIST.format(listed=listed, condition=condition) for listed in ("TRUE", "FALSE")]
    return parts, [*names]


def _first_in_list(source: str | None, reach: int) -> tuple[str, list[Any]]:
    parts, values = _in_list(source)
    firsts = (f"SELECT * FROM (SELECT session_id {part} LIMIT ?) first" for part in parts)
    return " UNION ALL ".join(firsts), [*values, reach] * 2


def _has_odd_times(tx: Transaction) -> bool:
    """Return whether SQL sorts a session where its last activity does not put it.

    In SQL's order, no session is more recently active than its chain.
    """
    parts, _ = _in_list(None)
    return not all(sorts_by_time(tx.value(f"SELECT chain_active {part} LIMIT 1")) for part in parts)


def _active_beyond(tx: Transaction, source: str | None, reach: int) -> float | None:
    """Return the latest activity beyond a place in the list, None if there is none."""
    parts, values = _in_list(source)
    found = (
        tx.value(f"SELECT chain_active {part} LIMIT 1 OFFSET ?", (*values, reach)) for part in parts
    )
    return max((moment(each) for each in found if each is not None), default=None)


def _recent(tx: Transaction, origin: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    names, selected = session_rows.all_columns(tx, "s")
    rows = tx.rows(f"SELECT {selected}, a.last_active FROM {origin}", values)
    found = (dict(zip((*names, "last_active"), row, strict=True)) for row in rows)
    return [session_rows.mended(row) | {"last_active": moment(row["last_active"])} for row in found]


Scope = Sequence[tuple[str, tuple[str, ...]]]
"""Conditions on a session `s`, with their values."""


def recent_ids(tx: Transaction, source: str | None = None, scope: Scope = ()) -> list[str]:
    """Return the ids of sessions of every kind, the most recently active first."""
    return [text(session_id) for session_id in _by_own_activity(tx, source, scope=scope)]


def _by_own_activity(
    tx: Transaction, source: str | None, reach: int = NO_LIMIT, scope: Scope = ()
) -> Iterator[Any]:
    where, names = of_source("a.source", source)
    where = " AND ".join([where, *(condition for condition, _ in scope)])
    values = [*names, *(value for _, found in scope for value in found)]
    listing = Listing("a.last_active", ("s.started_at", "s.id"), where, values, source)
    rows = activity_order.first_rows(tx, "s.id, a.last_active", listing, reach)
    return (session_id for session_id, _ in rows)


def conversations(
    tx: Transaction, chosen: Filter | None = None, *, limit: int = 20, offset: int = 0
) -> list[Conversation]:
    """Return a page of conversations, the most recently active first, one per chain."""
    rows = _by_activity(tx, chosen or Filter(), *page_bounds(limit, offset))
    return [_conversation(tx, row) for row in rows]


def _conversation(tx: Transaction, row: dict[str, Any]) -> Conversation:
    segments = lineage.chain(tx, row["id"]) if row["end_reason"] == "compression" else (row["id"],)
    tip = rich_row(tx, lineage.compression_tip(tx, row["id"])) or row
    marks = ", ".join("?" * len(segments))
    counts = tx.rows(f"SELECT message_count FROM sessions WHERE id IN ({marks})", segments)
    return Conversation(
        root_id=row["id"],
        tip=session_rows.get(tx, tip["id"]),
        edge=lineage.edge_of(tx, row["id"]),
        started_at=row["started_at"],
        last_active=tip["last_active"],
        preview=row["preview"] or tip["preview"],
        segments=len(segments),
        message_count=sum(count(number) for (number,) in counts),
    )


def sources(tx: Transaction) -> list[str]:
    """Return the sources of all sessions, by name."""
    found = tx.rows("SELECT DISTINCT source FROM sessions ORDER BY source")
    return list(dict.fromkeys(text(source) for (source,) in found))


def days(tx: Transaction, now: float) -> tuple[int, ...]:
    """Return how many sessions started on each of the last days, the last one today."""
    today = local_day(now).replace(hour=0, minute=0, second=0, microsecond=0)
    first = today - timedelta(DAYS - 1)
    numbers = [0] * DAYS
    for (started,) in tx.rows(
        "SELECT started_at FROM sessions WHERE started_at >= ?", (first.timestamp(),)
    ):
        place = (local_day(moment(started)).date() - first.date()).days
        if 0 <= place < DAYS:
            numbers[place] += 1
    return tuple(numbers)
