"""The list of words: every word that occurs in a database, in one plain file beside it.

An FTS5 index cannot tell which of its words contain "conf" without reading all of itself. This
file can, in milliseconds: the words stand one below the other and are searched as bytes. It is a
cache. It holds no messages, can be deleted at any time, and searches work without it.

The first line says which messages the words come from: all up to an id. A search reads newer ones
itself. Words are never removed: one that no message contains any more finds nothing. Some messages
hold text that the index does not; the first line names them, and searches read those as well.

The words stand in four sections by their letters, so that most searches skip the largest: numbers
and hashes. They come out of the index in steps, which collect in a second file, so that a list
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite import word_list_file as file
from hermes_store.engines.sqlite import words_of_index as index
from hermes_store.engines.sqlite.create_file import create
from hermes_store.engines.sqlite.files_seen import beside, real_path
from hermes_store.engines.sqlite.fulltext import WORDS
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.engines.sqlite.word_list_file import Head, Loaded, Sections, Stamp
from hermes_store.errors import StoreError

STEP_MESSAGES = 1_000
SHORT_WORD = 5
MANY_MESSAGES = 20_000
"""The words of up to this many new messages are added; for more, the list is made anew."""
LEARN_SECONDS = 5.0
"""How long to wait for another process that is writing the list."""
MUCH_ADDED = 4
"""The list is made anew when a quarter of it has been added, mostly words that were there."""

Snapshots = Callable[[], AbstractContextManager[SqliteTransaction]]
Progress = Callable[[int, int], None]


def path_for(database: Path) -> Path:
    """Return the path of a database's list of words."""
    return beside(real_path(database), ".words")


class WordList:
    """The words of one database. Safe to share between threads."""

    def __init__(self, database: Path) -> None:
        self.path = path_for(database)
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._damaged: Stamp | None = None

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._loaded = None

    # -- looking up ------------------------------------------------------------------------

    def _current(self) -> Loaded | None:
        """Return the file as it is now; None if there is none or it is damaged."""
        with self._lock:
            try:
                stamp = file.stamp(self.path)
                if self._loaded is None or self._loaded.stamp != stamp:
                    self._loaded = None if self._damaged == stamp else file.load(self.path, stamp)
                    self._damaged = None if self._loaded is not None else stamp
            except OSError:
                self._loaded = None
            return self._loaded

    def covered(self, tx: SqliteTransaction) -> int:
        """Return the highest message id whose words are listed; 0 without a usable list."""
        loaded = self._current()
        if loaded is None or not index.can_be_made(tx) or not index.belongs(loaded.head, tx):
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
        found: dict[str, None] = {}
        for word in file.words_with(loaded, part, starts=starts, ends=ends):
            found[word] = None
            if len(found) >= limit:
                break
        return list(found)

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        """Return words of similar length that share three letters in a row with a word."""
        loaded = self._current()
        if loaded is None:
            return []
        places = range(len(word) - 2)
        streams = [file.words_with(loaded, word[place : place + 3]) for place in places]
        if len(word) <= SHORT_WORD:
            # One wrong letter in the middle leaves no three in a row.
            streams.append(file.words_with(loaded, word[:2], starts=True))
            streams.append(file.words_with(loaded, word[-2:], ends=True))
        near = (term for stream in streams for term in islice(stream, limit))
        return list(dict.fromkeys(term for term in near if abs(len(term) - len(word)) <= 2))

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
            if not index.can_be_made(tx):
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
        except (OSError, StoreError):
            return False  # nowhere to put it, or another process is making it

    @contextmanager
    def _alone(self, seconds: float = 0.0) -> Iterator[None]:
        """Let one process at a time write; BlockingIOError for the others."""
        # Loaded here because it takes as long as half of the search, which never writes.
        from filelock import FileLock, Timeout

        try:
            with FileLock(f"{self.path}.lock", timeout=seconds, mode=0o600):
                yield
        except Timeout as error:
            raise BlockingIOError(f"{self.path} is being written by another process") from error

    def _much_added(self) -> bool:
        loaded = self._current()
        if loaded is None:
            return True
        head = loaded.head
        return (head.size - head.made) * MUCH_ADDED > head.made

    def _make(
        self, read: Snapshots, progress: Progress | None, stopped: Callable[[], bool]
    ) -> bool:
        part = file.part(self.path)
        create(part)
        with read() as tx:
            head, last = _unfinished(part, tx)
            if head is None:
                top = tx.value("SELECT MAX(id) FROM messages") or 0
                head = Head(file.FORMAT, top, index.samples(tx, top), index.apart(tx))
                part.write_bytes(file.line(head))
        while last is not None:
            if stopped():
                return False
            with read() as tx:
                step, last = index.words_after(tx.connection, "main", WORDS, last)
            with part.open("ab") as collected:
                collected.write(file.block(step, last))
            if progress is not None:
                progress(index.share(last), 100)
        if file.head_of(part) != head:
            return False  # it was erased meanwhile
        # Step by step, because searching all bytes at once would hold up other threads.
        steps = [step for step, _ in file.blocks(part)]
        cut = [word for step in steps for word in index.cut_off(step)]
        sections = file.joined(steps)
        with read() as tx:
            apart = {*head.apart, *index.having(tx, cut, head.covered)}
        made = sum(map(len, sections))
        file.write(self.path, replace(head, apart=sorted(apart), made=made), sections)
        for done_with in (part, *file.former(self.path)):
            done_with.unlink(missing_ok=True)
        return True

    def _add(self, read: Snapshots, low: int, high: int, stopped: Callable[[], bool]) -> bool:
        """Add the words of the messages between two ids."""
        added: list[Sections] = []
        began = low
        while low < high and not stopped():
            with read() as tx:
                step = min(high, low + STEP_MESSAGES)
                added.append(index.words_between(tx.connection, low, step))
                low = step
        with read() as tx:
            loaded = self._current()
            if loaded is None or not index.belongs(loaded.head, tx):
                return False
            fresh = file.joined(added)
            cut = index.having(tx, index.cut_off(fresh), low)
            head = replace(
                loaded.head,
                covered=low,
                samples=index.samples(tx, low),
                apart=sorted({*loaded.head.apart, *index.apart(tx, began, low), *cut}),
            )
        file.write(self.path, head, file.joined([file.sections(loaded), fresh]))
        return low >= high

    def learn(self, tx: Transaction, session_id: str) -> None:
        """Note a session that was restored with its old ids: its words may not be listed."""
        try:
            with self._alone(LEARN_SECONDS):
                file.part(self.path).unlink(missing_ok=True)  # it may be past those words
                loaded = self._current()
                if loaded is None:
                    return
                ids = tx.rows(
                    "SELECT id FROM messages WHERE session_id = ? AND id <= ?",
                    (session_id, loaded.head.covered),
                )
                apart = sorted({*loaded.head.apart, *(message_id for (message_id,) in ids)})
                file.write(self.path, replace(loaded.head, apart=apart), file.sections(loaded))
        except (OSError, StoreError):
            self.forget()  # better no list than one that misses words

    def forget(self) -> bool:
        """Erase the list, because some of its words must not be found; False if it failed."""
        self.close()
        try:
            file.erase(self.path)
        except OSError:
            return False
        return True


def _unfinished(part: Path, tx: SqliteTransaction) -> tuple[Head | None, str | None]:
    """Return the head of a list that was interrupted, and where to go on, if it can."""
    head = file.head_of(part)
    if head is None or not index.belongs(head, tx):
        return None, ""
    reached: list[str | None] = [last for _, last in file.blocks(part)]
    return head, reached[-1] if reached else ""
