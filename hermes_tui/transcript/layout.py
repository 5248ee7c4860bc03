"""The lines of a conversation, however long: only what comes near the screen is laid out."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.strip import Strip

from hermes_store.records.message import DIVIDERS, Message, State
from hermes_store.records.transcript import Outline, Speaker
from hermes_store.records.transcript import Segment as Session
from hermes_tui.presentation import messages as blocks
from hermes_tui.presentation.laid_out import Laid, Look, Mark
from hermes_tui.presentation.messages import Standing
from hermes_tui.transcript.turns import Turns
from hermes_tui.widgets.heights import Heights
from hermes_tui.widgets.lru_cache import Recent

if TYPE_CHECKING:
    from hermes_store.records.search import Spans

GUESS = 5
"""The height of a message, in lines, until it is laid out."""
DRAFT = -1
"""The id of a message that is not in the database yet."""


EMPTY = Outline("", "", (), array("q"))


class Layout:
    """The messages of one conversation and the lines they take.

    Heights of messages that were never on screen are guesses; `height` makes one true.
    """

    def __init__(self, look: Callable[[bool, Spans | None], Look]) -> None:
        self.outline: Outline | None = None
        self.heights = Heights(GUESS)
        self._look = look
        self._spans: Spans | None = None
        self._matches: array[int] = array("q")
        self._match_places: list[int] = []
        self._places: dict[int, int] = {}
        self._segments: dict[int, Session] = {}
        self._dividers: dict[int, str] = {}
        self._messages: Recent[int, Message] = Recent(1_000)
        self._laid: Recent[int, Laid] = Recent(300)
        self.turns = Turns(EMPTY)
        self._opened: set[int] = set()
        self._all_opened = False
        self._asked: set[int] = set()

    def clear(self) -> None:
        self.outline = None
        self.heights.reset(0)
        self._messages.clear()
        self._laid.clear()

    def show(self, outline: Outline, matches: array[int], spans: Spans | None) -> None:
        """Begin a conversation, or the same one with other matches."""
        if self.outline is None or self.outline.root_id != outline.root_id:
            self._messages.clear()
            self._opened.clear()
            self._all_opened = False
        self._spans, self._matches = spans, matches
        self._asked.clear()
        self._laid.clear()
        self._index(outline)
        self.heights.reset(len(outline.message_ids))

    def grow(self, outline: Outline) -> bool:
        """Take a longer form of the same conversation; False if it became shorter instead."""
        if len(outline.message_ids) < len(self.heights) - 1:
            self.show(outline, self._matches, self._spans)
            return False
        self.heights.resize(len(outline.message_ids))
        self._index(outline)
        self._forget_last_turn()
        return True

    def _forget_last_turn(self) -> None:
        """Say anew how long the last turn took."""
        begun = self.turns.yours[-1] + 1 if self.turns.yours else 0
        message_id = self.message_id(begun)
        if message_id is not None:
            self._laid.discard(message_id)

    def _index(self, outline: Outline) -> None:
        self.outline = outline
        self.turns = Turns(outline)
        self._places = {each: place for place, each in enumerate(outline.message_ids)}
        found = {self.place(each) for each in self._matches}
        self._match_places = sorted(each for each in found if each is not None)
        self._segments = {
            segment.first: segment for segment in outline.segments if segment.first > 0
        }
        dividers = _dividers(outline)
        for place in dividers.keys() ^ self._dividers.keys():
            if place < len(outline.message_ids):
                self._laid.discard(outline.message_ids[place])
        self._dividers = dividers

    def take(self, messages: Iterable[Message]) -> None:
        """Take messages that have been read.

        Calls are laid out anew when their results are read, and results when their calls are.
        """
        callers: set[int] = set()
        for message in messages:
            self._messages[message.id] = message
            self._asked.discard(message.id)
            self._laid.discard(message.id)
            place = self._places.get(message.id)
            if place is not None:
                callers.add(self.turns.caller(place) if message.role == "tool" else place)
        ids = self.outline.message_ids if self.outline is not None else ()
        for caller in callers:
            for each in (caller, *self.turns.results(caller)):
                if 0 <= each < len(ids):
                    self._laid.discard(ids[each])

    def with_draft(self, draft: Message | None) -> Outline | None:
        """Take or drop an unfinished message at the end; return the outline if it changes."""
        assert self.outline is not None
        ids = self.outline.message_ids
        there = bool(ids) and ids[-1] == DRAFT
        if draft is not None:
            self.take([replace(draft, id=DRAFT)])
        if there == (draft is not None):
            return None
        speakers, times = self.outline.speakers, self.outline.times
        if draft is None:
            return replace(
                self.outline, message_ids=ids[:-1], speakers=speakers[:-1], times=times[:-1]
            )
        return replace(
            self.outline,
            message_ids=ids + array("q", [DRAFT]),
            speakers=speakers + Speaker.HERMES,
            times=times + array("d", [draft.timestamp]),
        )

    def forget_lines(self) -> None:
        """Lay out everything anew, for another width or theme."""
        self._laid.clear()

    def message_id(self, place: int) -> int | None:
        if self.outline is None or not 0 <= place < len(self.outline.message_ids):
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

    def laid(self, place: int) -> Laid | None:
        """Return the message at a place as it is laid out; None if it has not been read."""
        message_id = self.message_id(place)
        if message_id is None:
            return None
        if message_id not in self._laid:
            message = self._messages.get(message_id)
            if message is None:
                return None
            opened = self._all_opened ^ (message_id in self._opened)
            look = self._look(opened, self._spans)
            self._laid[message_id] = blocks.lay_out(message, look, self._standing(place, message))
        return self._laid[message_id]

    def lines(self, place: int) -> list[Strip] | None:
        """Return the lines of the message at a place; None if it has not been read."""
        laid = self.laid(place)
        return None if laid is None else laid.strips

    def marks(self, place: int) -> list[Mark]:
        """Return the parts of a message that keys lead to."""
        laid = self.laid(place)
        return [] if laid is None else sorted(laid.marks, key=lambda each: each.first)

    def _standing(self, place: int, message: Message) -> Standing:
        turns = self.turns
        begins = turns.begins(place)
        is_tool = message.role == "tool"
        above = self.message(place - 1) if is_tool and place else None
        return Standing(
            self._segments.get(place),
            self._dividers.get(place),
            begins,
            turns.model(place) if begins else None,
            turns.before(place),
            turns.seconds(place) if begins else 0.0,
            turns.call_of(place, self.message) if is_tool else None,
            turns.unanswered(place, self.message),
            above is not None and above.role == "assistant" and bool(above.text.strip()),
        )

    def height(self, place: int) -> int:
        """Return the true height of a message that has been read, the guess of any other."""
        lines = self.lines(place)
        if lines is not None:
            self.heights[place] = len(lines)
        return self.heights[place]

    def visible(self, place: int, direction: int = 1) -> int:
        """Return the nearest message that takes lines, in a direction or else in the other.

        An answer that only calls tools takes none if the results stand for the calls.
        """
        for step in (direction, -direction):
            found = place
            while 0 <= found < len(self.heights):
                if self.height(found):
                    return found
                found += step
        return place

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
        self._laid.discard(message_id)
        return True

    def fold_all(self) -> None:
        self._all_opened = not self._all_opened
        self._opened.clear()
        self._laid.clear()

    def _standing_for(self, place: int) -> int:
        """Return the place of the message that is shown instead of one that takes no lines."""
        while place < len(self.heights) - 1 and not self.heights[place]:
            place += 1
        return place

    def next_match(self, place: int, direction: int) -> int | None:
        """Return the place of the next match."""
        places = self._match_places
        if not places:
            return None
        index = bisect_right(places, place) if direction > 0 else bisect_left(places, place) - 1
        found = places[index % len(places)]
        while self._standing_for(found) == place and found != place and len(places) > 1:
            index += direction
            found = places[index % len(places)]
        return found

    def match_line(self, place: int) -> int:
        """Return the first line of a message that shows a match; 0 if none does."""
        spans, lines = self._spans, self.lines(place)
        if spans is None or lines is None:
            return 0
        return next((line for line, strip in enumerate(lines) if spans.spans(strip.text)), 0)

    def match_number(self, place: int) -> tuple[int, int]:
        """Return the number of the match at a place, 0 for none, and how many there are."""
        places = self._match_places
        index = bisect_right(places, place)
        here = index > 0 and self._standing_for(places[index - 1]) == place
        return (index if here else 0), len(places)


def _dividers(outline: Outline) -> dict[int, str]:
    """Return what stands between messages of different states, by the place of the second."""
    found: dict[int, str] = {}
    for stretch in outline.stretches:
        number = "" if stretch.count == 1 else f"{stretch.count:,} "
        found[stretch.first] = number + DIVIDERS[stretch.state]
        found.setdefault(stretch.first + stretch.count, DIVIDERS[State.SENT])
    return found
