"""What a home must hold, worked out from what its workers were told.

A worker notes each operation before it begins and after it ended. What ended well is certain;
what was under way, or failed with a sentence, may have happened or not, but never in part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Note = Mapping[str, Any]
"""One line of a worker: its operation, its state (begun, done, failed), and details."""


class Place(Enum):
    """Where a session can be."""

    DATABASE = "in the database"
    TRASH = "in the trash"
    NOWHERE = "nowhere"


@dataclass(slots=True)
class Expected:
    """One session: its messages, and where it may be."""

    said: list[str] = field(default_factory=list)
    perhaps: list[str] = field(default_factory=list)
    places: set[Place] = field(default_factory=lambda: {Place.DATABASE})
    partly: bool = False
    """Whether its permanent deletion has begun, so that it may have lost messages."""
    anything: bool = False
    """Whether nobody knows what it says, such as the continuation of a compressed session."""


@dataclass(slots=True)
class Found:
    """What a home really holds."""

    database: dict[str, list[str]] = field(default_factory=dict)
    trash: dict[str, list[str]] = field(default_factory=dict)
    """Sessions in the trash, with the messages that restoring them gives."""
    complaints: list[str] = field(default_factory=list)


_GOES_TO = {"trash": Place.TRASH, "restore": Place.DATABASE, "remove": Place.NOWHERE}


class Ledger:
    """The expected content of one home."""

    def __init__(self, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self.sessions = {name: Expected(list(said)) for name, said in (known or {}).items()}
        self.acknowledged = 0

    def read(self, notes: Iterable[Note]) -> None:
        """Take in the notes of one worker, in its order."""
        under_way: list[Note] = []
        for note in notes:
            match note["state"]:
                case "begun":
                    before = {name: set(each.places) for name, each in self.sessions.items()}
                    under_way.append({**note, "before": before})
                    self._begin(note)
                case "done":
                    self._end({**under_way.pop(), **note})
                    self.acknowledged += 1
                case "failed":
                    under_way.pop()

    def _begin(self, note: Note) -> None:
        match note["op"]:
            case "say":
                self._session(note["session"]).perhaps.append(note["text"])
            case "start" | "import":
                for name, said in note["sessions"].items():
                    if name not in self.sessions:
                        places = {Place.DATABASE, Place.NOWHERE}
                        self.sessions[name] = Expected(
                            list(said or ()), places=places, anything=said is None
                        )
            case "trash" | "restore" | "remove" as op:
                for name in note["sessions"]:
                    if name not in self.sessions:
                        self.sessions[name] = Expected(places={Place.NOWHERE})
                    self._session(name).places.add(_GOES_TO[op])
                    self._session(name).partly |= op == "remove"

    def _end(self, note: Note) -> None:
        match note["op"]:
            case "say":
                expected = self._session(note["session"])
                expected.perhaps.remove(note["text"])
                expected.said.append(note["text"])
            case "start" | "import":
                for name in note["sessions"]:
                    self.sessions[name].places = {Place.DATABASE}
            case "trash" | "restore" | "remove" as op:
                for name in note["sessions"]:
                    if name in note["ids"]:
                        self._session(name).places = {_GOES_TO[op]}
                    else:
                        # It was spared: it is where it was.
                        self._session(name).places = note["before"].get(name, {Place.NOWHERE})

    def _session(self, name: str) -> Expected:
        return self.sessions.setdefault(name, Expected())

    def allow_both(self) -> None:
        """Let sessions be in the database or in the trash: two workers moved them at once.

        They must still be in one of them, whole, unless one of the two removed them.
        """
        for expected in self.sessions.values():
            if expected.places != {Place.NOWHERE}:
                expected.places |= {Place.TRASH, Place.DATABASE}
                expected.places |= {Place.NOWHERE} if expected.partly else set()

    def violations(self, found: Found) -> list[str]:
        """Return a sentence for everything that is not as it must be."""
        broken = list(found.complaints)
        for name, expected in self.sessions.items():
            broken += _of_one(name, expected, found)
        for name, said in {**found.database, **found.trash}.items():
            # A gateway chooses the ids of its sessions, and may die before it notes one.
            if said and name not in self.sessions:
                broken.append(f"Nobody started session {name}, but it has messages.")
        return broken


def _of_one(name: str, expected: Expected, found: Found) -> list[str]:
    stored, copied = found.database.get(name), found.trash.get(name)
    if stored is not None and copied is not None:
        return [f"{name} is both in the database and in the trash."]
    if stored is not None:
        place, said = Place.DATABASE, stored
    elif copied is not None:
        place, said = Place.TRASH, copied
    else:
        place, said = Place.NOWHERE, []
    if place not in expected.places:
        wanted = " or ".join(sorted(each.value for each in expected.places))
        return [f"{name} is {place.value}, not {wanted}."]
    if place is Place.NOWHERE or expected.anything:
        return []
    return _of_messages(f"{name}, {place.value},", expected, said)


def _of_messages(who: str, expected: Expected, said: Sequence[str]) -> list[str]:
    counts = Counter(said)
    wanted, allowed = Counter(expected.said), Counter(expected.perhaps)
    broken = []
    if not expected.partly:
        lost = wanted - counts
        broken += [f"{who} lost {text!r}." for text in list(lost)[:3]]
        if len(lost) > 3:
            broken.append(f"{who} lost {len(lost)} messages in all.")
    more = counts - wanted - allowed
    for text in list(more)[:3]:
        twice = text in wanted or text in allowed
        broken.append(f"{who} {'has twice' if twice else 'has a stray'} {text!r}.")
    return broken
