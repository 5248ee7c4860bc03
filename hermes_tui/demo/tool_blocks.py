"""Turns the block of a tool into the arguments and the result that Hermes Agent would store.

What is above a line `---` are the arguments, what is below it the result. Tools that work on a file
have its path on their line instead.

| tool | arguments | result |
|---|---|---|
| terminal | the command | its output |
| read_file | path | the text of the file |
| write_file | path | the text that was written |
| patch | path | a unified diff |
| search_files | pattern | lines `path:line:text` |
| web_search | query | lines `title | address | description` |
| web_extract | address | the text of the page |
| delegate_task | goal | the sub-agent's summary |
| todo | lines `[x] text` | |
| any other | JSON | JSON, or plain text |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hermes_tui.demo.conversation_file import Block

Values = dict[str, Any]
_STATES = {"x": "completed", "~": "in_progress", " ": "pending"}


class Call(NamedTuple):
    """The arguments of a call, and its result."""

    arguments: Values
    result: Values | str


def call(block: Block) -> Call:
    """Return the call that a tool's block describes."""
    return _FORMS.get(block.kind, _any)(block)


def _divided(block: Block) -> tuple[str, str]:
    above, _, below = f"{block.text}\n".partition("---\n")
    return above.strip("\n"), below.rstrip("\n")


def _terminal(block: Block) -> Call:
    command, output = _divided(block)
    return Call(
        {"command": command}, {"output": output, "exit_code": block.exit_code, "error": None}
    )


def _read_file(block: Block) -> Call:
    path, _, first = block.target.partition(":")
    start = int(first or 1)
    lines = block.text.split("\n")
    shown = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, start))
    arguments: Values = {"path": path} | ({"offset": start, "limit": len(lines)} if first else {})
    size = len(block.text.encode())
    return Call(
        arguments,
        {"content": shown, "total_lines": start + len(lines) - 1, "file_size": size,
         "truncated": False, "is_binary": False, "is_image": False},
    )  # fmt: skip


def _write_file(block: Block) -> Call:
    content = f"{block.text}\n"
    return Call(
        {"path": block.target, "content": content},
        {"bytes_written": len(content.encode()), "dirs_created": False},
    )


def _patch(block: Block) -> Call:
    """Take the old and the new text from the diff, as they were before it was made."""
    path = block.target
    body = [line for line in block.text.split("\n") if not line.startswith("@@")]
    old = "\n".join(line[1:] for line in body if line[:1] != "+")
    new = "\n".join(line[1:] for line in body if line[:1] != "-")
    diff = f"--- a/{path}\n+++ b/{path}\n{block.text}\n"
    return Call(
        {"mode": "replace", "path": path, "old_string": old, "new_string": new},
        {"success": True, "diff": diff, "files_modified": [path]},
    )


def _search_files(block: Block) -> Call:
    pattern, found = _divided(block)
    matches = []
    for line in found.splitlines():
        path, number, content = line.split(":", 2)
        matches.append({"path": path, "line": int(number), "content": content})
    return Call(
        {"pattern": pattern, "target": "content", "path": block.target or "."},
        {"total_count": len(matches), "matches": matches},
    )


def _web_search(block: Block) -> Call:
    query, found = _divided(block)
    web = []
    for place, line in enumerate(found.splitlines(), 1):
        title, url, description = line.split(" | ", 2)
        web.append({"title": title, "url": url, "description": description, "position": place})
    return Call({"query": query, "limit": 5}, {"success": True, "data": {"web": web}})


def _web_extract(block: Block) -> Call:
    url, text = _divided(block)
    heading = text.split("\n", 1)[0].lstrip("# ")
    page = {"url": url, "title": heading, "content": text, "error": None}
    return Call({"urls": [url]}, {"results": [page]})


def _delegate_task(block: Block) -> Call:
    goal, summary = _divided(block)
    took = block.seconds or 60.0
    done = {
        "task_index": 0,
        "status": "completed",
        "summary": summary,
        "api_calls": 4,
        "duration_seconds": took,
    }
    return Call(
        {"goal": goal, "toolsets": ["terminal", "file", "web"]},
        {"results": [done], "total_duration_seconds": took},
    )


def _todo(block: Block) -> Call:
    lines = [line for line in block.text.splitlines() if line.startswith("[")]
    todos = [
        {"id": str(place), "content": line[4:], "status": _STATES[line[1]]}
        for place, line in enumerate(lines, 1)
    ]
    count = {state: sum(t["status"] == state for t in todos) for state in _STATES.values()}
    return Call({"todos": todos}, {"todos": todos, "summary": {"total": len(todos), **count}})


def _any(block: Block) -> Call:
    above, below = _divided(block)
    try:
        result: Values | str = json.loads(below)
    except ValueError:
        result = below
    return Call(json.loads(above or "{}"), result)


_FORMS: dict[str, Callable[[Block], Call]] = {
    "terminal": _terminal,
    "read_file": _read_file,
    "write_file": _write_file,
    "patch": _patch,
    "search_files": _search_files,
    "web_search": _web_search,
    "web_extract": _web_extract,
    "delegate_task": _delegate_task,
    "todo": _todo,
}
