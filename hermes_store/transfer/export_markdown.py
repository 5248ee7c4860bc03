"""Markdown: a transcript that reads well as plain text and rendered.

Messages are Markdown themselves. What they say stays, but it cannot reach beyond its message:
headings move below those of the transcript, fences are closed, HTML is shown instead of obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_store.transfer import readable_export
from hermes_store.transfer.readable_export import Head

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
# Inline code is taken whole, so that only the angle brackets outside of it are escaped.
_TAG = re.compile(r"(?P<code>(?<!`)(?P<ticks>`++)[^`\n]++(?P=ticks)(?!`))|<(?=[A-Za-z/!?])")
# An underscore inside a word means nothing, and every id has some.
_SPECIAL = re.compile(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile("`{3,}")
_DEEPER = 2


def opening(heads: Iterator[Head], total: int) -> Iterator[str]:
    """Nothing stands before the first session."""
    yield from ()


def session(
    row: Mapping[str, Any], messages: Iterator[Mapping[str, Any]], number: int
) -> Iterator[str]:
    """Yield a session: its title, its facts, then what was said."""
    if number > 1:
        yield "\n---\n\n"
    yield f"# {_escaped(readable_export.heading(row.get('title'), row['id']))}\n\n"
    yield "| | |\n|---|---|\n"
    for name, value in readable_export.facts(row):
        yield f"| {name} | {_escaped(value)} |\n"
    for message in messages:
        if readable_export.is_spoken(message):
            yield from _message(message)


def closing() -> Iterator[str]:
    """Nothing stands after the last session."""
    yield from ()


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    speaker = _escaped(readable_export.speaker(message))
    yield f"\n## {speaker} · {readable_export.moment(message['timestamp'])}\n"
    thought = readable_export.reasoning(message)
    if thought:
        yield "\n<details>\n<summary>Reasoning</summary>\n\n"
        yield f"{contained(thought)}\n\n</details>\n"
    text = readable_export.words(message)
    if text.strip():
        shown = fenced(text) if message["role"] == "tool" else contained(text)
        yield f"\n{shown}\n"
    for call in readable_export.calls(message):
        yield f"\nCalls **{_escaped(call.name)}**:\n\n{fenced(call.arguments, 'json')}\n"


def fenced(text: str, info: str = "") -> str:
    """Return text in a fence that is longer than any inside it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text.rstrip()}\n{fence}"


def contained(text: str) -> str:
    """Return Markdown that stays what it is and cannot reach beyond its place."""
    lines: list[str] = []
    fence: re.Match[str] | None = None
    for line in text.strip("\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if fence is not None:
            if match and _closes(fence, match):
                fence = None
            elif not line.startswith(fence["indent"]):
                # A fence in a list ends with the list; out here this may be text again.
                line = _tags_shown(line)
            lines.append(line)
        elif match and not (match["fence"][0] == "`" and "`" in match["info"]):
            fence = match
            lines.append(line)
        else:
            lines.append(_prose(line, lines[-1] if lines else ""))
    if fence is not None:
        lines.append(fence["indent"] + fence["fence"])
    return "\n".join(lines)


def _closes(fence: re.Match[str], found: re.Match[str]) -> bool:
    return found["fence"].startswith(fence["fence"]) and not found["info"].strip()


def _prose(line: str, above: str) -> str:
    heading = _HEADING.match(line)
    if heading:
        line = "#" * min(6, len(heading["marks"]) + _DEEPER) + line[heading.end() :]
    elif above.strip() and _UNDERLINE.fullmatch(line):
        # Below a paragraph this would make a heading of it.
        line = "\\" + line.lstrip()
    return _tags_shown(line)


def _tags_shown(line: str) -> str:
    return _TAG.sub(lambda match: match["code"] or "\\<", line)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
