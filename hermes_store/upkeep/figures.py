"""Figures of the whole store: what happened on which day, and who used tokens and money.

Days are those of the local time zone. They are counted from the messages, so that every day that
has some is found again by searching for it; tokens and costs are only known by session.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta

from hermes_store.engines.base import Transaction
from hermes_store.records.statistics import Activity, DayFigures, Share, Usage
from hermes_store.records.stored_values import LATEST, amount, count, optional_text, text
from hermes_store.sessions import session_rows, workspaces
from hermes_store.upkeep.statistics import ACTIVE, gaps_sql, longest_streak

DAY, HOUR, HOURS = 86_400, 3_600, 24
EPOCH = date(1970, 1, 1).toordinal()
CLOCK_CHANGES_DAYS = 3 * 366
"""How far back summer time is told from winter time; before that, an hour does not matter."""


@dataclass(slots=True)
class _Day:
    messages: int = 0
    active_seconds: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0
    sessions: set[str] = field(default_factory=set)


# -- days --------------------------------------------------------------------------------------


def activity(tx: Transaction, now: float, database_bytes: int = 0) -> Activity:
    """Return what happened on which day."""
    days: dict[date, _Day] = defaultdict(_Day)
    hours = _count_messages(tx, now, days)
    _count_costs(tx, now, days)
    parts = _parts(tx)
    today = _day(int((now + time.localtime(now).tm_gmtoff) // DAY))
    busy = {day for day, found in days.items() if found.messages}
    sessions = session_rows.count(tx)
    week, week_before = (
        _together([days[day] for day in _week(today, weeks) if day in days], parts)
        for weeks in (0, 1)
    )
    return Activity(
        sessions=sessions,
        conversations=sessions - len(parts),
        days={day: _together([found], parts) for day, found in days.items()},
        hours=hours,
        week=week,
        week_before=week_before,
        streak=_streak(busy, today),
        longest_streak=longest_streak(busy),
        database_bytes=database_bytes,
    )


def _count_messages(tx: Transaction, now: float, days: dict[date, _Day]) -> tuple[int, ...]:
    """Count the messages of each day; return those of each hour of the day."""
    hours = [0] * HOURS
    for session_id, hour, number, seconds in tx.rows(
        f"SELECT session_id, CAST(floor({_local('timestamp', now)} / {HOUR}) AS BIGINT) AS hour, "
        f"COUNT(*), TOTAL({ACTIVE}) FROM ({gaps_sql()}) gaps GROUP BY session_id, hour"
    ):
        since, of_day = divmod(count(hour), HOURS)
        hours[of_day] += number
        day = days[_day(since)]
        day.messages += number
        day.active_seconds += seconds
        day.sessions.add(text(session_id))
    return tuple(hours)


def _count_costs(tx: Transaction, now: float, days: dict[date, _Day]) -> None:
    """Add what the sessions that began on each day used."""
    tokens = " + ".join(_tokens(tx))
    for since, used, cost in tx.rows(
        f"SELECT CAST(floor({_local('s.started_at', now)} / {DAY}) AS BIGINT) AS day, "
        f"TOTAL({tokens}), TOTAL({tx.caps.dialect.number(_cost(tx))}) FROM sessions s "
        f"WHERE s.started_at > 0 AND s.started_at < {LATEST} GROUP BY day"
    ):
        if used or cost:
            day = days[_day(count(since))]
            day.tokens += count(used)
            day.cost_usd += amount(cost)


def _parts(tx: Transaction) -> dict[str, str | None]:
    """Return the sessions that are no conversations, with the one that each continues, if any."""
    rows = tx.rows("SELECT session_id, root_id FROM session_activity WHERE NOT listed")
    roots = {text(session_id): text(root_id) for session_id, root_id in rows}
    # A sub-agent is its own root, and is no conversation; neither is what continues one.
    return {part: None if root in roots else root for part, root in roots.items()}


def _together(days: list[_Day], parts: dict[str, str | None]) -> DayFigures:
    sessions = {each for day in days for each in day.sessions}
    return DayFigures(
        messages=sum(day.messages for day in days),
        conversations=len({parts.get(each, each) for each in sessions} - {None}),
        active_seconds=sum(day.active_seconds for day in days),
        tokens=sum(day.tokens for day in days),
        cost_usd=sum(day.cost_usd for day in days),
    )


def _week(today: date, weeks: int) -> list[date]:
    return [today - timedelta(days=7 * weeks + back) for back in range(7)]


def _streak(busy: set[date], today: date) -> int:
    """Return how many days in a row had messages; today may still get some."""
    one = timedelta(days=1)
    day, length = today if today in busy else today - one, 0
    while day in busy:
        day, length = day - one, length + 1
    return length


def _day(since: int) -> date:
    return date.fromordinal(EPOCH + since)


def _local(column: str, now: float) -> str:
    """Return the SQL for the seconds since 1970 that a clock on the wall would have counted."""
    steps = [now + DAY - DAY * back for back in range(CLOCK_CHANGES_DAYS)]
    offset = time.localtime(steps[0]).tm_gmtoff
    cases = []
    for moment in steps[1:]:
        before = time.localtime(moment).tm_gmtoff
        if before != offset:
            cases.append(f"WHEN {column} >= {_clock_change(moment, before)} THEN {offset}")
            offset = before
    if not cases:
        return f"({column} + {offset})"
    # The newest come first: most messages need one comparison.
    return f"({column} + CASE {' '.join(cases)} ELSE {offset} END)"


def _clock_change(moment: float, before: int) -> int:
    """Return the second within the next day at which the clock is set to another offset."""
    low, high = int(moment), int(moment) + DAY + 1
    while low < high:
        middle = (low + high) // 2
        if time.localtime(middle).tm_gmtoff == before:
            low = middle + 1
        else:
            high = middle
    return low


# -- tokens and costs --------------------------------------------------------------------------


def usage(tx: Transaction, days: int | None, now: float) -> Usage:
    """Return what the sessions used that started in the last `days` days, or all of them."""
    where = "TRUE"
    values: tuple[float, ...] = ()
    if days is not None:
        where = f"s.started_at >= ? AND s.started_at < {LATEST}"
        values = (now - days * DAY,)
    row = tx.one(
        f"SELECT COUNT(*), {', '.join(f'TOTAL({each})' for each in _tokens(tx))}, "
        f"CASE WHEN COUNT({_cost(tx)}) > 0 THEN TOTAL({tx.caps.dialect.number(_cost(tx))}) END "
        f"FROM sessions s WHERE {where}",
        values,
    )
    assert row is not None
    sessions, read, written, cache_read, cache_written, cost = row

    def shares(name: str) -> tuple[Share, ...]:
        return _shares(tx, name, where, values)

    return Usage(
        sessions=count(sessions),
        input_tokens=count(read),
        output_tokens=count(written),
        cache_read_tokens=count(cache_read),
        cache_write_tokens=count(cache_written),
        cost_usd=None if cost is None else amount(cost),
        models=shares("NULLIF(s.model, '')"),
        workspaces=shares(workspaces.key(tx.caps, "s")),
        sources=shares("s.source"),
    )


def _shares(tx: Transaction, name: str, where: str, values: tuple[float, ...]) -> tuple[Share, ...]:
    found: dict[str | None, Share] = {}
    for stored, sessions, tokens, cost in tx.rows(
        f"SELECT {name} AS name, COUNT(*), TOTAL({' + '.join(_tokens(tx))}), "
        f"TOTAL({tx.caps.dialect.number(_cost(tx))}) FROM sessions s WHERE {where} GROUP BY name",
        values,
    ):
        named = optional_text(stored)
        # Names that read the same are one, whatever their type.
        before = found.get(named, Share(named, 0, 0, 0.0))
        found[named] = Share(
            named,
            before.sessions + count(sessions),
            before.tokens + count(tokens),
            before.cost_usd + amount(cost),
        )
    return tuple(sorted(found.values(), key=_most_costly_first))


def _most_costly_first(share: Share) -> tuple[float, int, int, str]:
    return -share.cost_usd, -share.tokens, -share.sessions, share.name or ""


def _tokens(tx: Transaction) -> list[str]:
    """Return the SQL for tokens in, out, read from a cache and written to one."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return [f"({tx.caps.dialect.number(tx.caps.session_column(name))})" for name in names]


def _cost(tx: Transaction) -> str:
    """Return the SQL for what a session cost; NULL if that is unknown."""
    columns = ("actual_cost_usd", "estimated_cost_usd")
    return f"COALESCE({', '.join(tx.caps.session_column(name) for name in columns)})"
