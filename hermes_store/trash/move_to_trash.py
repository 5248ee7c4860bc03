"""Move sessions from the session database to the trash without ever losing one.

First complete copies are committed to the sidecar, then the sessions are deleted. Each one is
compared with its copy again inside the transaction that deletes it. A crash in between leaves
both the session and its copy, never neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_store.engines.base import Progress
from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.sessions import lineage, messages, session_files
from hermes_store.trash import delete_from_database, session_copy, sidecar_tables
from hermes_store.trash.session_copy import PutBack
from hermes_store.trash.sidecar_tables import Entry

LEASE = 60.0
"""Seconds for which an unfinished deletion counts as running."""
TRIES = 3
GROUP_SESSIONS = 200
GROUP_BYTES = 8_000_000
"""The most that one transaction copies: few disk syncs, and no long waits for other writers."""

Keep = Callable[[Transaction, str], bool]


class Move:
    """One deletion, from the first copy to the last session."""

    def __init__(
        self,
        db: Database,
        companion: Sidecar,
        *,
        keep: Keep,
        folder: Path | None = None,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._db = db
        self._companion = companion
        self._keep = keep
        self._folder = folder
        self._progress = progress
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._newest: dict[str, int] = {}
        self._children: dict[str, set[str]] = {}
        self._moved: set[str] = set()
        self._begun: set[str] = set()
        self._again: list[str] = []
        self._gone: set[str] = set()
        self._leased = 0.0

    def run(self, session_ids: Sequence[str], reason: str) -> int:
        """Move sessions to a new batch, except those that must stay, and return its id.

        A session that changed between copy and deletion is copied again; after the third
        time it is left alone.
        """
        left = self._leaves_first(session_ids)
        with self._companion.write() as tx:
            folder = None if self._folder is None else str(self._folder.absolute())
            batch_id = sidecar_tables.add_batch(tx, self._clock(), reason, folder, LEASE)
        try:
            for _ in range(TRIES):
                if not left:
                    break
                self._copy(batch_id, left)
                self._delete(batch_id, [each for each in left if each in self._entries])
                left, self._again = self._again, []
        finally:
            self._finish(batch_id)
        return batch_id

    def _leaves_first(self, session_ids: Sequence[str]) -> list[str]:
        """Order sessions so that deleting a parent never changes a child still to be deleted."""
        with self._db.read() as tx:
            depth = {each: len(lineage.path_from_root(tx, each)) for each in session_ids}
        return sorted(depth, key=lambda each: -depth[each])

    # -- copying ---------------------------------------------------------------------------

    def _copy(self, batch_id: int, session_ids: Sequence[str]) -> None:
        left = list(reversed(session_ids))
        while left:
            with self._companion.write() as tx, self._db.read() as source:
                size = 0
                first = len(left)
                while left and size < GROUP_BYTES and first - len(left) < GROUP_SESSIONS:
                    size += self._copy_one(source, tx, batch_id, left.pop())
                sidecar_tables.keep_busy(tx, batch_id, self._clock() + LEASE)
            self._tell("Copying to the trash", len(session_ids) - len(left), len(session_ids))

    def _copy_one(
        self, source: Transaction, tx: Transaction, batch_id: int, session_id: str
    ) -> int:
        earlier = self._entries.pop(session_id, None)
        if earlier is not None:
            sidecar_tables.drop(tx, [earlier.id], 0.0)
        listed = (
            () if self._folder is None else session_files.session_files(self._folder, session_id)
        )
        try:
            header = session_copy.header(source, session_id, [path.name for path in listed])
            seen = session_copy.fingerprint(source, session_id)
            if header is None or seen is None:
                return 0
            entry = sidecar_tables.add_entry(tx, source, batch_id, header, seen)
        except UnicodeDecodeError as error:
            raise DatabaseCorrupt(
                f"Session {session_id} contains damaged text and cannot be copied to the "
                f"trash ({error}). It was not deleted; you can still delete it permanently."
            ) from error
        self._entries[session_id] = entry
        self._children[session_id] = {each for each, _ in session_copy.children(source, session_id)}
        self._newest[session_id] = messages.newest_id(source, session_id)
        return entry.bytes

    # -- deleting --------------------------------------------------------------------------

    def _delete(self, batch_id: int, session_ids: Sequence[str]) -> None:
        self._leased = self._clock()
        for step in delete_from_database.delete_in_steps(self._db.write, session_ids, self._stays):
            self._gone.update(step.session_ids)
            self._tell("Deleting", len(self._gone), len(session_ids))
            if self._clock() - self._leased > LEASE / 4:
                self._leased = self._clock()
                with self._companion.write() as tx:
                    sidecar_tables.keep_busy(tx, batch_id, self._leased + LEASE)

    def _stays(self, tx: Transaction, session_id: str) -> bool:
        """Decide, inside the transaction that would delete it, whether a session must stay."""
        if session_id in self._begun:
            # A long session is deleted in several steps; in between another process may have
            # resumed it, or restored it from the trash and dropped the copy.
            if not self._has_copy(session_id):
                self._begun.discard(session_id)
                return True
            newest = messages.newest_id(tx, session_id)
            if newest <= self._newest[session_id] and not self._keep(tx, session_id):
                return False
            self._heal(tx, session_id)
            return True
        if self._keep(tx, session_id):
            return True
        if not self._is_copied(tx, session_id):
            self._again.append(session_id)
            return True
        self._begun.add(session_id)
        self._moved |= self._children[session_id]
        return False

    def _is_copied(self, tx: Transaction, session_id: str) -> bool:
        entry = self._entries[session_id]
        if session_copy.fingerprint(tx, session_id) != entry.fingerprint:
            return False
        if not self._has_copy(session_id):
            return False
        now = {child for child, _ in session_copy.children(tx, session_id)}
        return now <= self._children[session_id] | self._moved

    def _has_copy(self, session_id: str) -> bool:
        # Tidying also takes the write lock of the session database, so a copy that exists
        # now stays until the surrounding transaction ends.
        with self._companion.read() as side:
            return side is not None and sidecar_tables.exists(side, self._entries[session_id].id)

    def _heal(self, tx: Transaction, session_id: str) -> None:
        """Put back the deleted messages of a session that has to stay."""
        entry, done = self._entries[session_id], PutBack()
        with self._companion.read() as side:
            assert side is not None
            session_copy.put_messages(
                tx, sidecar_tables.header_of(side, entry), sidecar_tables.rows_of(side, entry), done
            )
        tx.run(
            "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ? WHERE id = ?",
            (done.messages, session_id),
        )
        self._begun.discard(session_id)

    # -- the end ---------------------------------------------------------------------------

    def _finish(self, batch_id: int) -> None:
        """Keep in the batch what was deleted, and after a failure what may have been."""
        touched = self._gone | self._begun
        with self._companion.write() as tx:
            gone = [e.id for e in self._entries.values() if e.session_id in self._gone]
            stayed = [e.id for e in self._entries.values() if e.session_id not in touched]
            sidecar_tables.settle(tx, gone)
            sidecar_tables.keep_busy(tx, batch_id, 0.0)
            # A copy that another process has settled may be the last one.
            open_still = {
                entry.id for entry in sidecar_tables.in_batch(tx, batch_id) if not entry.settled
            }
            sidecar_tables.drop(tx, open_still.intersection(stayed), self._clock())

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
