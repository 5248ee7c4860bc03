"""The tool calls of a message, in whatever form they were stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hermes_store.records.stored_values import TOO_DEEP

MAX_TOOL_NAMES = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: its id, the tool's name and its arguments; missing parts are empty."""

    id: str
    name: str
    arguments: str
    """JSON, if the model produced valid JSON."""


def parse(stored: Any) -> tuple[ToolCall, ...]:
    """Return the calls in decoded JSON: a list of calls, a single one, or anything else."""
    if not stored:
        return ()
    return tuple(_call(call) for call in (stored if isinstance(stored, list) else [stored]))


def _call(call: Any) -> ToolCall:
    if not isinstance(call, dict):
        return ToolCall("", "", str(call))
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    call_id = call.get("id")
    return ToolCall(
        call_id if isinstance(call_id, str) else "",
        str(inner.get("name") or call.get("name") or ""),
        _as_text(inner.get("arguments", inner.get("input", inner.get("args")))),
    )


def _as_text(arguments: Any) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False, default=str)
    except RecursionError:
        return TOO_DEEP


def count(stored: Any) -> int:
    """Return the number of tool calls in a message."""
    return len(parse(stored))


def names(stored: Any) -> tuple[str, ...]:
    """Return the names of the called tools in order, each once."""
    return tuple(dict.fromkeys(call.name or "unknown" for call in parse(stored)))


def summary(stored: Any) -> str:
    """Return "[2 tool calls: terminal, web_search]", or "" without calls."""
    number = count(stored)
    if not number:
        return ""
    called = names(stored)
    shown = ", ".join(called[:MAX_TOOL_NAMES]) + (", ..." if len(called) > MAX_TOOL_NAMES else "")
    return f"[{number} tool call{'' if number == 1 else 's'}: {shown}]"
