"""The file of a list of words: one line that says what it covers, then the words in sections.

The words stand one below the other, in four sections by their letters, so that most searches skip
the largest: numbers and hashes. While a list is being made, its steps collect in a second file.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hermes_store.engines.sqlite.create_file import create

FORMAT = 1
SECTIONS = ("numbers and hashes", "other ASCII", "ASCII and other letters", "no ASCII")
SECTION_OF = (
    "CASE WHEN octet_length(term) = length(term) THEN ltrim(term, '0123456789abcdef') <> '' "
    "ELSE 2 + (term NOT GLOB '*[0-9a-z]*') END"
)
"""The SQL for the section that a term belongs in."""
_NUMBER = re.compile("[0-9a-f]*")
_PLAIN = re.compile("[0-9a-z]")

Sections = tuple[bytes, ...]
NO_WORDS: Sections = (b"",) * len(SECTIONS)
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of the file."""

    format: int
    covered: int
    """The id of the newest message whose words are listed."""
    samples: dict[str, str]
    """Some of those messages by id, with what tells them from those of another database."""
    apart: list[int]
    """Messages with text that the index does not hold."""
    sections: tuple[int, ...] = ()
    """The bytes of words in each section."""
    made: int = 0
    """How many bytes were listed at once; the others were added."""
    checksum: int = 0

    @property
    def size(self) -> int:
        """The bytes of all words."""
        return sum(self.sections)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was read and found sound."""

    stamp: Stamp
    head: Head
    words: mmap.mmap
    start: int
    """The place of the first word."""

    def section(self, place: int) -> tuple[int, int]:
        """Return the start and end of a section."""
        begin = self.start + sum(self.head.sections[:place])
        return begin, begin + self.head.sections[place]


def part(path: Path) -> Path:
    """Return the path of a list that is not finished."""
    return path.with_name(path.name + ".part")


def stamp(path: Path) -> Stamp:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def line(head: Head) -> bytes:
    return json.dumps(asdict(head), separators=(",", ":")).encode() + b"\n"


def read_head(line: bytes) -> Head | None:
    try:
        head = Head(**json.loads(line))
    except (ValueError, TypeError):
        return None
    head = replace(head, sections=tuple(head.sections))
    sound = isinstance(head.covered, int) and isinstance(head.samples, dict)
    sound = sound and isinstance(head.apart, list) and len(head.sections) in (0, len(SECTIONS))
    return head if head.format == FORMAT and sound else None


def head_of(path: Path) -> Head | None:
    """Return the head of a file, finished or not; None if it has none."""
    with path.open("rb") as file:
        return read_head(file.readline())


def load(path: Path, stamp: Stamp) -> Loaded | None:
    """Read a file; None if it is damaged."""
    with path.open("rb") as file:
        line = file.readline()
        head = read_head(line) if line.endswith(b"\n") else None
        if head is None or len(line) + head.size != stamp[1]:
            return None
        words = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with memoryview(words) as whole, whole[len(line) :] as body:
        sound = zlib.crc32(body) == head.checksum
    return Loaded(stamp, head, words, len(line)) if sound else None


def sections(loaded: Loaded) -> Sections:
    bounds = map(loaded.section, range(len(SECTIONS)))
    return tuple(loaded.words[begin:end] for begin, end in bounds)


def words_with(
    loaded: Loaded, part: str, *, starts: bool = False, ends: bool = False
) -> Iterator[str]:
    """Yield the words that contain a part, or start or end with it."""
    wanted = b"\n" * starts + part.encode("utf-8", "replace") + b"\n" * ends
    for place in _sections_for(part):
        begin, end = loaded.section(place)
        yield from _lines_with(loaded.words, begin - 1, end, wanted)


def _lines_with(words: mmap.mmap, begin: int, end: int, wanted: bytes) -> Iterator[str]:
    """Yield the lines with some bytes; those may begin or end with the line feeds around."""
    place = begin
    while (place := words.find(wanted, place, end)) >= 0:
        first = words.rfind(b"\n", begin, place + 1) + 1
        last = words.find(b"\n", first, end)
        yield words[first:last].decode("utf-8", "replace")
        place = last


def _sections_for(part: str) -> tuple[int, ...]:
    """Return the sections with words that a part can be in."""
    if not part.isascii():
        return (2,) if _PLAIN.search(part) else (2, 3)
    return (0, 1, 2) if _NUMBER.fullmatch(part) else (1, 2)


def block(step: Sections, last: str | None) -> bytes:
    """Return the words of a step with a line that tells their sizes and where to go on."""
    told = json.dumps({"sizes": [len(words) for words in step], "last": last})
    return told.encode() + b"\n" + b"".join(step)


def blocks(part: Path) -> Iterator[tuple[Sections, str | None]]:
    """Yield the steps that were completed, each with where to go on."""
    with part.open("r+b") as file:
        file.readline()
        while True:
            whole = file.tell()
            line = file.readline()
            try:
                told = json.loads(line)
                step = tuple(file.read(size) for size in told["sizes"])
                complete = [len(words) for words in step] == told["sizes"]
                last = told["last"]
            except (ValueError, KeyError, TypeError):
                complete = False
            if not complete or len(step) != len(SECTIONS):
                file.truncate(whole)
                return
            yield step, last


def joined(steps: Iterable[Sections]) -> Sections:
    return tuple(b"".join(each) for each in zip(*steps, strict=True)) or NO_WORDS


def write(path: Path, head: Head, words: Sections) -> None:
    """Put a new file in the place of the old one, at once."""
    checksum = 0
    for section in words:
        checksum = zlib.crc32(section, checksum)
    fresh = path.with_name(path.name + ".new")
    create(fresh)
    with fresh.open("wb") as file:
        file.write(line(replace(head, sections=tuple(map(len, words)), checksum=checksum)))
        for section in words:
            file.write(section)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def former(path: Path) -> list[Path]:
    """Return the files of the list as it was made before."""
    name = path.name.removesuffix(".words")
    return [path.with_name(f"{name}.vocabulary{log}") for log in ("", "-wal", "-shm")]


def erase(path: Path) -> None:
    """Overwrite and delete a list, finished or not."""
    for each in (path, part(path), path.with_name(path.name + ".new"), *former(path)):
        if each.is_file():
            size = each.stat().st_size
            with each.open("r+b") as file:
                file.write(b"\0" * size)
                file.flush()
                os.fsync(file.fileno())
            each.unlink()
