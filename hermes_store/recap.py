"""The recap of a conversation, as data: what was said last, short enough to read at a glance.

User messages are cut to 300 characters, answers to three lines and 200 characters, tool calls to
their number and names; the last answer stays whole. System messages, tool output and reasoning
are left out, and of a long conversation the last ten exchanges are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hermes_store.models import Message
from hermes_store.overview import Limits, Recap, RecapEntry
from hermes_store.text import clean

_REASONING = "REASONING_SCRATCHPAD|think|thinking|reasoning|thought"
_TOOL = "tool_call|tool_calls|tool_result|function_call|function_calls"
_HIDDEN = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        rf"<({_REASONING}|{_TOOL})\b[^>]*>.*?</\1\s*>",
        r"<function\b[^>]*>.*?</function\s*>",
        # A block that never ends hides the rest; a closing tag alone hides what came before it.
        rf"<(?:{_REASONING}|{_TOOL})\b[^>]*>.*\Z",
        rf"\A.*?</(?:{_REASONING})\s*>",
        rf"</(?:{_REASONING}|{_TOOL}|function)\s*>",
    )
)
MAX_TOOL_NAMES = 4


def without_reasoning(text: str) -> str:
    """Return an answer without what the model thought to itself."""
    for pattern in _HIDDEN:
        if "<" in text:
            text = pattern.sub("", text)
    return text.strip()


def tool_names(tool_calls: Any) -> tuple[str, ...]:
    """Return the names of the tools that calls use, each once, in order."""
    calls = tool_calls if isinstance(tool_calls, list) else [tool_calls]
    names = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if name is None and isinstance(call, dict):
            name = call.get("name")
        names.append(str(name or "unknown"))
    return tuple(dict.fromkeys(names))


def tool_summary(tool_calls: Any) -> str:
    """Return "[2 tool calls: terminal, web_search]", or nothing without calls."""
    if not tool_calls:
        return ""
    number = len(tool_calls) if isinstance(tool_calls, list) else 1
    names = tool_names(tool_calls)
    shown = ", ".join(names[:MAX_TOOL_NAMES]) + (", ..." if len(names) > MAX_TOOL_NAMES else "")
    return f"[{number} tool call{'' if number == 1 else 's'}: {shown}]"


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[:characters] + "..."


def _shortened(text: str, limits: Limits) -> str:
    lines = text.splitlines()
    if len(lines) > limits.assistant_lines:
        text = "\n".join(lines[: limits.assistant_lines]) + " ..."
    return _cut(text, limits.assistant_characters)


def build(messages: Iterable[Message], limits: Limits | None = None) -> Recap:
    """Make the recap of a conversation's messages."""
    limits = limits or Limits()
    said: list[tuple[str, str, str]] = []
    total = users = 0
    for message in messages:
        total += 1
        users += message.role == "user"
        text = clean(message.text)
        if message.role == "user" and text.strip():
            said.append(("user", text.strip(), ""))
        elif message.role == "assistant":
            text, calls = without_reasoning(text), tool_summary(message.tool_calls)
            if text or (calls and not limits.skip_tool_only):
                said.append(("assistant", text, calls))
    last = max((place for place, each in enumerate(said) if each[0] == "assistant"), default=-1)
    shown = said[-2 * limits.exchanges :] if limits.exchanges else []
    first = len(said) - len(shown)
    entries = tuple(_entry(each, place == last, limits) for place, each in enumerate(shown, first))
    return Recap(entries, first, users, total)


def _entry(said: tuple[str, str, str], whole: bool, limits: Limits) -> RecapEntry:
    role, text, calls = said
    if role == "user":
        return RecapEntry(role, _cut(text, limits.user_characters))
    if not whole:
        text = _shortened(text, limits)
    return RecapEntry(role, " ".join(filter(None, (text, clean(calls)))), whole)
