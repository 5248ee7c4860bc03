"""What is stored of a message that is added: its columns, and the change of its session."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

from hermes_store.engines.base import Capabilities, NewMessage, Statement
from hermes_store.errors import InvalidInput
from hermes_store.records import message_content as contents
from hermes_store.records import tool_calls

SAID = (
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "token_count",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
)
"""The columns of a message, except its id and its session."""
LATER = (
    "active",
    "compacted",
    "platform_message_id",
    "observed",
    "effect_disposition",
    "api_content",
    "display_kind",
    "display_metadata",
    "hook_trace",
)
"""Columns that newer databases have; they are written where they exist."""
JSON_COLUMNS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")


def columns(
    caps: Capabilities, session_id: str, message: Mapping[str, Any], moment: float
) -> dict[str, Any]:
    """Return the columns of a message."""
    row = {"session_id": session_id} | {name: message.get(name) for name in SAID}
    row |= {
        "role": message.get("role", "unknown"),
        "content": contents.encode(message.get("content")),
        "timestamp": moment,
    }
    for name in ("tool_calls", *JSON_COLUMNS):
        if message.get(name) is not None:
            row[name] = contents.encode_json(message[name])
    return row | _for_newer(caps, message)


def _for_newer(caps: Capabilities, message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message has for the columns of newer databases."""
    given = {name: message.get(name) for name in LATER if name not in ("active", "compacted")}
    # Some platforms call their own id of a message by this name.
    given["platform_message_id"] = given["platform_message_id"] or message.get("message_id")
    if given["observed"] is not None:
        given["observed"] = int(bool(given["observed"]))
    for name in ("display_metadata", "hook_trace"):
        if isinstance(given[name], dict | list):
            given[name] = contents.encode_json(given[name])
    return {n: v for n, v in given.items() if v is not None and caps.has_message(n)}


def made(
    caps: Capabilities, session_id: str, message: Mapping[str, Any], moment: float
) -> NewMessage:
    """Return what is stored of a message, and of its session with it."""
    return NewMessage(
        columns(caps, session_id, message, moment), _counting(caps, session_id, message, moment)
    )


def moment_of(timestamp: float | None) -> float:
    """Return when a message was said: now, if nobody says; InvalidInput if that is no time."""
    moment = time.time() if timestamp is None else timestamp
    if not isfinite(moment):
        raise InvalidInput(f"{moment} is not a valid timestamp for a message.")
    return moment


def _counting(
    caps: Capabilities, session_id: str, message: Mapping[str, Any], moment: float
) -> Statement:
    """Return the change of the session that goes with a message."""
    sql = (
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + 1, "
        "tool_call_count = COALESCE(tool_call_count, 0) + ?1{} WHERE id = ?2"
    )
    values = (tool_calls.count(message.get("tool_calls")), session_id)
    if not caps.has_session("last_activity_at"):
        return Statement(sql.format(""), values)
    noting = ", last_activity_at = max(COALESCE(last_activity_at, ?3), ?3)"
    return Statement(sql.format(noting), (*values, moment))
