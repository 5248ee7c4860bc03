"""Activity and cost: tokens by model, tool use, days and hours, the most notable sessions."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records import tool_calls
from hermes_store.records.safe_text import local_day
from hermes_store.records.sources import of_source
from hermes_store.records.statistics import Insights, ModelShare, Notable
from hermes_store.records.stored_values import (
    LATEST,
    amount,
    count,
    moment,
    optional_text,
    text,
)
from hermes_store.upkeep.statistics import ACTIVE, gaps_sql, longest_streak, summed

DAY = 86_400.0
TOP_TOOLS = 15

_SECONDS = f"(SELECT TOTAL({ACTIVE}) FROM ({gaps_sql('session_id = s.id')}) gaps)"


def _numbers(tx: Transaction) -> tuple[str, ...]:
    """Return the SQL for messages, tool calls, tokens in and out, cached tokens, and the cost."""
    number = tx.caps.dialect.number
    return (
        number("message_count"),
        number("tool_call_count"),
        number("input_tokens"),
        number("output_tokens"),
        f"{number('cache_read_tokens')} + {number('cache_write_tokens')}",
        number("COALESCE(actual_cost_usd, estimated_cost_usd)"),
    )


def gather(tx: Transaction, *, days: int = 30, source: str | None = None, now: float) -> Insights:
    """Compute the insights for the sessions started in the last `days` days."""
    condition, names = of_source("s.source", source)
    # The end leaves out what is no time: text compares as later than any number.
    where = f"s.started_at >= ? AND s.started_at < ? AND {condition}"
    values: list[Any] = [now - days * DAY, LATEST, *names]
    totals = tx.one(
        f"SELECT COUNT(*), {', '.join(f'TOTAL({each})' for each in _numbers(tx))} "
        f"FROM sessions s WHERE {where}",
        values,
    )
    assert totals is not None
    *counts, cost = totals
    sessions, messages, calls, inputs, outputs, cache = map(count, counts)
    starts = tx.rows(f"SELECT started_at FROM sessions s WHERE {where}", values)
    moments = [local_day(moment(start)) for (start,) in starts]
    days_active = Counter(moment.date() for moment in moments)
    active = _by_active_time(tx, where, values)
    users = tx.value(
        "SELECT COUNT(*) FROM messages m JOIN sessions s ON s.id = m.session_id "
        f"WHERE m.role = 'user' AND {where}",
        values,
    )
    return Insights(
        days=days,
        source=source,
        sessions=sessions,
        messages=messages,
        user_messages=users,
        tool_calls=calls,
        input_tokens=inputs,
        output_tokens=outputs,
        cache_tokens=cache,
        cost_usd=amount(cost),
        active_seconds=sum(each.value for each in active),
        models=_models(tx, where, values),
        sources=_sources(tx, where, values),
        tools=_tools(tx, where, values),
        weekdays=tuple(sum(m.weekday() == day for m in moments) for day in range(7)),
        hours=tuple(sum(m.hour == hour for m in moments) for hour in range(24)),
        by_day=_by_day(days_active, days, now),
        active_days=len(days_active),
        best_streak=longest_streak(set(days_active)),
        notable=(*active[:1], *_notable(tx, where, values)),
    )


def _models(tx: Transaction, where: str, values: list[Any]) -> tuple[ModelShare, ...]:
    totals = ", ".join(f"TOTAL({each})" for each in _numbers(tx)[2:])
    rows = tx.rows(
        f"SELECT COALESCE(model, 'unknown') AS name, COUNT(*), {totals} "
        f"FROM sessions s WHERE {where} "
        "GROUP BY name ORDER BY 6 DESC, 3 DESC, name",
        values,
    )
    return tuple(
        ModelShare(
            text(name), count(sessions), count(read), count(written), count(cached), amount(cost)
        )
        for name, sessions, read, written, cached, cost in rows
    )


def _sources(tx: Transaction, where: str, values: list[Any]) -> tuple[tuple[str, int], ...]:
    rows = tx.rows(
        f"SELECT source, COUNT(*) FROM sessions s WHERE {where} "
        "GROUP BY source ORDER BY 2 DESC, source",
        values,
    )
    return summed(rows)


def _tools(tx: Transaction, where: str, values: list[Any]) -> tuple[tuple[str, int], ...]:
    """Count tool use by results and by calls, and take the higher count of each tool."""
    joined = "FROM messages m JOIN sessions s ON s.id = m.session_id"
    results: Counter[str] = Counter()
    for name, number in tx.rows(
        f"SELECT m.tool_name, COUNT(*) {joined} WHERE m.tool_name IS NOT NULL AND {where} "
        "GROUP BY m.tool_name",
        values,
    ):
        results[text(name)] += number
    called: Counter[str] = Counter()
    for (stored,) in tx.rows(
        f"SELECT m.tool_calls {joined} WHERE m.tool_calls IS NOT NULL AND {where}", values
    ):
        try:
            calls = json.loads(text(stored))
        except (ValueError, RecursionError):
            continue
        for call in calls if isinstance(calls, list) else [calls]:
            called.update(tool_calls.names([call]))
    both = Counter({name: max(results[name], called[name]) for name in results | called})
    return tuple(sorted(both.items(), key=lambda item: (-item[1], item[0]))[:TOP_TOOLS])


def _by_day(active: Counter[date], days: int, now: float) -> tuple[tuple[str, int], ...]:
    today = datetime.fromtimestamp(now).date()
    every = (today - timedelta(days=back) for back in reversed(range(min(days, 366))))
    return tuple((day.isoformat(), active[day]) for day in every)


def _by_active_time(tx: Transaction, where: str, values: list[Any]) -> list[Notable]:
    """Return the sessions with any time at work, the longest first."""
    rows = tx.rows(
        f"SELECT id, title, {_SECONDS} AS value FROM sessions s WHERE {where} "
        "ORDER BY value DESC, started_at DESC",
        values,
    )
    return [
        Notable("longest", text(session_id), optional_text(title), amount(value))
        for session_id, title, value in rows
        if value > 0
    ]


def _notable(tx: Transaction, where: str, values: list[Any]) -> tuple[Notable, ...]:
    messages, calls, read, written, *_ = _numbers(tx)
    kinds = {
        "most messages": messages,
        "most tokens": f"{read} + {written}",
        "most tool calls": calls,
    }
    found = []
    for kind, measure in kinds.items():
        row = tx.one(
            f"SELECT id, title, {measure} AS value FROM sessions s WHERE {where} "
            f"AND {measure} > 0 ORDER BY value DESC, started_at DESC LIMIT 1",
            values,
        )
        if row is not None:
            session_id, title, value = row
            found.append(Notable(kind, text(session_id), optional_text(title), amount(value)))
    return tuple(found)
