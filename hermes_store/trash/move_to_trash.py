"""Move sessions from the session database to the trash without ever losing one.

First complete copies are committed to the sidecar, then the sessions are deleted, conversation by
conversation. Each session is compared with its copy again inside the transaction that deletes it.
A crash in between leaves both the session and its copy, never neither and never half of one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_store.engines.base import Database, Progress, Sidecar, Transaction
from hermes_store.records.trash import Deleted
from hermes_store.sessions import session_files
from hermes_store.trash import delete_from_database, session_copy, sidecar_tables
from hermes_store.trash.delete_from_database import Group
from hermes_store.trash.sidecar_tables import Entry, State

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
        sidecar: Sidecar,
        *,
        keep: Keep,
        folder: Path | None = None,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._db = db
        self._sidecar = sidecar
        self._keep = keep
        self._folder = folder
        self._progress = progress
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._children: dict[str, set[str]] = {}
        self._moved: set[str] = set()
        self._again: list[Group] = []
        self._gone: set[str] = set()
        self._going: set[str] = set()
        self._leased = 0.0

    def run(self, session_ids: Sequence[str], reason: str) -> Deleted:
        """Move sessions to a new batch, except conversations that must stay.

        A conversation that changed between copy and deletion is copied again; after the third
        time it is left alone.
        """
        with self._db.read() as source:
            left = delete_from_database.conversations(source, session_ids)
        with self._sidecar.write() as tx:
            folder = None if self._folder is None else str(self._folder.absolute())
            batch_id = sidecar_tables.add_batch(tx, self._clock(), reason, folder, LEASE)
        try:
            for _ in range(TRIES):
                if not left:
                    break
                self._copy(batch_id, [each for group in left for each in group])
                self._delete(batch_id, left)
                left, self._again = self._again, []
        finally:
            self._finish(batch_id)
        gone = tuple(each for each in dict.fromkeys(session_ids) if each in self._gone)
        messages = sum(self._entries[each].messages for each in gone)
        return Deleted(gone, messages, batch_id if gone else None)

    # -- copying ---------------------------------------------------------------------------

    def _copy(self, batch_id: int, session_ids: Sequence[str]) -> None:
        left = list(reversed(session_ids))
        while left:
            with self._sidecar.write() as tx, self._db.read() as source:
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
        header = session_copy.header(source, session_id, [path.name for path in listed])
        seen = session_copy.fingerprint(source, session_id)
        if header is None or seen is None:
            return 0
        entry = sidecar_tables.add_entry(tx, source, batch_id, header, seen)
        self._entries[session_id] = entry
        self._children[session_id] = {each for each, _ in session_copy.children(source, session_id)}
        return entry.bytes

    # -- deleting --------------------------------------------------------------------------

    def _delete(self, batch_id: int, groups: Sequence[Group]) -> None:
        self._leased = self._clock()
        total = len(self._gone) + sum(len(group) for group in groups)
        for step in delete_from_database.delete_in_steps(self._db.write, groups, self._stays):
            self._gone.update(step.session_ids)
            self._tell("Deleting", len(self._gone), total)
            if self._clock() - self._leased > LEASE / 4:
                self._leased = self._clock()
                with self._sidecar.write() as tx:
                    sidecar_tables.keep_busy(tx, batch_id, self._leased + LEASE)

    def _stays(self, tx: Transaction, group: Group) -> bool:
        """Decide, inside the transaction that would delete it, whether a group must stay."""
        if any(self._keep(tx, session_id) for session_id in group):
            return True
        if not all(self._is_copied(tx, session_id) for session_id in group):
            self._again.append(group)
            return True
        self._going.update(group)
        for session_id in group:
            self._moved |= self._children[session_id]
        return False

    def _is_copied(self, tx: Transaction, session_id: str) -> bool:
        entry = self._entries.get(session_id)
        if entry is None or session_copy.fingerprint(tx, session_id) != entry.fingerprint:
            return False
        # Tidying also takes the write lock of the session database, so a copy that exists
        # now stays until the surrounding transaction ends.
        with self._sidecar.read() as side:
            if side is None or not sidecar_tables.exists(side, entry.id, State.COPIED):
                return False
        now = {child for child, _ in session_copy.children(tx, session_id)}
        return now <= self._children[session_id] | self._moved

    # -- the end ---------------------------------------------------------------------------

    def _finish(self, batch_id: int) -> None:
        """Keep in the batch what was deleted here; drop the copies of what stayed or was gone.

        Of sessions in a transaction that failed, tidying knows best what has become of them.
        """
        with self._sidecar.write() as tx:
            mine = sidecar_tables.in_batch(tx, batch_id)
            gone = [entry.id for entry in mine if entry.session_id in self._gone]
            sidecar_tables.move(tx, gone, State.TRASHED)
            sidecar_tables.keep_busy(tx, batch_id, 0.0)
            # A copy that another process has settled may be the last one.
            needless = [
                entry.id
                for entry in mine
                if entry.state is State.COPIED and entry.session_id not in self._going
            ]
            sidecar_tables.drop(tx, needless, self._clock())

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
