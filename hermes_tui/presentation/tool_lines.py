"""A tool call and its result in words: the argument that matters, how it ended, how much came.

Models and tools write what they like; whatever cannot be understood is shown as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.records.safe_text import clean
from hermes_store.records.tool_calls import ToolCall
from hermes_tui.presentation import diffs
from hermes_tui.presentation.diffs import DiffLine
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.numbers import byte_size, plural

PARSED = 1_000_000
"""Characters of JSON that are read; a longer result is shown as it is."""
SHORT = 200

_MATTERS = (
    "command", "cmd", "query", "pattern", "url", "urls", "path", "file_path", "filepath",
    "filename", "file", "goal", "task", "tasks", "question", "prompt", "code", "script", "name",
    "title", "id",
)  # fmt: skip
"""Arguments that say what a call is about, the best first."""
_OUTPUTS = ("output", "stdout", "content", "result", "text", "response", "answer", "message")
_COUNTED = {
    "matches": "hit", "results": "result", "items": "item", "files": "file", "hits": "hit",
    "web": "result", "entries": "item", "todos": "item",
}  # fmt: skip
_OLD = ("old_string", "old_str", "old_text", "search")
_NEW = ("new_string", "new_str", "new_text", "replace", "replacement")
_CODES = ("exit_code", "returncode", "exit_status")
_CHANGES = ("patch", "edit", "write", "replace", "create_file")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for."""

    name: str
    about: str
    """The argument that matters, in full."""
    others: tuple[tuple[str, str], ...] = ()
    """All other arguments, as text."""
    diff: tuple[DiffLine, ...] = ()
    """The change it asks for, if it changes a file."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended."""

    sign: str
    """✓, ✗, or … for a call without a result."""
    size: str = ""
    """How much came, or what went wrong, in a few words."""
    body: str = ""
    """The output."""
    diff: tuple[DiffLine, ...] = ()

    @property
    def style(self) -> str:
        """The name of the style of the sign."""
        return {"✓": "live", "✗": "error"}.get(self.sign, "dim")


NO_RESULT = Outcome("…", "no result")


def asked(call: ToolCall) -> Asked:
    """Return what a call asks for."""
    name = plain(call.name or "tool")
    arguments = _parsed(call.arguments)
    if not isinstance(arguments, dict):
        text = call.arguments.strip()
        return Asked(name, "" if text == "{}" else clean(text))
    key = _key(arguments)
    about = "" if key is None else _said(arguments[key])
    if key == "pattern" and isinstance(arguments.get("path"), str):
        about += f"  {arguments['path']}"
    others = tuple(
        (plain(name), clean(_said(value)))
        for name, value in arguments.items()
        if name != key and value not in (None, "", [], {})
    )
    return Asked(name, clean(about), others, tuple(_change(name, arguments)))


def _parsed(text: str) -> Any:
    if len(text) > PARSED or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _key(arguments: Mapping[str, Any]) -> str | None:
    for key in _MATTERS:
        if arguments.get(key) and isinstance(arguments[key], str | list):
            return key
    texts = [key for key, value in arguments.items() if isinstance(value, str) and value.strip()]
    short = (key for key in texts if len(arguments[key]) <= SHORT)
    return next(short, next(iter(texts), None))


def _said(value: Any) -> str:
    """Return an argument as a person would write it; of a list, the first and how many more."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and isinstance(value[0], str | dict):
        first = value[0]
        if isinstance(first, dict):
            key = _key(first)
            first = json.dumps(first, ensure_ascii=False) if key is None else _said(first[key])
        return first + (f" +{len(value) - 1}" if len(value) > 1 else "")
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return type(value).__name__


def _change(name: str, arguments: Mapping[str, Any]) -> list[DiffLine]:
    if not any(part in name.lower() for part in _CHANGES):
        return []
    for key in ("patch", "diff", "input"):
        if isinstance(arguments.get(key), str) and arguments[key].strip():
            return diffs.read(clean(arguments[key]))
    old = next((arguments[key] for key in _OLD if isinstance(arguments.get(key), str)), None)
    new = next((arguments[key] for key in _NEW if isinstance(arguments.get(key), str)), None)
    if new is not None:
        return diffs.between(clean(old or ""), clean(new))
    content = arguments.get("content", arguments.get("text"))
    return diffs.added(clean(content)) if isinstance(content, str) else []


def outcome(text: str, call: Asked) -> Outcome:
    """Return how a call ended, from the text of its result."""
    wanted = call.diff
    found = _parsed(text)
    if isinstance(found, dict):
        return _of_dictionary(found, wanted)
    body = clean(text).strip("\n")
    if isinstance(found, list):
        return Outcome("✓", plural(len(found), "item"), _pretty(found))
    if body.startswith(("Error", "error:", "Traceback (most recent call last)")):
        return Outcome("✗", plain(body.split("\n", 1)[0][:80]), body)
    if diffs.is_diff(body):
        wanted = tuple(diffs.read(body))
    if wanted:
        return Outcome("✓", diffs.size(wanted), body, wanted)
    return Outcome("✓", _lines(body), body)


def _of_dictionary(found: dict[str, Any], wanted: Sequence[DiffLine]) -> Outcome:
    body = _body(found)
    code = next((found[key] for key in _CODES if _is_number(found, key)), None)
    error = found.get("error") or (found.get("message") if found.get("success") is False else None)
    if isinstance(error, dict):
        error = error.get("message") or _pretty(error)
    if code:
        return Outcome("✗", f"exit {code}", body or clean(str(error or "")))
    if error or found.get("success") is False or found.get("status") in ("error", "failed"):
        said = clean(str(error or body or "failed"))
        return Outcome("✗", plain(said[:80]), body if body and body != said else said)
    stored = next((found[key] for key in ("diff", "patch") if isinstance(found.get(key), str)), "")
    if stored.strip():
        wanted = diffs.read(clean(stored))
    elif diffs.is_diff(body):
        wanted = diffs.read(body)
    if wanted:
        # Without words of its own, such a result only says that the change was made.
        said = body if any(isinstance(found.get(key), str) for key in _OUTPUTS) else ""
        return Outcome("✓", diffs.size(wanted), "" if stored else said, tuple(wanted))
    return Outcome("✓", _size(found, body), body)


def _is_number(found: Mapping[str, Any], key: str) -> bool:
    return isinstance(found.get(key), int) and not isinstance(found[key], bool)


def _body(found: Mapping[str, Any]) -> str:
    texts = [found[key] for key in _OUTPUTS if isinstance(found.get(key), str)]
    if isinstance(found.get("stderr"), str):
        texts.append(found["stderr"])
    if texts:
        return clean("\n".join(text for text in texts if text.strip())).strip("\n")
    rest = {key: value for key, value in found.items() if value not in (None, "", [], {})}
    return _pretty(rest) if rest else ""


def _size(found: Mapping[str, Any], body: str) -> str:
    if _is_number(found, "bytes_written"):
        return byte_size(found["bytes_written"])
    inner = found.get("data") if isinstance(found.get("data"), dict) else found
    assert isinstance(inner, Mapping)
    for key, noun in _COUNTED.items():
        if isinstance(inner.get(key), list):
            return plural(len(inner[key]), noun)
    return _lines(body)


def _lines(body: str) -> str:
    return plural(body.count("\n") + 1, "line") if body.strip() else "no output"


def _pretty(value: Any) -> str:
    try:
        return clean(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    except RecursionError:
        return clean(repr(type(value)))
