"""The values that a field has in a database, to name them when another one is asked for.

Sessions are few and may all be read. Messages are many, so only the newest ones are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records.safe_text import clean, shorten
from hermes_store.records.stored_values import text

NAMED = 8
"""The most values to name."""
RECENT_SESSIONS = 2_000
RECENT_ROLES = 5_000
"""Messages whose role is read; it is stored before their text, which is not."""
RECENT_TOOLS = 300
"""Messages whose tools are read; they are stored behind the text, so that takes longer."""

_CALLED = re.compile(r'"name": "([^"\\]{1,80})"')
_NEWEST = f"(SELECT tool_name, tool_calls FROM messages ORDER BY id DESC LIMIT {RECENT_TOOLS})"


def quoted(value: str) -> str:
    """Return a value as a sentence names it."""
    return f"'{shorten(clean(value), 60)}'"


def listed(introduction: str, values: Iterable[str]) -> str:
    """Return a sentence that lists the first few values; "" if there are none."""
    shown = [shorten(clean(each), 40) for each in values]
    more = ", …" if len(shown) > NAMED else ""
    return f" {introduction}: {', '.join(shown[:NAMED])}{more}." if shown else ""


def has_session(tx: Transaction, sql: str, values: Sequence[Any]) -> bool:
    """Return whether any session `s` meets a condition."""
    return tx.one(f"SELECT 1 FROM sessions s WHERE {sql} LIMIT 1", values) is not None


def sources(tx: Transaction) -> list[str]:
    """Return the sources of sessions, the most frequent first."""
    return _most_frequent(tx, "SELECT source AS value FROM sessions")


def models(tx: Transaction) -> list[str]:
    """Return the models of the newest sessions, the most frequent first."""
    newest = f"ORDER BY started_at DESC LIMIT {RECENT_SESSIONS}"
    return _most_frequent(tx, f"SELECT model AS value FROM sessions {newest}")


def roles(tx: Transaction) -> list[str]:
    """Return the roles of the newest messages, the most frequent first."""
    newest = f"ORDER BY id DESC LIMIT {RECENT_ROLES}"
    return _most_frequent(tx, f"SELECT role AS value FROM messages {newest}")


def _most_frequent(tx: Transaction, origin: str) -> list[str]:
    rows = tx.rows(
        f"SELECT value FROM ({origin}) GROUP BY value ORDER BY COUNT(*) DESC, value "
        f"LIMIT {NAMED + 2}"
    )
    return [name for (value,) in rows if (name := text(value))]


def is_recent_tool(tx: Transaction, sql: str, values: Sequence[Any]) -> bool:
    """Return whether any of the newest messages `m` meets a condition on tools."""
    return tx.one(f"SELECT 1 FROM {_NEWEST} m WHERE {sql} LIMIT 1", values) is not None


def recent_tools(tx: Transaction) -> list[str]:
    """Return the tools in the newest messages, the most frequent first."""
    found: Counter[str] = Counter()
    for name, calls in tx.rows(f"SELECT tool_name, tool_calls FROM {_NEWEST}"):
        found.update([*_CALLED.findall(text(calls)), text(name)])
    del found[""]
    return sorted(found, key=lambda name: (-found[name], name))[: NAMED + 1]
