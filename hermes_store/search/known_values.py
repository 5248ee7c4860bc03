"""The values that a field has in a database, to name them when another one is asked for.

Sessions are few and may all be read. Messages are many, so only the newest ones are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records.safe_text import clean, shorten
from hermes_store.records.stored_values import text
from hermes_store.records.workspace import short_name
from hermes_store.sessions import workspaces

NAMED = 8
"""The most values to name."""
OFFERED = 50
"""The most values to offer while somebody types."""
RECENT_SESSIONS = 2_000
RECENT_ROLES = 5_000
"""Messages whose role is read; it is stored before their text, which is not."""
RECENT_TOOLS = 300
"""Messages whose tools are read; they are stored behind the text, so that takes longer."""

_SOURCES = "SELECT source AS value FROM sessions"
_HOSTS = "SELECT host AS value FROM sessions WHERE host IS NOT NULL"
_MODELS = f"SELECT model AS value FROM sessions ORDER BY started_at DESC LIMIT {RECENT_SESSIONS}"
_LAST_FIELD = re.compile(r"(?:^|(?<=\s))-?(\w+):([^\s\"]+)$")
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
    return _most_frequent(tx, _SOURCES)


def models(tx: Transaction) -> list[str]:
    """Return the models of the newest sessions, the most frequent first."""
    return _most_frequent(tx, _MODELS)


def roles(tx: Transaction) -> list[str]:
    """Return the roles of the newest messages, the most frequent first."""
    newest = f"ORDER BY id DESC LIMIT {RECENT_ROLES}"
    return _most_frequent(tx, f"SELECT role AS value FROM messages {newest}")


def hosts(tx: Transaction) -> list[str]:
    """Return the machines that sent sessions to a server, the most frequent first."""
    return _most_frequent(tx, _HOSTS) if tx.caps.has_session("host") else []


def _most_frequent(tx: Transaction, origin: str) -> list[str]:
    return [*_counted(tx, origin, NAMED + 2)]


def _counted(tx: Transaction, origin: str, limit: int = OFFERED) -> dict[str, int]:
    rows = tx.rows(
        f"SELECT value, COUNT(*) FROM ({origin}) found GROUP BY value "
        f"ORDER BY COUNT(*) DESC, value LIMIT {limit}"
    )
    return {name: number for value, number in rows if (name := text(value))}


def _workspaces(tx: Transaction) -> dict[str, int]:
    places: Counter[str] = Counter()
    for key, number in workspaces.known(tx).items():
        places[short_name(key)] += number
    return dict(places.most_common(OFFERED))


_COUNTED: dict[str, Callable[[Transaction], dict[str, int]]] = {
    "source": lambda tx: _counted(tx, _SOURCES),
    "model": lambda tx: _counted(tx, _MODELS),
    "workspace": _workspaces,
    "branch": lambda tx: dict(workspaces.branches(tx).most_common(OFFERED)),
    "tool": lambda tx: dict.fromkeys(recent_tools(tx), 0),
    "host": lambda tx: _counted(tx, _HOSTS) if tx.caps.has_session("host") else {},
}


def counted_values(tx: Transaction) -> dict[str, dict[str, int]]:
    """Return the values of fields on sessions with their numbers, the most frequent first."""
    return {name: count(tx) for name, count in _COUNTED.items()}


def without_unfinished_value(tx: Transaction, text: str) -> str | None:
    """Return a text without a field at its end whose value is the beginning of a known one."""
    found = _LAST_FIELD.search(text)
    count = _COUNTED.get(found[1].lower()) if found is not None else None
    if found is None or count is None:
        return None
    start = found[2].lower()
    values = [value.lower() for value in count(tx)]
    if start in values or not any(value.startswith(start) for value in values):
        return None
    return text[: found.start()]


def is_recent_tool(tx: Transaction, sql: str, values: Sequence[Any]) -> bool:
    """Return whether any of the newest messages `m` meets a condition on tools."""
    return tx.one(f"SELECT 1 FROM {_NEWEST} m WHERE {sql} LIMIT 1", values) is not None


def recent_tools(tx: Transaction) -> list[str]:
    """Return the tools in the newest messages, the most frequent first."""
    found: Counter[str] = Counter()
    for name, calls in tx.rows(f"SELECT tool_name, tool_calls FROM {_NEWEST} m"):
        found.update([*_CALLED.findall(text(calls)), text(name)])
    del found[""]
    return sorted(found, key=lambda name: (-found[name], name))[: NAMED + 1]
