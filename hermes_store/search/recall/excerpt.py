"""A part of a conversation as readable text, centered on the matches.

Reads only around the matches, never all of a long conversation: ids come from an index, text in
small blocks as the window grows. Tool output is shortened, around its match if it has one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_store.engines.base import Transaction
from hermes_store.engines.message_states import readable
from hermes_store.records import tool_calls
from hermes_store.records.message import Message
from hermes_store.records.message_content import without_reasoning
from hermes_store.records.safe_text import clean
from hermes_store.search.snippets import Highlighter
from hermes_store.sessions import messages

BLOCK = 16
"""Messages to read at once."""
TOOL_OUTPUT = 500
TOOL_CALL = 200
ROUNDS = 3
"""How often to re-estimate the number of messages in a window."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a conversation."""

    text: str
    focus: int
    """Where the first match is in the text."""
    start_cut: bool
    end_cut: bool


class Page:
    """The messages of some sessions in order, read on demand."""

    def __init__(
        self, tx: Transaction, session_ids: Sequence[str], highlighter: Highlighter
    ) -> None:
        self._tx = tx
        self.highlighter = highlighter
        self._lines: dict[int, str] = {}
        self.ids = array("q")
        before: str | None = None
        for session_id in session_ids:
            self.ids.extend(_listed(tx, session_id, before))
            before = session_id

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, message_ids: Sequence[int]) -> list[int]:
        """Return the places of some messages, in order."""
        wanted = set(message_ids)
        return [place for place, each in enumerate(self.ids) if each in wanted]

    def line(self, place: int) -> str:
        """Return a message as text, '' if it has nothing to read."""
        if place not in self._lines:
            first = place - place % BLOCK
            block = range(first, min(first + BLOCK, len(self.ids)))
            wanted = [self.ids[each] for each in block]
            found = {message.id: message for message in messages.with_ids(self._tx, wanted)}
            for each in block:
                message = found.get(self.ids[each])
                self._lines[each] = "" if message is None else rendered(message, self.highlighter)
        return self._lines[place]


def _listed(tx: Transaction, session_id: str, before: str | None) -> list[int]:
    """Return the messages of a session, without the turns repeated from the session before.

    A continuation begins with a summary, which stays, and copies of the last turns, which have
    the timestamps of the originals. What a newer Hermes compacted in place is included.
    """
    repeated = ""
    values: tuple[str, ...] = (session_id,)
    if before is not None:
        repeated = (
            "AND (m.id = (SELECT MIN(id) FROM messages WHERE session_id = m.session_id) "
            "OR m.timestamp >= (SELECT started_at FROM sessions WHERE id = m.session_id) "
            "OR NOT EXISTS (SELECT 1 FROM messages o WHERE o.session_id = ? "
            "AND o.timestamp = m.timestamp AND o.role = m.role))"
        )
        values = (session_id, before)
    return [
        row[0]
        for row in tx.rows(
            "SELECT m.id FROM messages m WHERE m.session_id = ? "
            f"AND {readable(tx.caps)} {repeated} ORDER BY m.id",
            values,
        )
    ]


# -- one message -------------------------------------------------------------------------------


def rendered(message: Message, highlighter: Highlighter) -> str:
    """Return a message as "[role] text", with tool calls and tool output shortened."""
    text = clean(message.text).strip()
    label = clean(message.role)
    if message.role == "tool":
        label = f"tool {clean(message.tool_name or '')}".strip()
        text = _shortened(text, TOOL_OUTPUT, highlighter)
    elif message.role == "assistant":
        text = " ".join(filter(None, (without_reasoning(text), _calls(message, highlighter))))
    return f"[{label}] {text}" if text else ""


def _calls(message: Message, highlighter: Highlighter) -> str:
    each = (
        f"uses {call.name or 'a tool'}: {call.arguments}"
        for call in tool_calls.parse(message.tool_calls)
    )
    return " ".join(f"({_shortened(clean(call), TOOL_CALL, highlighter)})" for call in each)


def _shortened(text: str, characters: int, highlighter: Highlighter) -> str:
    """Cut a text around its match; without one, keep its beginning and its end."""
    if len(text) <= characters:
        return text
    match = highlighter.first(text)
    half = characters // 2
    if match is None or match < half:
        kept = characters if match is not None else half
        return f"{text[:kept]} … {text[-half:] if match is None else ''}".rstrip()
    start = min(match - half, len(text) - characters)
    end = start + characters
    return f"… {text[start:end]}{' …' if end < len(text) else ''}"


# -- the window --------------------------------------------------------------------------------


def around(page: Page, matches: Sequence[int], best: int | None, characters: int) -> Window:
    """Return the window with the most matches, with equal context before and after.

    `matches` are places in order, `best` decides a tie. Without matches, the window is the
    beginning of the conversation.
    """
    if not len(page):
        return Window("", 0, False, False)
    first, last = _stretch(page, matches, best, characters) if matches else (0, 0)
    lines, end = _read(page, first, 1, characters, last)
    middle = "\n".join(lines)
    if len(middle) > characters:
        return _inside(page, middle, (first, end), characters)
    room = characters - len(middle)
    before, start = _read(page, first - 1, -1, room // 2)
    after, end = _read(page, end, 1, room - min(_size(before), room // 2))
    left = room - _size(before) - _size(after)
    if left > 0:
        more, start = _read(page, start, -1, left)
        before += more
    head = "".join(f"{line}\n" for line in reversed(before))
    tail = "".join(f"\n{line}" for line in after)
    if not middle:  # a conversation may begin with messages that have no text
        tail = tail[1:]
    cut = max(0, len(head) - max(room // 2, room - len(tail)))
    text = (head[cut:] + middle + tail)[:characters]
    focus = len(head) - cut + (page.highlighter.first(middle) or 0)
    whole = len(head) - cut + len(middle) + len(tail)
    return Window(text, focus, start >= 0 or cut > 0, end < len(page) or whole > characters)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _read(
    page: Page, place: int, step: int, room: int, last: int | None = None
) -> tuple[list[str], int]:
    """Return lines from a place until the room is used up, and the place after them."""
    lines: list[str] = []
    size = 0
    while 0 <= place < len(page) and size < room and (last is None or place <= last):
        line = page.line(place)
        place += step
        if line:
            lines.append(line)
            size += len(line) + 1
    return lines, place


def _stretch(
    page: Page, matches: Sequence[int], best: int | None, characters: int
) -> tuple[int, int]:
    """Return the first and last match of the part with the most matches."""
    around_best = _read(page, matches[0] if best is None else best, 1, characters)
    reach = max(1, around_best[1] - (matches[0] if best is None else best))
    first, last = densest(matches, reach, best)
    for _ in range(ROUNDS):
        lines, end = _read(page, first, 1, characters, last)
        if end > last and _size(lines) - 1 <= characters:
            break
        # Messages are longer here than where the estimate was made.
        shorter = max(1, min(end - first - 1, reach - 1))
        if shorter == reach:
            break
        reach = shorter
        first, last = densest(matches, reach, best)
    return first, last


def densest(matches: Sequence[int], reach: int, best: int | None) -> tuple[int, int]:
    """Return the first and last match of the `reach` consecutive messages with the most."""
    chosen, most = (matches[0], matches[0]), (0, False)
    for number, first in enumerate(matches):
        after = bisect_left(matches, first + reach)
        held = (after - number, best is not None and first <= best < first + reach)
        if held > most:
            chosen, most = (first, matches[after - 1]), held
    return chosen


def _inside(page: Page, text: str, places: tuple[int, int], characters: int) -> Window:
    """Cut the window from messages longer than it, around most of their matches."""
    spans = page.highlighter.spans(text) or [(0, 1)]
    starts = [start for start, _ in spans]
    chosen, most = (starts[0], spans[0][1]), 0
    for number, start in enumerate(starts):
        after = max(number + 1, bisect_left(starts, start + characters))
        if after - number > most:
            chosen, most = (start, spans[after - 1][1]), after - number
    spare = max(0, characters - (chosen[1] - chosen[0]))
    begin = max(0, min(chosen[0] - spare // 2, len(text) - characters))
    end = begin + characters
    return Window(
        text[begin:end],
        max(0, chosen[0] - begin),
        places[0] > 0 or begin > 0,
        places[1] < len(page) or end < len(text),
    )
