"""Reads the demo's conversations, which are written as plain text.

A file holds one conversation: a head of `name: value` lines, then blocks that begin with `:::`.

    title: Fix CI out-of-memory kill
    source: cli
    when: 12m

    ::: you
    Why does CI fail?
    ::: terminal 2.4s exit 137
    make test
    ---
    Killed
    ::: hermes
    It ran out of memory.

`when` is the time of the last message: so long ago (`12m`, `4h`), or a day and an hour
(`3d 18:02`). A block may say how much later it comes (`::: you +2d`); otherwise its length decides.
A tool's block has its own form, see `tool_blocks`; `&` puts a call into the message before it.
Further sessions follow a line `=== continued`, `=== branch`, `=== agent` or `=== reset`, each with
a head of its own. `<%H:%M>` in a text becomes the time of its message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable

from hermes_store.records.relation_to_parent import Edge

KINDS = {
    "continued": Edge.COMPRESSION,
    "branch": Edge.BRANCH,
    "agent": Edge.AGENT,
    "reset": Edge.RESET,
}
SPEAKERS = ("you", "hermes", "thought", "system")
_SESSION = re.compile(r"^=== (continued|branch|agent|reset)\n", re.M)
_BLOCK = re.compile(r"^::: (.+)\n", re.M)
_LATER = re.compile(r"^\+(?:\d+[smhd])+$")
_TAKING = re.compile(r"^\d+(?:\.\d+)?s$")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Block:
    """Something that was said or done."""

    kind: str
    """One of SPEAKERS, or the name of a tool."""
    text: str
    target: str = ""
    """What a tool works on: the rest of its line."""
    later: float | None = None
    """Seconds after the block before; None if its length decides."""
    seconds: float | None = None
    """How long a tool took."""
    exit_code: int = 0
    joined: bool = False
    """Whether a call belongs to the message before it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One session of a conversation."""

    edge: Edge
    head: dict[str, str]
    blocks: tuple[Block, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Written:
    """A conversation as it was written: its file's name and its sessions."""

    name: str
    parts: tuple[Part, ...]


def conversations() -> list[Written]:
    """Return all conversations of the demo, by name."""
    folder = files("hermes_tui.demo") / "conversations"
    found = [parse(path.name.removesuffix(".txt"), path.read_text("utf-8")) for path in _in(folder)]
    return sorted(found, key=lambda each: each.name)


def _in(folder: Traversable) -> Iterator[Traversable]:
    for path in folder.iterdir():
        if path.is_dir():
            yield from _in(path)
        elif path.name.endswith(".txt"):
            yield path


def parse(name: str, text: str) -> Written:
    """Return the conversation of a file."""
    first, *more = _SESSION.split(text)
    parts = [_part(Edge.ROOT, first)]
    parts += [_part(KINDS[kind], body) for kind, body in zip(more[::2], more[1::2], strict=True)]
    return Written(name, tuple(parts))


def _part(edge: Edge, text: str) -> Part:
    head, *blocks = _BLOCK.split(text)
    named = dict(line.split(": ", 1) for line in head.splitlines() if line.strip())
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    return Part(edge, named, tuple(_block(line, body.strip("\n")) for line, body in pairs))


def _block(line: str, text: str) -> Block:
    words = line.split()
    joined = words[0] == "&"
    kind, *rest = words[1:] if joined else words
    later = next((seconds(word[1:]) for word in rest if _LATER.match(word)), None)
    taken = next((float(word[:-1]) for word in rest if _TAKING.match(word)), None)
    code = int(rest[rest.index("exit") + 1]) if "exit" in rest else 0
    end = rest.index("exit") if "exit" in rest else len(rest)
    target = [word for word in rest[:end] if not _LATER.match(word) and not _TAKING.match(word)]
    return Block(kind, text, " ".join(target), later, taken, code, joined)


def seconds(text: str) -> float:
    """Return the seconds in a time such as 90s, 2h30m or 3d."""
    return float(sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)([smhd])", text)))
