"""The list of words: every word that occurs in a database, in one plain file beside it.

An FTS5 index cannot tell which of its words contain "conf" without reading all of itself. This
file can, in milliseconds: the words stand one below the other and are searched as bytes. It is a
cache. It holds no messages, can be deleted at any time, and searches work without it.

The first line says which messages the words come from: all up to an id. A search reads newer ones
itself. Words are never removed: one that no message contains any more finds nothing. Some messages
hold text that the index does not; the first line names them, and searches read those as well.

The words come out of the index in steps, which collect in a second file, so that a list that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import apsw
from filelock import FileLock, Timeout

from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite.create_file import create
from hermes_store.engines.sqlite.files_seen import beside, real_path
from hermes_store.engines.sqlite.fulltext import WORDS, indexed_text
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import StoreError
from hermes_store.records.stored_values import number, text

FORMAT = 1
STEP_WORDS = 40_000
STEP_MESSAGES = 1_000
MANY_MESSAGES = 20_000
"""The words of up to this many new messages are added; for more, the list is made anew."""
MUCH_ADDED = 4
"""The list is made anew when a quarter of it has been added, mostly words that were there."""
SAMPLES = 8
INDEXED_OF_TOOLS = 8_192
"""Characters of a tool's output that the column layout indexes."""
# FTS5 cuts words off at 32,768 bytes.
_CUT_OFF = re.compile(rb"[^\n]{32760,}")

Snapshots = Callable[[], AbstractContextManager[Transaction]]
Progress = Callable[[int, int], None]
Stamp = tuple[int, int, int]


def path_for(database: Path) -> Path:
    """Return the path of a database's list of words."""
    return beside(real_path(database), ".words")


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
    made: int = 0
    """Bytes of words that were listed at once; what follows was added."""
    size: int = 0
    checksum: int = 0


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A file that was read and found sound."""

    stamp: Stamp
    head: Head
    words: mmap.mmap
    start: int
    """The place of the line feed before the first word."""


class WordList:
    """The words of one database. Safe to share between threads."""

    def __init__(self, database: Path) -> None:
        self.path = path_for(database)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._damaged: Stamp | None = None

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._loaded = None

    # -- looking up ------------------------------------------------------------------------

    def _current(self) -> _Loaded | None:
        """Return the file as it is now; None if there is none or it is damaged."""
        with self._lock:
            try:
                stamp = _stamp(self.path)
                if self._loaded is None or self._loaded.stamp != stamp:
                    self._loaded = None if self._damaged == stamp else _load(self.path, stamp)
                    self._damaged = None if self._loaded is not None else stamp
            except OSError:
                self._loaded = None
            return self._loaded

    def covered(self, tx: Transaction) -> int:
        """Return the highest message id whose words are listed; 0 without a usable list."""
        loaded = self._current()
        if loaded is None or not can_be_made(tx) or not _belongs(loaded.head, tx):
            return 0
        return loaded.head.covered

    def apart(self) -> list[int]:
        """Return the messages with text that the index does not hold."""
        loaded = self._current()
        return loaded.head.apart if loaded is not None else []

    def matching(
        self, part: str, limit: int, *, starts: bool = False, ends: bool = False
    ) -> list[str]:
        """Return words that contain a part, or that start or end with it, up to a limit."""
        loaded = self._current()
        if loaded is None or not part:
            return []
        wanted = b"\n" * starts + part.encode("utf-8", "replace") + b"\n" * ends
        found: dict[str, None] = {}
        for word in _lines_with(loaded, wanted):
            found[word] = None
            if len(found) >= limit:
                break
        return list(found)

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three letters in a row with a word."""
        loaded = self._current()
        found: dict[str, None] = {}
        for place in range(len(word) - 2 if loaded is not None else 0):
            assert loaded is not None
            for seen, term in enumerate(_lines_with(loaded, word[place : place + 3].encode())):
                if abs(len(term) - len(word)) <= 2:
                    found[term] = None
                if seen >= limit:
                    break
        return list(found)

    # -- making ----------------------------------------------------------------------------

    def prepare(
        self,
        read: Snapshots,
        *,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Make the list, or add the words of new messages; return whether it is complete.

        Ends early when `stopped` says so, and goes on from there the next time.
        """
        with read() as tx:
            if not can_be_made(tx):
                return False
            covered = self.covered(tx)
            top = tx.value("SELECT MAX(id) FROM messages") or 0
        if covered >= top:
            return True
        try:
            with self._alone():
                if covered and top - covered <= MANY_MESSAGES and not self._much_added():
                    return self._add(read, covered, top, stopped)
                return self._make(read, progress, stopped)
        except (OSError, StoreError, Timeout):
            return False  # nowhere to put it, or another process is making it

    def _alone(self) -> FileLock:
        """Let one process at a time write; Timeout for the others."""
        return FileLock(f"{self.path}.lock", timeout=0, mode=0o600)

    def _much_added(self) -> bool:
        loaded = self._current()
        if loaded is None:
            return True
        head = loaded.head
        return (head.size - head.made) * MUCH_ADDED > head.made

    def _make(
        self, read: Snapshots, progress: Progress | None, stopped: Callable[[], bool]
    ) -> bool:
        part = _part(self.path)
        create(part)
        with read() as tx:
            head, last = _unfinished(part, tx)
            if head is None:
                top = tx.value("SELECT MAX(id) FROM messages") or 0
                head = Head(FORMAT, top, _samples(tx, top), _apart(tx))
                part.write_bytes(_line(head))
        following: str | None = last
        while following is not None:
            if stopped():
                return False
            with read() as tx:
                words, following = _words_after(tx.connection, "main", WORDS, following)
            with part.open("ab") as collected:
                collected.write(words)
            if progress is not None:
                progress(_share(following), 100)
        with part.open("rb") as collected:
            collected.readline()
            body = collected.read()
        with read() as tx:
            cut = _having(tx, _CUT_OFF.findall(body), head.covered)
        self._write(replace(head, apart=sorted({*head.apart, *cut}), made=len(body)), body)
        part.unlink()
        return True

    def _add(self, read: Snapshots, low: int, high: int, stopped: Callable[[], bool]) -> bool:
        """Add the words of the messages between two ids."""
        added: list[bytes] = []
        apart: set[int] = set()
        while low < high and not stopped():
            with read() as tx:
                bounds = (low, high)
                rows = "SELECT id FROM messages WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
                ids = [row[0] for row in tx.rows(rows, (*bounds, STEP_MESSAGES))]
                step = ids[-1] if ids else high
                added.append(_words_between(tx.connection, low, step))
                apart.update(_apart(tx, low))
                low = step
        with read() as tx:
            loaded = self._current()
            if loaded is None or not _belongs(loaded.head, tx):
                return False
            cut = _having(tx, _CUT_OFF.findall(b"".join(added)), low)
            head = replace(
                loaded.head,
                covered=low,
                samples=_samples(tx, low),
                apart=sorted({*loaded.head.apart, *apart, *cut}),
            )
        self._write(head, loaded.words[loaded.start + 1 :] + b"".join(added))
        return low >= high

    def learn(self, tx: Transaction, session_id: str) -> None:
        """Note a session that was restored with its old ids: its words may not be listed."""
        loaded = self._current()
        if loaded is None:
            return
        ids = tx.rows(
            "SELECT id FROM messages WHERE session_id = ? AND id <= ?",
            (session_id, loaded.head.covered),
        )
        apart = sorted({*loaded.head.apart, *(message_id for (message_id,) in ids)})
        try:
            with self._alone():
                self._write(replace(loaded.head, apart=apart), loaded.words[loaded.start + 1 :])
        except (OSError, StoreError, Timeout):
            self.forget()  # better no list than one that misses words

    def _write(self, head: Head, body: bytes) -> None:
        """Put a new file in the place of the old one, at once."""
        head = replace(head, size=len(body), checksum=zlib.crc32(body))
        fresh = self.path.with_name(self.path.name + ".new")
        create(fresh)
        with fresh.open("wb") as file:
            file.write(_line(head))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)

    def forget(self) -> bool:
        """Erase the list, because some of its words must not be found; False if it failed."""
        self.close()
        try:
            for path in (self.path, _part(self.path), self.path.with_name(self.path.name + ".new")):
                if path.exists():
                    size = path.stat().st_size
                    with path.open("r+b") as file:
                        file.write(b"\0" * size)
                        file.flush()
                        os.fsync(file.fileno())
                    path.unlink()
        except OSError:
            return False
        return True


# -- the file ----------------------------------------------------------------------------------


def _part(path: Path) -> Path:
    """Return the path of a list that is not finished."""
    return path.with_name(path.name + ".part")


def _stamp(path: Path) -> Stamp:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _line(head: Head) -> bytes:
    return json.dumps(asdict(head), separators=(",", ":")).encode() + b"\n"


def _read_head(line: bytes) -> Head | None:
    try:
        head = Head(**json.loads(line))
    except (ValueError, TypeError):
        return None
    sound = isinstance(head.covered, int) and isinstance(head.samples, dict)
    return head if head.format == FORMAT and sound and isinstance(head.apart, list) else None


def _load(path: Path, stamp: Stamp) -> _Loaded | None:
    """Read a file; None if it is damaged."""
    with path.open("rb") as file:
        line = file.readline()
        head = _read_head(line) if line.endswith(b"\n") else None
        if head is None or len(line) + head.size != stamp[1]:
            return None
        words = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with memoryview(words) as whole, whole[len(line) :] as body:
        sound = zlib.crc32(body) == head.checksum
    return _Loaded(stamp, head, words, len(line) - 1) if sound else None


def _lines_with(loaded: _Loaded, wanted: bytes) -> Iterator[str]:
    """Yield the lines that contain some bytes; those may begin or end with a line feed."""
    words, start = loaded.words, loaded.start
    place = start
    while (place := words.find(wanted, place)) >= 0:
        first = words.rfind(b"\n", start, place + 1) + 1
        last = words.find(b"\n", first)
        yield words[first:last].decode("utf-8", "replace")
        place = last


# -- the words ---------------------------------------------------------------------------------


def can_be_made(tx: Transaction) -> bool:
    """Tell whether an index holds the words of all messages, and ids are assigned only once."""
    return (
        tx.caps.words is not FullText.NONE
        and tx.caps.holds_all_text
        and tx.caps.unindexed is None
        and "sqlite_sequence" in tx.caps.tables
    )


def _words_after(
    con: apsw.Connection, schema: str, table: str, last: str
) -> tuple[bytes, str | None]:
    """Return the next words of an index, a line for each, and the last one if more may follow."""
    name = f"words_of_{table}"
    con.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab({schema}, {table}, row)"
    )
    # One value instead of a row per word: SQLite does it all without holding up other threads.
    joined, number, final = con.execute(
        "SELECT group_concat(term, char(10)), COUNT(*), MAX(term) FROM "
        f"(SELECT term FROM temp.{name} WHERE term > ? ORDER BY term LIMIT {STEP_WORDS})",
        (last,),
    ).get
    words = f"{joined}\n".encode("utf-8", "replace") if joined else b""
    return words, final if number == STEP_WORDS else None


def _words_between(con: apsw.Connection, low: int, high: int) -> bytes:
    """Return the words of the messages between two ids, split by SQLite."""
    con.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.fresh USING fts5(content, content='')")
    con.execute("INSERT INTO temp.fresh(fresh) VALUES('delete-all')")
    con.execute(
        f"INSERT INTO temp.fresh(rowid, content) SELECT id, {indexed_text()} FROM messages "
        "WHERE id > ? AND id <= ?",
        (low, high),
    )
    found: list[bytes] = []
    last: str | None = ""
    while last is not None:
        words, last = _words_after(con, "temp", "fresh", last)
        found.append(words)
    con.execute("INSERT INTO temp.fresh(fresh) VALUES('delete-all')")
    return b"".join(found)


def _apart(tx: Transaction, after: int = 0) -> list[int]:
    """Return the messages with text that the indexes do not hold.

    Trigram indexes of other programs end at NUL, with which multimodal content begins; the
    column layout indexes only the beginning of what a tool says.
    """
    if tx.caps.words is FullText.COLUMNS:
        left_out = f"role = 'tool' AND octet_length(content) > {INDEXED_OF_TOOLS}"
    elif tx.caps.trigram is FullText.INLINE:
        left_out = f"instr({indexed_text()}, char(0))"
    else:
        return []
    found = tx.rows(f"SELECT id FROM messages WHERE id > ? AND {left_out}", (after,))
    return [message_id for (message_id,) in found]


def _having(tx: Transaction, words: list[bytes], high: int) -> list[int]:
    """Return the messages with words that FTS5 has cut off."""
    return [
        message_id
        for word in words
        for (message_id,) in tx.rows(
            f"SELECT rowid FROM {WORDS} WHERE {WORDS} MATCH ? AND rowid <= ?",
            (f'"{word.decode("utf-8", "replace")}"', high),
        )
    ]


def _share(last: str | None) -> int:
    """Return about how many per cent of all words come before one; digits are a quarter."""
    if last is None:
        return 100
    first, second = ord(last[0]), ord(last[1]) if len(last) > 1 else 0
    if first < ord("a"):
        return max(0, min(24, (first - ord("0")) * 5 // 2))
    place = (first - ord("a")) * 26 + max(0, min(25, second - ord("a")))
    return min(99, 25 + place * 70 // 676)


def _unfinished(part: Path, tx: Transaction) -> tuple[Head | None, str]:
    """Return the head and the last word of a list that was interrupted, if it can go on."""
    with part.open("r+b") as file:
        head = _read_head(file.readline())
        start = file.tell()
        words = file.read()
        if head is None or not _belongs(head, tx) or b"\0" in words:
            return None, ""
        whole = words.rfind(b"\n") + 1
        file.truncate(start + whole)
    lines = words[:whole].rsplit(b"\n", 2)
    return head, lines[-2].decode("utf-8", "replace") if len(lines) > 1 else ""


# -- which database it is ----------------------------------------------------------------------


def _identity(tx: Transaction, message_id: int) -> str | None:
    """Return what tells the message with an id from that of another database."""
    row = tx.one("SELECT session_id, timestamp FROM messages WHERE id = ?", (message_id,))
    return None if row is None else f"{text(row[0])} {row[1]}"


def _samples(tx: Transaction, top: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in range(SAMPLES, 0, -1):
        near = tx.value("SELECT MAX(id) FROM messages WHERE id <= ?", (top * place // SAMPLES,))
        known = None if near is None else _identity(tx, near)
        if known is not None:
            found[str(near)] = known
    return found


def _belongs(head: Head, tx: Transaction) -> bool:
    """Tell whether a list was made from this database, and from no later state of it.

    Ids are assigned once, so a database that has assigned fewer is an older copy.
    """
    given = number(tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'messages'"))
    if given is not None and given < head.covered:
        return False
    found = [(known, _identity(tx, int(message_id))) for message_id, known in head.samples.items()]
    left = [known == now for known, now in found if now is not None]
    return all(left) and (bool(left) or not head.samples)
