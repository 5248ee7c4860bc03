"""Hits: matches with what a page shows of them, read in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.records import stored_values, tool_calls
from hermes_store.records.message_content import MARKER, decode, readable
from hermes_store.records.search import Hit
from hermes_store.search.matcher import Found
from hermes_store.search.snippets import Highlighter, excerpt

MOST_JSON = 200_000
"""Characters of JSON to look into for an excerpt."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A message with its session, as stored."""

    session_id: str
    role: str
    timestamp: float
    tool_name: str | None
    source: str
    model: str | None
    session_started: float
    content: str | None
    tool_calls: str | None


def details(tx: Transaction, ids: Sequence[int]) -> dict[int, Detail]:
    """Return messages by id; missing ones are left out."""
    if not ids:
        return {}
    rows = tx.rows(
        "SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, s.source, s.model, "
        "s.started_at, m.content, m.tool_calls FROM json_each(?) wanted "
        "CROSS JOIN messages m ON m.id = CAST(wanted.value AS BIGINT) "
        "CROSS JOIN sessions s ON s.id = m.session_id",
        (json.dumps(list(ids)),),
    )
    text, moment = stored_values.text, stored_values.moment
    optional = stored_values.optional_text
    return {
        row[0]: Detail(
            session_id=text(row[1]),
            role=text(row[2]),
            timestamp=moment(row[3]),
            tool_name=optional(row[4]),
            source=text(row[5]),
            model=optional(row[6]),
            session_started=moment(row[7]),
            content=optional(row[8]),
            tool_calls=optional(row[9]),
        )
        for row in rows
    }


def hits_of(
    tx: Transaction, rows: Sequence[Found], highlighter: Highlighter, *, raw: bool = False
) -> tuple[Hit, ...]:
    """Return matches as hits with their excerpts; `raw` ones show JSON as it is stored."""
    known = details(tx, [row.message_id for row in rows])
    return tuple(
        _hit(row, known[row.message_id], highlighter, raw=raw)
        for row in rows
        if row.message_id in known
    )


def _without_json(content: str, message: Detail, highlighter: Highlighter) -> str | None:
    """Return the text inside of what a tool was given or gave back, if the match is in it."""
    if message.role == "tool" and content.startswith(("{", "[")):
        texts = [_texts(content)]
    elif message.tool_calls and highlighter.first(content) is None:
        calls = tool_calls.parse(_decoded(message.tool_calls))
        texts = [_texts(call.arguments) for call in calls]
    else:
        return None
    return next((text for text in texts if text and highlighter.first(text) is not None), None)


def _texts(stored: str) -> str:
    """Return the texts in some JSON, one below the other; "" if it is not JSON, or very long."""
    waiting = [_decoded(stored)]
    found: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict | list):
            waiting += reversed(list(value.values()) if isinstance(value, dict) else value)
    return "\n".join(found)


def _decoded(stored: str) -> Any:
    """Return what some JSON says; None if it is not JSON, or very long."""
    try:
        return json.loads(stored) if len(stored) <= MOST_JSON else None
    except (ValueError, RecursionError):
        return None


def _hit(row: Found, message: Detail, highlighter: Highlighter, *, raw: bool) -> Hit:
    content = message.content or ""
    if content.startswith(MARKER):
        content = readable(decode(content))
    shown = None if raw else _without_json(content, message, highlighter)
    if shown is None:
        shown = f"{content} {message.tool_name or ''} {message.tool_calls or ''}"
    return Hit(
        message_id=row.message_id,
        session_id=message.session_id,
        role=message.role,
        timestamp=message.timestamp,
        source=message.source,
        snippet=excerpt(shown, highlighter),
        tool_name=message.tool_name,
        model=message.model,
        session_started=message.session_started,
        strength=row.strength,
    )
