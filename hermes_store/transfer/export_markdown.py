"""Markdown: a transcript that reads well both as plain text and rendered.

Messages are Markdown themselves and keep their content, but cannot affect anything outside of
them: headings are demoted below those of the transcript, fences are closed, HTML is escaped.
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
# Matches inline code as a whole, so that only angle brackets outside of it are escaped.
_TAG = re.compile(r"(?P<code>(?<!`)(?P<ticks>`++)[^`\n]++(?P=ticks)(?!`))|<(?=[A-Za-z/!?])")
# An underscore inside a word is literal, and ids are full of them.
_SPECIAL = re.compile(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile("`{3,}")
_DEEPER = 2


def opening(heads: Iterator[Head], total: int) -> Iterator[str]:
    """Yield nothing: the format has no header."""
    yield from ()


def session(
    row: Mapping[str, Any], messages: Iterator[Mapping[str, Any]], number: int
) -> Iterator[str]:
    """Yield a session: title, facts, messages."""
    if number > 1:
        yield "\n---\n\n"
    yield f"# {_escaped(readable_export.heading(row.get('title'), row['id']))}\n\n"
    yield "| | |\n|---|---|\n"
    for name, value in readable_export.facts(row):
        yield f"| {name} | {_escaped(value)} |\n"
    for divider, message in readable_export.with_dividers(messages):
        if divider is not None:
            yield f"\n*— {divider} —*\n"
        yield from _message(message)


def closing() -> Iterator[str]:
    """Yield nothing: the format has no footer."""
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
    """Return text in a fence longer than any inside it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text.rstrip()}\n{fence}"


def contained(text: str) -> str:
    """Return Markdown that cannot affect what surrounds it."""
    lines: list[str] = []
    fence: re.Match[str] | None = None
    for line in text.strip("\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if fence is not None:
            if match and _closes(fence, match):
                fence = None
            elif not line.startswith(fence["indent"]):
                # A fence in a list ends with the list, so this line may be text.
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
        # Below a paragraph this would turn it into a heading.
        line = "\\" + line.lstrip()
    return _tags_shown(line)


def _tags_shown(line: str) -> str:
    return _TAG.sub(lambda match: match["code"] or "\\<", line)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
