"""The ids of a whole list in an eighth of the memory that as many strings take.

A list of everything is read as a whole now and then (`Packed`); in between its newest part is
read anew and put in front of what is known (`Entries`).
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

from hermes_store.records.listing import Entry, Heading

_BETWEEN = b"\xff"  # occurs in no UTF-8 text
_BLOCK = 1_000
_OPEN = 4


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Packed:
    """Ids and headings, never changed: compressed in blocks, of which a few stay open."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._blocks: list[bytes] = []
        self._open: dict[int, list[bytes]] = {}
        self._size = 0
        self.headings: dict[int, Heading] = {}
        source = iter(entries)
        while some := list(islice(source, _BLOCK)):
            texts = [b"" if isinstance(each, Heading) else _encoded(each) for each in some]
            self._blocks.append(zlib.compress(_BETWEEN.join(texts), 1))
            self.headings |= {
                self._size + place: each
                for place, each in enumerate(some)
                if isinstance(each, Heading)
            }
            self._size += len(some)

    def __len__(self) -> int:
        return self._size

    def at(self, place: int) -> Entry:
        """Return what stands at a place."""
        if place in self.headings:
            return self.headings[place]
        number, inside = divmod(place, _BLOCK)
        return self._opened(number)[inside].decode("utf-8", "surrogatepass")

    def _opened(self, number: int) -> list[bytes]:
        if number not in self._open:
            self._open[number] = zlib.decompress(self._blocks[number]).split(_BETWEEN)
            if len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]
        return self._open[number]

    def place_of(self, session_id: str) -> int | None:
        """Return where an id stands."""
        wanted = _encoded(session_id)
        for number, block in enumerate(self._blocks):
            # Taking a block apart takes as long as unpacking it, and most do not have the id.
            if number not in self._open and wanted not in zlib.decompress(block):
                continue
            for inside, text in enumerate(self._opened(number)):
                place = number * _BLOCK + inside
                if text == wanted and place not in self.headings:
                    return place
        return None


class Entries(Sequence[Entry]):
    """A list: some entries that were read just now, and the rest as it was read before."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._head: list[Entry] = []
        self._rest = Packed(entries)
        self._start = 0
        self._skipped: list[int] = []
        """Places of the rest that do not count, in order."""

    def begun_with(self, head: Sequence[str]) -> Entries:
        """Return this list with its newest part read anew.

        What stood above the last of the new beginning and is not in it has gone.
        """
        places = [self._rest.place_of(each) for each in head]
        last = next((place for place in reversed(places) if place is not None), -1)
        found = Entries()
        found._head = list(head)
        found._rest = self._rest
        found._start = last + 1
        found._skipped = sorted(place for place in places if place is not None and place > last)
        return found

    @property
    def ids(self) -> int:
        """How many of the entries are ids."""
        headings = sum(place >= self._start for place in self._rest.headings)
        return len(self) - headings

    def __len__(self) -> int:
        return len(self._head) + len(self._rest) - self._start - len(self._skipped)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._at(place)

    def _at(self, index: int) -> Entry:
        if index < len(self._head):
            return self._head[index]
        place = self._start + index - len(self._head)
        for skipped in self._skipped:
            place += skipped <= place
        return self._rest.at(place)

    def __iter__(self) -> Iterator[Entry]:
        return map(self._at, range(len(self)))

    def __contains__(self, entry: object) -> bool:
        return isinstance(entry, str) and self.place_of(entry) is not None

    def place_of(self, session_id: str) -> int | None:
        """Return where an id stands."""
        if session_id in self._head:
            return self._head.index(session_id)
        place = self._rest.place_of(session_id)
        if place is None or place < self._start or place in self._skipped:
            return None
        return len(self._head) + place - self._start - bisect_left(self._skipped, place)
