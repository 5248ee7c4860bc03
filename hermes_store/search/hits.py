"""Hits: matches with what a page shows of them, read in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.records import stored_values
from hermes_store.records.message_content import MARKER, decode, readable
from hermes_store.records.search import Hit
from hermes_store.search.candidates import Found
from hermes_store.search.snippets import Highlighter, excerpt


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
    rows = tx.rows(
        "SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, s.source, s.model, "
        "s.started_at, m.content, m.tool_calls FROM json_each(?) wanted "
        "CROSS JOIN messages m ON m.id = wanted.value CROSS JOIN sessions s ON s.id = m.session_id",
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


def hits_of(tx: Transaction, rows: Sequence[Found], highlighter: Highlighter) -> tuple[Hit, ...]:
    """Return matches as hits with their excerpts."""
    known = details(tx, [row.message_id for row in rows])
    return tuple(
        _hit(row, known[row.message_id], highlighter) for row in rows if row.message_id in known
    )


def _hit(row: Found, message: Detail, highlighter: Highlighter) -> Hit:
    content = message.content or ""
    if content.startswith(MARKER):
        content = readable(decode(content))
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
