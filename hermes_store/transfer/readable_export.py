"""What the readable formats share: headings, facts, times, tool calls.

Every text returned here is safe for a terminal; each format does its own escaping.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from hermes_store.records import sources, tool_calls
from hermes_store.records.message import DIVIDERS, State
from hermes_store.records.message_content import decode_json, readable
from hermes_store.records.safe_text import clean, one_line
from hermes_store.records.stored_values import TOO_DEEP

_ROLES = {"user": "You", "assistant": "Hermes", "tool": "Tool", "system": "System"}
# Internal notes of the gateway, not part of the conversation.
_UNSPOKEN = frozenset({"session_meta"})


class Head(NamedTuple):
    """The entry of a session in a table of contents."""

    id: str
    title: str | None
    started_at: Any


class Call(NamedTuple):
    """A tool call: the name of the tool and its formatted arguments."""

    name: str
    arguments: str


def line(value: Any) -> str:
    """Return stored text on one line."""
    return clean(one_line(str(value)))


def heading(title: Any, session_id: Any) -> str:
    """Return the title of a session, or its id if it has none."""
    return (line(title) if title else "") or line(session_id)


def moment(value: Any) -> str:
    """Return a stored time as local time; anything else is returned as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _text(value)
    try:
        return datetime.fromtimestamp(value).astimezone().isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return str(value)


def facts(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the known facts of a session as pairs of name and value."""
    found = [
        ("Id", line(row["id"])),
        ("Source", line(sources.describe(str(row["source"])).label)),
        ("Model", _text(row.get("model"))),
        ("Started", moment(row["started_at"])),
        ("Ended", _ended(row)),
        ("Messages", _text(row.get("message_count"))),
        ("Tokens", _tokens(row)),
        ("Cost", _cost(row)),
        ("Parent", _text(row.get("parent_session_id"))),
    ]
    return [(name, value) for name, value in found if value]


def _text(value: Any) -> str:
    return "" if value is None else line(value)


def _ended(row: Mapping[str, Any]) -> str:
    if row.get("ended_at") is None:
        return ""
    reason = _text(row.get("end_reason"))
    return moment(row["ended_at"]) + (f" ({reason})" if reason else "")


def _tokens(row: Mapping[str, Any]) -> str:
    counts = [row.get("input_tokens"), row.get("output_tokens")]
    if not any(counts) or not all(isinstance(each, int | None) for each in counts):
        return ""
    return f"{counts[0] or 0:,} in, {counts[1] or 0:,} out"


def _cost(row: Mapping[str, Any]) -> str:
    actual, estimated = row.get("actual_cost_usd"), row.get("estimated_cost_usd")
    cost = estimated if actual is None else actual
    if not cost or not isinstance(cost, int | float):
        return ""
    return f"${cost:.4f}" + (" (estimated)" if actual is None else "")


def with_dividers(
    messages: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield the messages of a conversation, each with what to say before it, if anything."""
    before = State.SENT
    for message in messages:
        if is_spoken(message):
            state = _state(message)
            yield DIVIDERS[state] if state is not before else None, message
            before = state


def _state(message: Mapping[str, Any]) -> State:
    if message.get("display_kind") == "hidden":
        return State.HIDDEN
    if message.get("active") in (None, 1):
        return State.SENT
    return State.SUMMARISED if message.get("compacted") == 1 else State.REWOUND


def is_spoken(message: Mapping[str, Any]) -> bool:
    """Tell whether a message is part of the conversation, not an internal note."""
    return message["role"] not in _UNSPOKEN


def speaker(message: Mapping[str, Any]) -> str:
    """Return the speaker of a message; for a tool, with its name."""
    role = line(message["role"])
    name = message.get("tool_name")
    return _ROLES.get(role, role or "Unknown") + (f" {line(name)}" if name else "")


def words(message: Mapping[str, Any]) -> str:
    """Return the text of a message."""
    try:
        return clean(readable(message["content"]))
    except RecursionError:
        return TOO_DEEP


def reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning of the model, if it was stored."""
    found = message.get("reasoning") or message.get("reasoning_content") or ""
    return clean(str(found)).strip()


def calls(message: Mapping[str, Any]) -> list[Call]:
    """Return the tool calls of a message."""
    return [
        Call(line(call.name or "unknown"), _laid_out(decode_json(call.arguments)))
        for call in tool_calls.parse(message.get("tool_calls"))
    ]


def _laid_out(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False, indent=2, default=str))
    except RecursionError:
        return TOO_DEEP
