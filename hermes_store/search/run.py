"""Running a search: messages with snippets and their neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hermes_store import content as contents
from hermes_store.database import fulltext
from hermes_store.database.connection import Transaction
from hermes_store.database.probe import FullText
from hermes_store.messages import findable
from hermes_store.search import language
from hermes_store.search.query import And, Field, Node, Not, Or, Text

CONTEXT_LENGTH = 200
SNIPPET_TOKENS = 40

_TOKEN = re.compile(r"[^\W_]", re.UNICODE)
_CJK = re.compile("[ᄀ-ᇿ⺀-鿿ꥠ-꥿가-퟿豈-﫿＀-￯\U00020000-\U0003fffd]")


def _like(text: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    return f"%{escaped}%"


def _phrase(node: Text) -> str:
    quoted = '"' + node.value.replace("\0", " ").replace('"', '""') + '"'
    return quoted + " *" if node.prefix else quoted


def _match(node: Node) -> str | None:
    """Return an FTS5 expression for a tree, None where it cannot express it."""
    match node:
        case Text():
            indexable = _TOKEN.search(node.value) and not _CJK.search(node.value)
            return _phrase(node) if indexable else None
        case And():
            wanted = [part for part in node.parts if not isinstance(part, Not)]
            unwanted = [part.part for part in node.parts if isinstance(part, Not)]
            if not wanted:
                return None
            positive = _combine(wanted, " AND ")
            if positive is None or not unwanted:
                return positive
            negative = _combine(unwanted, " OR ")
            return None if negative is None else f"({positive}) NOT ({negative})"
        case Or():
            return _combine(node.parts, " OR ")
        case Not() | Field():
            return None


def _combine(parts: Sequence[Node], operator: str) -> str | None:
    expressions = [_match(part) for part in parts]
    if any(each is None for each in expressions):
        return None
    return operator.join(f"({each})" for each in expressions)


def _scan(node: Node, text: str) -> tuple[str, list[Any]]:
    """Return a condition that looks at the text itself."""
    match node:
        case Text():
            return f"{text} LIKE ? ESCAPE '\\'", [_like(node.value)]
        case Not():
            condition, values = _scan(node.part, text)
            return f"NOT ({condition})", values
        case And() | Or():
            operator = " AND " if isinstance(node, And) else " OR "
            parts = [_scan(part, text) for part in node.parts]
            values = [value for _, each in parts for value in each]
            return "(" + operator.join(condition for condition, _ in parts) + ")", values
        case Field():
            return "1", []


def search_messages(
    tx: Transaction,
    query: str,
    *,
    source_filter: Sequence[str] | None = None,
    exclude_sources: Sequence[str] | None = None,
    role_filter: Sequence[str] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> list[dict[str, Any]]:
    """Return matching messages with a snippet and one message of context on each side."""
    root = language.parse(query).root
    if root is None:
        return []
    conditions: list[str] = [findable(tx)]
    values: list[Any] = []
    for column, chosen, word in (
        ("s.source", source_filter, "IN"),
        ("s.source", exclude_sources or None, "NOT IN"),
        ("m.role", role_filter or None, "IN"),
    ):
        if chosen is not None:
            conditions.append(f"{column} {word} ({', '.join('?' * len(chosen))})")
            values += chosen
    where = " AND ".join(conditions)
    found = _rows(tx, root, where, values, limit, offset)
    return [_result(tx, row) for row in found]


def _rows(
    tx: Transaction, root: Node, where: str, values: list[Any], limit: int, offset: int
) -> list[tuple[Any, ...]]:
    selected = (
        "m.id, m.session_id, m.role, {}, m.timestamp, m.tool_name, s.source, s.model, s.started_at"
    )
    joined = "JOIN messages m ON m.id = {} JOIN sessions s ON s.id = m.session_id"
    expression = _match(root) if tx.caps.words is not FullText.NONE else None
    if expression is not None:
        snippet = f"snippet(messages_fts, -1, '>>>', '<<<', '...', {SNIPPET_TOKENS})"
        return list(
            tx.rows(
                f"SELECT {selected.format(snippet)} FROM messages_fts "
                f"{joined.format('messages_fts.rowid')} "
                f"WHERE messages_fts MATCH ? AND {where} ORDER BY rank LIMIT ? OFFSET ?",
                (expression, *values, limit, offset),
            )
        )
    condition, wanted = _scan(root, fulltext.indexed_text("m"))
    return list(
        tx.rows(
            f"SELECT {selected.format('substr(m.content, 1, 120)')} FROM messages m "
            f"JOIN sessions s ON s.id = m.session_id WHERE {condition} AND {where} "
            "ORDER BY m.id DESC LIMIT ? OFFSET ?",
            (*wanted, *values, limit, offset),
        )
    )


_KEYS = (
    "id",
    "session_id",
    "role",
    "snippet",
    "timestamp",
    "tool_name",
    "source",
    "model",
    "session_started",
)


def _result(tx: Transaction, row: tuple[Any, ...]) -> dict[str, Any]:
    result = dict(zip(_KEYS, row, strict=True))
    result["context"] = _context(tx, result["session_id"], result["id"], result["timestamp"])
    return result


def _context(
    tx: Transaction, session_id: str, message_id: int, moment: float
) -> list[dict[str, Any]]:
    """Return the message before, the message itself and the one after, cut short."""
    neighbours = []
    for compare, order in (("<", "DESC"), ("=", "ASC"), (">", "ASC")):
        found = tx.one(
            f"SELECT role, content FROM messages m WHERE session_id = ? AND "
            f"(timestamp, id) {compare} (?, ?) AND {findable(tx)} "
            f"ORDER BY timestamp {order}, id {order} LIMIT 1",
            (session_id, moment, message_id),
        )
        if found is not None:
            neighbours.append({"role": found[0], "content": _excerpt(found[1])})
    return neighbours


def _excerpt(stored: Any) -> str:
    decoded = contents.decode(stored)
    if isinstance(decoded, list):
        return (contents.readable(decoded) or "[multimodal content]")[:CONTEXT_LENGTH]
    return contents.readable(decoded)[:CONTEXT_LENGTH]
