"""Message content: how it is stored in one text column, and its readable form.

Plain text is stored as is. Lists and objects (multimodal parts) are stored as JSON after a
marker that begins with NUL, as in Hermes Agent.
"""

from __future__ import annotations

import json
import re
from typing import Any

from hermes_store.errors import InvalidInput
from hermes_store.records.safe_text import one_line
from hermes_store.records.stored_values import text

MARKER = "\x00json:"
PREVIEW_LENGTH = 60


def encode(content: Any) -> str | None:
    """Return the stored form of a message's content."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | dict):
        # Hermes Agent reads escaped and unescaped JSON; search finds only unescaped text.
        return MARKER + _dump(content)
    return str(content)


def decode(stored: Any) -> Any:
    """Return stored content in its original form; damaged JSON is returned as text."""
    if not isinstance(stored, str) or not stored.startswith(MARKER):
        return stored
    try:
        return json.loads(stored[len(MARKER) :])
    except (ValueError, RecursionError):
        return stored[len(MARKER) :]


def encode_json(value: Any) -> str | None:
    """Return the stored form of a JSON column; None for an empty value."""
    return _dump(value) if value else None


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"A message contains a value that JSON cannot represent ({error}). "
            "Use only text, numbers, lists and dictionaries."
        ) from error


def decode_json(stored: Any) -> Any:
    """Return the value of a JSON column; text that is not JSON is returned as is."""
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(stored)
    except (ValueError, RecursionError):
        return stored


def readable(content: Any) -> str:
    """Return decoded content as text, with images, audio and files named in brackets."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(filter(None, (_part(part) for part in content)))
    if isinstance(content, dict):
        return _part(content)
    return text(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return str(part)
    for key in ("text", "content", "input_text"):
        if isinstance(part.get(key), str):
            return str(part[key])
    kind = str(part.get("type", ""))
    for word, label in (("image", "[image]"), ("audio", "[audio]"), ("file", "[file]")):
        if word in kind:
            return label
    return json.dumps(part, ensure_ascii=False)


def preview(said: str, length: int = PREVIEW_LENGTH) -> str:
    """Return the beginning of a message on one line, ending in dots if it was cut."""
    flat = said.replace("\r", " ").replace("\n", " ")[: length + 3].strip()
    return flat[:length] + "..." if len(flat) > length else flat


def stored_preview(raw: Any) -> str:
    """Return the preview of stored content, of which the first bytes are enough."""
    if raw is None:
        return ""
    found = raw.decode("utf-8", "ignore") if isinstance(raw, bytes) else text(raw)
    if found.startswith(MARKER):
        found = one_line(readable(decode(found)))
    return preview(found)


_REASONING = "REASONING_SCRATCHPAD|think|thinking|reasoning|thought"
_TOOL = "tool_call|tool_calls|tool_result|function_call|function_calls"


def _tags(names: str) -> re.Pattern[str]:
    return re.compile(rf"<(?:(?P<opens>{names})\b[^<>]*|/(?P<closes>{names})\s*)>", re.IGNORECASE)


_BLOCKS = (_tags(f"{_REASONING}|{_TOOL}"), _tags("function"))
_OPENS = re.compile(rf"<(?:{_REASONING}|{_TOOL})\b[^<>]*>", re.IGNORECASE)
_ENDS_REASONING = re.compile(rf"</(?:{_REASONING})\s*>", re.IGNORECASE)
_CLOSES = re.compile(rf"</(?:{_REASONING}|{_TOOL}|function)\s*>", re.IGNORECASE)


def without_reasoning(answer: str) -> str:
    """Return an answer without the model's reasoning and inline tool calls."""
    if "<" not in answer:
        return answer.strip()
    for tags in _BLOCKS:
        answer = _without_blocks(answer, tags)
    # An unclosed block hides the rest; a lone closing tag hides everything before it.
    if unclosed := _OPENS.search(answer):
        answer = answer[: unclosed.start()]
    if lone := _ENDS_REASONING.search(answer):
        answer = answer[lone.end() :]
    return _CLOSES.sub("", answer).strip()


def _without_blocks(answer: str, tags: re.Pattern[str]) -> str:
    """Remove what is between an opening tag and the next closing tag of the same name.

    One pass over the tags, so that a text of nothing but opening tags takes no longer.
    """
    found = list(tags.finditer(answer))
    ends: dict[str, list[int]] = {}
    for tag in reversed(found):
        if tag["closes"]:
            ends.setdefault(tag["closes"].lower(), []).append(tag.end())
    kept, place = [], 0
    for tag in found:
        closing = ends.get((tag["opens"] or "").lower(), [])
        while closing and closing[-1] <= tag.end():
            closing.pop()
        if tag.start() >= place and closing:
            kept.append(answer[place : tag.start()])
            place = closing[-1]
    return "".join(kept) + answer[place:]
