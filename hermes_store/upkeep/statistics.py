"""Statistics of a store: counts by source, sizes, tokens and costs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from hermes_store.engines.base import Sizes, Transaction
from hermes_store.records.statistics import ModelUsage, SessionUsage, Stats
from hermes_store.records.stored_values import (
    LATEST,
    amount,
    count,
    optional_amount,
    optional_text,
    text,
)
from hermes_store.sessions import messages, session_rows

PAUSE_SECONDS = 1_800
"""Half an hour without a message is a pause; what is shorter counts as time at work."""
ACTIVE = f"CASE WHEN gap < {PAUSE_SECONDS} THEN gap ELSE 0 END"


def gaps_sql(where: str = "TRUE") -> str:
    """Return the query for each message's session, time and gap to the one before it.

    An index has both columns in this order, so that a million messages take half a second.
    """
    # The end leaves out what is no time: text compares as later than any number.
    return (
        "SELECT session_id, timestamp, timestamp - LAG(timestamp) "
        "OVER (PARTITION BY session_id ORDER BY timestamp) AS gap FROM messages "
        f"WHERE timestamp > 0 AND timestamp < {LATEST} AND {where}"
    )


def longest_streak(days: set[date]) -> int:
    """Return the largest number of days in a row."""
    best = 0
    for day in days:
        if day - timedelta(days=1) not in days:
            length = 1
            while day + timedelta(days=length) in days:
                length += 1
            best = max(best, length)
    return best


def totals(tx: Transaction, sizes: Sizes) -> Stats:
    """Return session and message counts and sizes on disk."""
    by_source = tx.rows(
        "SELECT source, COUNT(*) AS number FROM sessions "
        "GROUP BY source ORDER BY number DESC, source"
    )
    return Stats(
        sessions=session_rows.count(tx),
        messages=messages.count(tx),
        by_source=summed(by_source),
        database_bytes=sizes.database,
        log_bytes=sizes.log,
        reclaimable_bytes=sizes.reclaimable,
    )


def by_model(tx: Transaction) -> tuple[ModelUsage, ...]:
    """Return tokens and cost by model, the most expensive first."""
    rows = tx.rows(
        "SELECT model, COUNT(*), TOTAL(COALESCE(input_tokens, 0)), "
        "TOTAL(COALESCE(output_tokens, 0)), "
        "TOTAL(COALESCE(actual_cost_usd, estimated_cost_usd, 0)) AS cost "
        "FROM sessions WHERE model IS NOT NULL GROUP BY model ORDER BY cost DESC, model"
    )
    return tuple(
        ModelUsage(text(model), count(sessions), count(read), count(written), amount(cost))
        for model, sessions, read, written, cost in rows
    )


def heaviest(tx: Transaction, limit: int = 10) -> tuple[SessionUsage, ...]:
    """Return the sessions with the highest token usage."""
    rows = tx.rows(
        "SELECT id, title, model, COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0) AS total, "
        "COALESCE(actual_cost_usd, estimated_cost_usd) FROM sessions "
        "ORDER BY total DESC, started_at DESC LIMIT ?",
        (limit,),
    )
    return tuple(
        SessionUsage(
            text(session_id),
            optional_text(title),
            optional_text(model),
            count(total),
            optional_amount(cost),
        )
        for session_id, title, model, total, cost in rows
    )


def summed(rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[str, int], ...]:
    """Return names with their numbers; names that read the same are one."""
    found: dict[str, int] = {}
    for name, number in rows:
        found[text(name)] = found.get(text(name), 0) + count(number)
    return tuple(found.items())
