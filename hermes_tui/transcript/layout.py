"""The lines of a conversation, however long: only what comes near the screen is laid out."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.strip import Strip

from hermes_store.records.message import DIVIDERS, Message, State
from hermes_store.records.transcript import Outline
from hermes_store.records.transcript import Segment as Session
from hermes_tui.presentation import messages as blocks
from hermes_tui.widgets.heights import Heights
from hermes_tui.widgets.lru_cache import Recent

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

GUESS = 5
"""The height of a message, in lines, until it is laid out."""
DRAFT = -1
"""The id of a message that is not in the database yet."""


class Layout:
    """The messages of one conversation and the lines they take.

    Heights of messages that were never on screen are guesses; `height` makes one true.
    """

    def __init__(self, look: Callable[[bool, Spans | None], blocks.Look]) -> None:
        self.outline: Outline | None = None
        self.heights = Heights(GUESS)
        self._look = look
        self._spans: Spans | None = None
        self._matches: array[int] = array("q")
        self._places: dict[int, int] = {}
        self._segments: dict[int, Session] = {}
        self._dividers: dict[int, str] = {}
        self._messages: Recent[int, Message] = Recent(1_000)
        self._strips: Recent[int, list[Strip]] = Recent(300)
        self._opened: set[int] = set()
        self._all_opened = False
        self._asked: set[int] = set()

    def clear(self) -> None:
        self.outline = None
        self.heights.reset(0)
        self._messages.clear()
        self._strips.clear()

    def show(self, outline: Outline, matches: array[int], spans: Spans | None) -> None:
        """Begin a conversation, or the same one with other matches."""
        if self.outline is None or self.outline.root_id != outline.root_id:
            self._messages.clear()
            self._opened.clear()
            self._all_opened = False
        self._spans, self._matches = spans, matches
        self._asked.clear()
        self._strips.clear()
        self._index(outline)
        self.heights.reset(len(outline.message_ids))

    def grow(self, outline: Outline) -> bool:
        """Take a longer form of the same conversation; False if it became shorter instead."""
        if len(outline.message_ids) < len(self.heights) - 1:
            self.show(outline, self._matches, self._spans)
            return False
        self.heights.resize(len(outline.message_ids))
        self._index(outline)
        return True

    def _index(self, outline: Outline) -> None:
        self.outline = outline
        self._places = {each: place for place, each in enumerate(outline.message_ids)}
        self._segments = {
            segment.first: segment for segment in outline.segments if segment.first > 0
        }
        dividers = _dividers(outline)
        for place in dividers.keys() ^ self._dividers.keys():
            if place < len(outline.message_ids):
                self._strips.discard(outline.message_ids[place])
        self._dividers = dividers

    def take(self, messages: Iterable[Message]) -> None:
        """Take messages that have been read."""
        for message in messages:
            self._messages[message.id] = message
            self._asked.discard(message.id)
            self._strips.discard(message.id)

    def with_draft(self, draft: Message | None) -> Outline | None:
        """Take or drop an unfinished message at the end; return the outline if it changes."""
        assert self.outline is not None
        ids = self.outline.message_ids
        there = bool(ids) and ids[-1] == DRAFT
        if draft is not None:
            self.take([replace(draft, id=DRAFT)])
        if there == (draft is not None):
            return None
        return replace(self.outline, message_ids=ids[:-1] if there else ids + array("q", [DRAFT]))

    def forget_lines(self) -> None:
        """Lay out everything anew, for another width or theme."""
        self._strips.clear()

    def message_id(self, place: int) -> int | None:
        if self.outline is None or not self.outline.message_ids:
            return None
        return self.outline.message_ids[place]

    def message(self, place: int) -> Message | None:
        """Return the message at a place if it has been read."""
        message_id = self.message_id(place)
        return None if message_id is None else self._messages.get(message_id)

    def place(self, message_id: int | None) -> int | None:
        """Return where a message is, or the one that is shown in its place."""
        if message_id is None or self.outline is None:
            return None
        return self._places.get(self.outline.copies.get(message_id, message_id))

    def lines(self, place: int) -> list[Strip] | None:
        """Return the lines of the message at a place; None if it has not been read."""
        message_id = self.message_id(place)
        if message_id is None:
            return None
        if message_id not in self._strips:
            message = self._messages.get(message_id)
            if message is None:
                return None
            opened = self._all_opened or message_id in self._opened
            look = self._look(opened, self._spans)
            self._strips[message_id] = blocks.lay_out(
                message, look, self._segments.get(place), self._dividers.get(place)
            )
        return self._strips[message_id]

    def height(self, place: int) -> int:
        """Return the true height of a message that has been read, the guess of any other."""
        lines = self.lines(place)
        if lines is not None:
            self.heights[place] = len(lines)
        return self.heights[place]

    def measure(self, place: int, row: int, height: int) -> None:
        """Find the true heights around a message that begins at a row of the screen.

        A screen above and below is measured too: paging by guesses would skip lines.
        """
        top = row
        for index in range(place, len(self.heights)):
            if top >= 2 * height:
                break
            top += self.height(index)
        top = row
        for index in range(place - 1, -1, -1):
            if top <= -height:
                break
            top -= self.height(index)
        self.heights.settle()

    def missing(self, first: int, last: int) -> tuple[int, ...]:
        """Return the messages between two places that nobody has asked for yet."""
        assert self.outline is not None
        ids = self.outline.message_ids[max(0, first) : last]
        missing = [each for each in ids if each not in self._messages and each not in self._asked]
        self._asked.update(missing)
        return tuple(missing)

    def fold(self, place: int) -> bool:
        """Open or fold the message at a place; tell whether there is one."""
        message_id = self.message_id(place)
        if message_id is None:
            return False
        self._opened ^= {message_id}
        self._strips.discard(message_id)
        return True

    def fold_all(self) -> None:
        self._all_opened = not self._all_opened
        self._opened.clear()
        self._strips.clear()

    def next_match(self, place: int, direction: int) -> tuple[int, int, int] | None:
        """Return the place of the next match, its number, and how many there are."""
        found = {self.place(each) for each in self._matches}
        places = sorted(each for each in found if each is not None)
        if not places:
            return None
        if direction > 0:
            index = bisect_right(places, place) % len(places)
        else:
            index = bisect_left(places, place) - 1
        return places[index], places.index(places[index]) + 1, len(places)


def _dividers(outline: Outline) -> dict[int, str]:
    """Return what stands between messages of different states, by the place of the second."""
    found: dict[int, str] = {}
    for stretch in outline.stretches:
        number = "" if stretch.count == 1 else f"{stretch.count:,} "
        found[stretch.first] = number + DIVIDERS[stretch.state]
        found.setdefault(stretch.first + stretch.count, DIVIDERS[State.SENT])
    return found
