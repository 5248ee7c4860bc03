"""The turns of a conversation: where they begin, how long they took, which result answers a call.

A turn begins with what you said. Everything that follows, up to your next message, is one turn of
Hermes, whatever calls and results it consists of.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable

from hermes_store.records import tool_calls
from hermes_store.records.message import Message
from hermes_store.records.tool_calls import ToolCall
from hermes_store.records.transcript import Outline, Speaker

FAR = 200
"""How many messages above a result its call is looked for."""
LONGEST = 86_400.0
"""Seconds after which a turn was not worked on all the time."""

_YOURS = re.compile(Speaker.YOU)
_TURN = re.compile(f"[^{Speaker.YOU}{Speaker.SUMMARY}]*")
_RESULTS = re.compile(f"{Speaker.TOOL}*")
_HERMES = Speaker.HERMES + Speaker.TOOL

Read = Callable[[int], Message | None]
"""Returns the message at a place, if it has been read."""


class Turns:
    """The turns of an outline."""

    def __init__(self, outline: Outline) -> None:
        self._speakers = outline.speakers
        self._times = outline.times
        self._segments = outline.segments
        self.yours = array("q", (each.start() for each in _YOURS.finditer(outline.speakers)))
        """The places of your messages."""

    def number(self, place: int) -> tuple[int, int]:
        """Return the number of the turn at a place, and how many turns there are."""
        return max(1, bisect_right(self.yours, place)), len(self.yours)

    def next_turn(self, place: int, direction: int) -> int | None:
        """Return where the next turn begins, or the one before."""
        if direction > 0:
            index = bisect_right(self.yours, place)
        else:
            index = bisect_right(self.yours, place - 1) - 1
        return self.yours[index] if 0 <= index < len(self.yours) else None

    def next_tool(self, place: int, direction: int) -> int | None:
        """Return the place of the next result of a tool, or the one before."""
        if direction > 0:
            found = self._speakers.find(Speaker.TOOL, place + 1)
        else:
            found = self._speakers.rfind(Speaker.TOOL, 0, max(0, place))
        return None if found < 0 else found

    def _speaker(self, place: int) -> str:
        return self._speakers[place : place + 1] if place >= 0 else ""

    def _above(self, place: int) -> int:
        """Return the place of the message above that somebody said, -1 if there is none."""
        place -= 1
        while self._speaker(place) == Speaker.OTHER:
            place -= 1
        return place

    def begins(self, place: int) -> bool:
        """Tell whether somebody begins to speak with a message."""
        if self._speaker(place) not in _HERMES:
            return True
        above = self._above(place)
        return above < 0 or self._speaker(above) not in _HERMES

    def before(self, place: int) -> float:
        """Return when the message above was said, 0 at the beginning."""
        above = self._above(place)
        return self._times[above] if 0 <= above < len(self._times) else 0.0

    def seconds(self, place: int) -> float:
        """Return how long the turn of Hermes that begins at a place took; 0 if not known."""
        above = self._above(place)
        if self._speaker(place) not in _HERMES or self._speaker(above) != Speaker.YOU:
            return 0.0
        end = _end(_TURN, self._speakers, place) - 1
        took = self._times[end] - self._times[above]
        return took if self._times[above] > 0 and 0 < took < LONGEST else 0.0

    def model(self, place: int) -> str | None:
        """Return the model that was used at a place."""
        if self._speaker(place) not in _HERMES:
            return None
        used = [each for each in self._segments if each.first <= place]
        return used[-1].model if used else None

    # -- calls and results -----------------------------------------------------------------

    def results(self, place: int) -> range:
        """Return the places of the results directly below a message."""
        return range(place + 1, _end(_RESULTS, self._speakers, place + 1))

    def caller(self, place: int) -> int:
        """Return the place of the message above the results that a result belongs to."""
        return len(self._speakers[: max(0, place)].rstrip(Speaker.TOOL)) - 1

    def call_of(self, place: int, read: Read) -> ToolCall | None:
        """Return the call that the result at a place answers, if it has been read."""
        result = read(place)
        if result is None:
            return None
        wanted = result.tool_call_id
        caller = self.caller(place)
        for above in range(caller, max(-1, caller - FAR), -1):
            message = read(above)
            calls = tool_calls.parse(message.tool_calls) if message is not None else ()
            for call in calls:
                if wanted and call.id == wanted:
                    return call
            index = place - caller - 1
            if above == caller and index < len(calls) and not (wanted and calls[index].id):
                return calls[index]
        return None

    def unanswered(self, place: int, read: Read) -> tuple[ToolCall, ...]:
        """Return the calls without a result that are shown at a place.

        That is the last of the results of the other calls, or else the message that calls.
        """
        caller = self.caller(place) if self._speaker(place) == Speaker.TOOL else place
        if place != caller + len(self.results(caller)):
            return ()
        return self._without_result(caller, read)

    def _without_result(self, place: int, read: Read) -> tuple[ToolCall, ...]:
        message = read(place)
        if message is None or not message.tool_calls:
            return ()
        calls = tool_calls.parse(message.tool_calls)
        results = [read(each) for each in self.results(place)]
        if any(each is None for each in results):
            return ()
        answered = {each.tool_call_id for each in results if each is not None}
        bare = sum(1 for each in results if each is not None and not each.tool_call_id)
        later = self._answered_later(place + len(results) + 1, read)
        return tuple(
            call
            for index, call in enumerate(calls)
            if not (call.id in answered | later if call.id and not bare else index < len(results))
        )

    def _answered_later(self, place: int, read: Read) -> set[str]:
        """Return the calls that results further below answer."""
        found: set[str] = set()
        end = min(len(self._speakers), place + FAR)
        while (place := self._speakers.find(Speaker.TOOL, place, end)) >= 0:
            result = read(place)
            if result is not None and result.tool_call_id:
                found.add(result.tool_call_id)
            place += 1
        return found


def _end(pattern: re.Pattern[str], speakers: str, place: int) -> int:
    """Return where a stretch of speakers ends; a run of thousands takes no time."""
    found = pattern.match(speakers, place)
    return place if found is None else found.end()
