"""Parts of messages that keys lead to: code blocks and diffs, what to copy, links to open."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes_store.records.message import Message
from hermes_store.records.safe_text import clean
from hermes_tui.presentation.fit_text import plain
from hermes_tui.presentation.laid_out import Mark
from hermes_tui.presentation.numbers import plural
from hermes_tui.transcript.layout import Layout

BLOCKS = ("code", "diff")
QUOTED = 60
"""Characters of a command that are named when it is copied."""
CHUNK = 60
"""Messages that are read at a time while looking for a code block."""

# No other kind of address is ever opened.
_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>\"'`\\{}|^]+", re.IGNORECASE)
_AFTER = ".,;:!?*_~"


@dataclass(frozen=True, slots=True)
class Spot:
    """A block: the place of its message, and its number among the blocks of that message."""

    place: int
    number: int


@dataclass(frozen=True, slots=True)
class Unread:
    """Messages that have to be read before one can look further."""

    first: int
    last: int


def blocks(layout: Layout, place: int) -> list[Mark]:
    """Return the code blocks and diffs of a message."""
    return [mark for mark in layout.marks(place) if mark.kind in BLOCKS]


def next_block(layout: Layout, spot: Spot, direction: int) -> Spot | Unread | None:
    """Return the next block after a spot, or the one before; its number is -1 for none yet."""
    here = len(blocks(layout, spot.place))
    number = spot.number + direction if spot.number >= 0 or direction > 0 else -1
    if 0 <= number < here:
        return Spot(spot.place, number)
    place = spot.place + direction
    while 0 <= place < len(layout.heights):
        message = layout.message(place)
        if message is None:
            edge = place + direction * CHUNK
            return Unread(min(place, edge), max(place, edge) + 1)
        if _may_have_blocks(message) and (found := blocks(layout, place)):
            return Spot(place, 0 if direction > 0 else len(found) - 1)
        place += direction
    return None


def _may_have_blocks(message: Message) -> bool:
    if message.role == "tool":
        return True
    text = message.text
    return "```" in text or "~~~" in text or "\n    " in text


def to_copy(layout: Layout, place: int) -> tuple[str, str]:
    """Return what copying a message copies, and what to call it; a call copies its command."""
    message = layout.message(place)
    if message is None:
        return "", ""
    calls = [mark.text for mark in layout.marks(place) if mark.kind == "tool" and mark.text]
    changes = [mark.text for mark in layout.marks(place) if mark.kind == "diff" and mark.text]
    if changes and message.role == "tool":
        return changes[0], f"the diff ({plural(changes[0].count(chr(10)) + 1, 'line')})"
    if calls and (message.role == "tool" or not message.text.strip()):
        return calls[0], _quoted(calls[0])
    return message.text, f"the message ({plural(len(message.text), 'character')})"


def _quoted(text: str) -> str:
    if "\n" in text.strip() or len(text) > QUOTED:
        return f"the call ({plural(len(text), 'character')})"
    return f"“{plain(text)}”"


def block_to_copy(layout: Layout, spot: Spot) -> tuple[str, str] | None:
    """Return the text of a block and what to call it; without one, that of the tool's output."""
    found = blocks(layout, spot.place)
    output = [mark for mark in layout.marks(spot.place) if mark.kind == "output"]
    if not found and not output:
        return None
    mark = found[min(max(0, spot.number), len(found) - 1)] if found else output[0]
    name = {"diff": "the diff", "output": "the output"}.get(mark.kind, "the code block")
    return mark.text, f"{name} ({plural(mark.text.count(chr(10)) + 1, 'line')})"


def links(message: Message) -> list[str]:
    """Return the addresses in a message that may be opened, each once."""
    found: dict[str, None] = {}
    for match in _LINK.finditer(clean(message.text)):
        found.setdefault(_trimmed(match[0]))
    return list(found)


def _trimmed(address: str) -> str:
    """Return an address without the punctuation of the sentence around it."""
    while address and (
        address[-1] in _AFTER
        or (address[-1] == ")" and address.count("(") < address.count(")"))
        or (address[-1] == "]" and address.count("[") < address.count("]"))
    ):
        address = address[:-1]
    # A closing bracket in the middle belongs to Markdown: [text](address).
    cut = address.find(")")
    if cut >= 0 and address[:cut].count("(") == 0:
        address = address[:cut]
    return address
