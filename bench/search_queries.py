"""The queries of the search benchmark, drawn from the corpus by seed; a third of them is absent.

An absent query looks like a present one of its class: some letters are altered, or words are
combined that never stand together. That it is absent is checked by a plain scan.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from bench.search_truth import Bare

COMMON, RARE, TWO, PHRASE = "common word", "rare word", "two words", "phrase"
PREFIX, PIECE, NAME = "prefix", "piece of a word", "path or identifier"
ADDRESS, HASH = "e-mail or URL", "part of a hash"
EAST_1, EAST_2, EAST_4 = "CJK, 1 character", "CJK, 2 characters", "CJK, 4 or more"
CLASSES = (COMMON, RARE, TWO, PHRASE, PREFIX, PIECE, NAME, ADDRESS, HASH, EAST_1, EAST_2, EAST_4)
WHOLE_WORDS = (COMMON, RARE, TWO, PHRASE)
EASTERN = (EAST_1, EAST_2, EAST_4)
_OPERATORS = {"and", "or", "not", "near"}
_WORD = re.compile(r"[A-Za-z]{4,}")
_PAIR = re.compile(r"\b[A-Za-z]{2,} [A-Za-z]{2,}(?: [A-Za-z]{2,})?\b")
_NAME = re.compile(r"/?(?:[A-Za-z][A-Za-z0-9]+[/._-]){1,4}[A-Za-z0-9]{2,}")
_ADDRESS = re.compile(r"[a-z]{3,}@[a-z]{3,}\.[a-z]{2,}|https://[a-z.]+/[a-z]+/[a-z]+\?id=[0-9a-f]+")
_HASH = re.compile(r"\b[0-9a-f]{12,64}\b")
_EAST = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]{4,}")
_SAMPLE = 4_000
_TRIES = 400


@dataclass(frozen=True, slots=True)
class Query:
    """A query, what it consists of, and whether any message has it."""

    kind: str
    text: str
    """As a person types it."""
    parts: tuple[str, ...]
    """What a plain scan looks for; all of them."""
    match: str
    """The same for the index, as FTS5 wants it."""
    absent: bool

    def __str__(self) -> str:
        return f"{self.kind}, {self.text}"

    @property
    def prefix(self) -> bool:
        return self.kind == PREFIX


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _query(kind: str, parts: tuple[str, ...], absent: bool) -> Query:
    text = " ".join(parts)
    match = " ".join(map(_quoted, parts))
    if kind == PHRASE:
        text = _quoted(text)
    elif kind == PREFIX:
        text, match = f"{text}*", f"{match} *"
    return Query(kind, text, parts, match, absent)


class Drawer:
    """Draws queries from a file."""

    def __init__(self, path: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.bare = Bare(path)
        con = self.bare.connection
        con.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, messages_fts, row)")
        (last,) = con.execute("SELECT MAX(id) FROM messages")
        self._texts = self._some_texts(con, last[0])
        self._eastern: list[str] = [run for text in self._texts for run in _EAST.findall(text)]
        often = "SELECT term FROM temp.words WHERE doc > ?"
        self._common = self._plain_words(con.execute(often, (last[0] // 50,)))
        seldom = "SELECT term FROM temp.words WHERE doc <= 5 AND length(term) BETWEEN 4 AND 20"
        self._rare = self._plain_words(con.execute(seldom))
        self._makers: dict[str, Callable[[], tuple[str, ...] | None]] = {
            COMMON: lambda: (self.rng.choice(self._common),),
            RARE: lambda: (self.rng.choice(self._rare),),
            TWO: self._two,
            PHRASE: lambda: self._found(_PAIR),
            PREFIX: self._prefix,
            PIECE: self._piece,
            NAME: lambda: self._found(_NAME),
            ADDRESS: lambda: self._found(_ADDRESS),
            HASH: self._hash,
            EAST_1: lambda: self._east(1, 1),
            EAST_2: lambda: self._east(2, 2),
            EAST_4: lambda: self._east(4, 8),
        }

    def _some_texts(self, con: apsw.Connection, last: int) -> list[str]:
        texts = []
        for place in (self.rng.randrange(1, last + 1) for _ in range(_SAMPLE)):
            texts += [
                t for (t,) in con.execute("SELECT content FROM messages WHERE id=?", (place,))
            ]
        return texts

    def _plain_words(self, rows: apsw.Cursor) -> list[str]:
        words = [term for (term,) in rows if term.isascii() and term.isalpha() and len(term) > 2]
        return [word for word in words if word not in _OPERATORS]

    def _found(self, pattern: re.Pattern[str]) -> tuple[str, ...] | None:
        found = pattern.findall(self.rng.choice(self._texts))
        return (self.rng.choice(found)[:60],) if found else None

    def _two(self) -> tuple[str, ...] | None:
        """Take two words of one message."""
        words = set(_WORD.findall(self.rng.choice(self._texts)))
        usable = sorted(word for word in words if word.lower() not in _OPERATORS)
        return tuple(self.rng.sample(usable, 2)) if len(usable) > 1 else None

    def _prefix(self) -> tuple[str, ...]:
        word = self.rng.choice(self._common if self.rng.random() < 0.5 else self._rare)
        return (word[: self.rng.randrange(3, 6)],)

    def _piece(self) -> tuple[str, ...] | None:
        found = self._found(re.compile(r"\w{6,40}", re.ASCII))
        if found is None:
            return None
        start = self.rng.randrange(1, len(found[0]) - 3)
        return (found[0][start : start + self.rng.randrange(3, 13)],)

    def _hash(self) -> tuple[str, ...] | None:
        found = self._found(_HASH)
        if found is None:
            return None
        length = self.rng.randrange(5, 13)
        start = self.rng.randrange(len(found[0]) - length + 1)
        return (found[0][start : start + length],)

    def _east(self, least: int, most: int) -> tuple[str, ...] | None:
        found = self._found(_EAST)
        if found is None:
            return None
        length = min(len(found[0]), self.rng.randrange(least, most + 1))
        start = self.rng.randrange(len(found[0]) - length + 1)
        return (found[0][start : start + length],)

    def _altered(self, kind: str, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return something of the same form that may be in no message.

        It is made of what does occur: trigrams that no message has would be too easy to miss.
        """
        if kind == EAST_1:
            first, last = (0xAC00, 0xD7A3) if parts[0] >= "\uac00" else (0x4E00, 0x9FA5)
            return (chr(self.rng.randint(first, last)),)
        if kind == PHRASE:
            return (f"{self.rng.choice(self._common)} {self.rng.choice(self._rare)}",)
        if kind == TWO:
            return (parts[0], self.rng.choice(self._rare))
        if kind == HASH:
            return (f"{self.rng.getrandbits(48):012x}"[: self.rng.randrange(6, 13)],)
        other = self._makers[kind]()
        if other is None or self.rng.random() < 0.5:
            return (self._misspelt(parts[0]),)
        return (parts[0][: (len(parts[0]) + 1) // 2] + other[0][len(other[0]) // 2 :],)

    def _misspelt(self, text: str) -> str:
        """Replace one letter by one that is as ordinary."""
        places = [place for place, letter in enumerate(text) if letter.isalnum()]
        place = self.rng.choice(places)
        eastern = not text[place].isascii()
        letters: str = self.rng.choice(self._eastern) if eastern else "etaoinshrdlcum"
        return text[:place] + self.rng.choice(letters) + text[place + 1 :]

    def _draw(self, kind: str, absent: bool, seen: set[str]) -> Query:
        for _ in range(_TRIES):
            parts = self._makers[kind]()
            if parts is None:
                continue
            query = _query(kind, self._altered(kind, parts) if absent else parts, absent)
            if query.text in seen or (kind == HASH and not re.search("[a-f]", query.parts[0])):
                continue
            if absent and self.bare.has(query):
                continue
            seen.add(query.text)
            return query
        raise RuntimeError(f"No query of the class {kind!r} could be drawn.")

    def draw(self, number: int) -> list[Query]:
        """Return that many queries of each class, one in three absent."""
        seen: set[str] = set()
        return [
            self._draw(kind, place % 3 == 2, seen) for kind in CLASSES for place in range(number)
        ]
