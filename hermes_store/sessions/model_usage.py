"""Tokens and costs: of a session and, in newer databases, by model and route."""

from __future__ import annotations

import time
from typing import Any

from hermes_store.engines.base import Transaction

_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "api_call_count",
)
_LATEST_WINS = ("cost_status", "cost_source", "pricing_version")
_COSTS = ("estimated_cost_usd", "actual_cost_usd")
_ROUTE = ("model", "billing_provider", "billing_base_url", "billing_mode")
"""What tells two routes to models apart."""


def add(tx: Transaction, session_id: str, usage: dict[str, Any], *, absolute: bool = False) -> None:
    """Add token counts and costs to a session, or set them with `absolute`."""
    changes, values = [], []
    accounted = any(usage.get(name) for name in (*_TOKENS, *_COSTS))
    by_model = "session_model_usage" in tx.caps.tables
    if by_model and accounted:
        _take_first_route(tx, session_id, usage)
    for name in _TOKENS:
        changes.append(f"{name} = ?" if absolute else f"{name} = COALESCE({name}, 0) + ?")
        values.append(usage.get(name) or 0)
    estimated, actual = usage.get("estimated_cost_usd"), usage.get("actual_cost_usd")
    base = "0" if absolute else "COALESCE({}, 0)"
    changes.append(f"estimated_cost_usd = {base.format('estimated_cost_usd')} + ?")
    values.append(estimated or 0.0)
    if actual is not None:
        changes.append(f"actual_cost_usd = {base.format('actual_cost_usd')} + ?")
        values.append(actual)
    for name in _LATEST_WINS:
        changes.append(f"{name} = COALESCE(?, {name})")
        values.append(usage.get(name))
    for name in _ROUTE:
        changes.append(f"{name} = COALESCE({name}, ?)")
        values.append(usage.get(name) if accounted or not by_model else None)
    tx.run(f"UPDATE sessions SET {', '.join(changes)} WHERE id = ?", (*values, session_id))
    if by_model and accounted and not absolute:
        _add_by_model(tx, session_id, usage)


def _take_first_route(tx: Transaction, session_id: str, usage: dict[str, Any]) -> None:
    """Record the first route that was really used, in place of the one that was asked for."""
    if not usage.get("model") or not usage.get("billing_provider"):
        return
    changes = ", ".join(f"{name} = ?" for name in _ROUTE)
    tx.run(
        f"UPDATE sessions SET {changes} WHERE id = ? AND COALESCE(api_call_count, 0) = 0 "
        "AND (model IS DISTINCT FROM ? OR billing_provider IS DISTINCT FROM ?)",
        (
            *(usage.get(name) for name in _ROUTE),
            session_id,
            usage["model"],
            usage["billing_provider"],
        ),
    )


def _add_by_model(tx: Transaction, session_id: str, usage: dict[str, Any]) -> None:
    """Update the totals by model and route of newer databases."""
    present = tx.columns("session_model_usage")
    route = tx.one(f"SELECT {', '.join(_ROUTE)} FROM sessions WHERE id = ?", (session_id,)) or (
        None,
    ) * len(_ROUTE)
    row: dict[str, Any] = {"session_id": session_id, "task": ""}
    row |= {name: usage.get(name) or own or "" for name, own in zip(_ROUTE, route, strict=True)}
    row["model"] = row["model"] or "unknown"
    key = [name for name in row if name in present]
    numbers = [name for name in (*_TOKENS, *_COSTS) if name in present]
    latest = [name for name in ("cost_status", "cost_source") if name in present]
    now = time.time()
    row |= {name: usage.get(name) or 0 for name in numbers}
    row |= {name: usage.get(name) for name in latest} | {"first_seen": now, "last_seen": now}
    row = {name: value for name, value in row.items() if name in present}
    changes = [f"{name} = {name} + excluded.{name}" for name in numbers]
    changes += [f"{name} = COALESCE(excluded.{name}, {name})" for name in latest]
    changes += ["last_seen = excluded.last_seen"] if "last_seen" in present else []
    tx.run(
        f"INSERT INTO session_model_usage({', '.join(row)}) "
        f"VALUES ({', '.join('?' * len(row))}) "
        f"ON CONFLICT({', '.join(key)}) DO UPDATE SET {', '.join(changes)}",
        tuple(row.values()),
    )
