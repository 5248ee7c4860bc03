"""The trash of a store: `store.trash`.

Deleting moves to trash unless `permanently` is set. `SessionDB.delete_session` and
`prune_sessions` always delete permanently, as programs written for Hermes expect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hermes_store.engines.base import Database, Progress, Sidecar, Transaction
from hermes_store.engines.sqlite import word_list
from hermes_store.engines.sqlite.erase import last_traces
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from hermes_store.errors import DatabaseError
from hermes_store.marks import marks
from hermes_store.records.trash import (
    Deleted,
    Purged,
    RestoreReport,
    TrashBatch,
    TrashedConversation,
    TrashedSession,
    Weight,
)
from hermes_store.sessions import in_use, lineage, session_files, session_rows
from hermes_store.trash import delete_from_database, sidecar_tables, trashed_conversations
from hermes_store.trash.copy_states import States
from hermes_store.trash.move_to_trash import Keep, Move
from hermes_store.trash.purge import purge
from hermes_store.trash.restore import Learn, Restore
from hermes_store.trash.sidecar_tables import Entry, State

DAY = 86_400


class Trash:
    """The trash of one session database. Safe to share between threads."""

    def __init__(
        self,
        db: Database,
        sidecar: Sidecar,
        *,
        learn: Learn | None = None,
        forget: Callable[[], bool] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`learn` is called for each restored session, `forget` after permanent deletions."""
        self._db = db
        self._sidecar = sidecar
        self._clock = clock
        self._forget = forget
        self._states = States(db, sidecar, clock)
        self._restore = Restore(db, sidecar, self._states, clock, learn)

    # -- deleting --------------------------------------------------------------------------

    def weigh(self, session_ids: Sequence[str], *, now: float) -> Weight:
        """Return the messages and bytes of sessions, and why one of them is in use."""
        with self._db.read() as tx:
            return delete_from_database.weigh(tx, session_ids, now)

    def delete_conversation(
        self,
        session_id: str,
        sessions_dir: Path | None = None,
        *,
        permanently: bool = False,
        force: bool = False,
    ) -> Deleted:
        """Delete the whole compression chain of a session and its sub-agents.

        SessionInUse if one of them is in use, unless `force`.
        """
        with self._db.read() as tx:
            session_rows.get(tx, session_id)
            members = lineage.members(tx, session_id)
        return self.delete(members, sessions_dir, permanently=permanently, force=force)

    def delete(
        self,
        session_ids: Sequence[str],
        sessions_dir: Path | None = None,
        *,
        permanently: bool = False,
        force: bool = False,
        reason: str = "deleted",
        progress: Progress | None = None,
    ) -> Deleted:
        """Delete exactly these sessions; children of others move up to their grandparents.

        SessionInUse if one is in use, unless `force`. The result leaves out sessions that were
        already gone or were resumed meanwhile. Transcript files in `sessions_dir` are deleted
        with permanently deleted sessions, otherwise when the trash is emptied.
        """
        if not permanently:
            self._sidecar.require_writable()
        if not force:
            in_use.refuse_in_use(self._db.read, session_ids, self._clock())
        keep = self._never if force else self._is_in_use
        if permanently:
            return self._delete_for_good(session_ids, sessions_dir, keep, progress)
        return self._move(session_ids, reason, keep, sessions_dir, progress)

    def sweep(
        self,
        session_ids: Sequence[str],
        sessions_dir: Path | None = None,
        *,
        reason: str,
        unless: Keep,
        permanently: bool = False,
        progress: Progress | None = None,
    ) -> Deleted:
        """Delete sessions, except those in use and those for which `unless` is true."""

        def keep(tx: Transaction, session_id: str) -> bool:
            return self._is_in_use(tx, session_id) or unless(tx, session_id)

        if permanently:
            return self._delete_for_good(session_ids, sessions_dir, keep, progress)
        self._sidecar.require_writable()
        return self._move(session_ids, reason, keep, sessions_dir, progress)

    def _delete_for_good(
        self,
        session_ids: Sequence[str],
        sessions_dir: Path | None,
        unless: Keep,
        progress: Progress | None,
    ) -> Deleted:
        self._states.tidy()
        with self._db.read() as tx:
            groups = delete_from_database.conversations(tx, session_ids)
        steps = delete_from_database.delete_in_steps(
            self._db.write, groups, lambda tx, group: any(unless(tx, each) for each in group)
        )
        done = [self._forget_deleted(step, sessions_dir) for step in steps]
        deleted = delete_from_database.total(done)
        if not deleted.session_ids:
            return deleted
        return replace(deleted, left=self._erase(progress))

    def _forget_deleted(self, step: Deleted, sessions_dir: Path | None) -> Deleted:
        """Remove files, marks and unfinished copies of sessions just permanently deleted."""
        session_files.remove_session_files(sessions_dir, step.session_ids)
        if step.session_ids and self._sidecar.exists:
            with self._sidecar.write() as side:
                marks.forget(side, step.session_ids)
                # Somebody else may have been about to move them to the trash.
                begun = (sidecar_tables.of_session(side, each) for each in step.session_ids)
                copies = [e.id for found in begun for e in found if e.state is State.COPIED]
                sidecar_tables.drop(side, copies, self._clock())
        return step

    @staticmethod
    def _never(_tx: Transaction, _session_id: str) -> bool:
        return False

    def _is_in_use(self, tx: Transaction, session_id: str) -> bool:
        return in_use.in_use(tx, session_id, self._clock()) is not None

    def _move(
        self,
        session_ids: Sequence[str],
        reason: str,
        keep: Keep,
        folder: Path | None,
        progress: Progress | None,
    ) -> Deleted:
        if not session_ids:
            return Deleted((), 0)
        self._states.tidy()
        move = Move(
            self._db,
            self._sidecar,
            keep=keep,
            folder=folder,
            progress=progress,
            clock=self._clock,
        )
        deleted = move.run(session_ids, reason)
        self._states.tidy()
        return deleted

    # -- reading ---------------------------------------------------------------------------

    def list(self) -> tuple[TrashBatch, ...]:
        """Return the batches in the trash, the latest deletion first."""
        hidden = self._states.tidy()
        return self._sidecar.ask(lambda tx: sidecar_tables.batches(tx, hidden), ())

    def sessions(self, batch_id: int) -> tuple[TrashedSession, ...]:
        """Return the sessions of a batch."""
        hidden = self._states.tidy()
        return self._sidecar.ask(lambda tx: sidecar_tables.sessions(tx, batch_id, hidden), ())

    def conversations(self) -> tuple[TrashedConversation, ...]:
        """Return the conversations in the trash, the latest deletion first."""
        hidden = self._states.tidy()
        return self._sidecar.ask(lambda tx: trashed_conversations.conversations(tx, hidden), ())

    def size(self) -> int:
        """Return the size of everything in the trash in bytes."""
        return sum(batch.bytes for batch in self.list())

    # -- restoring and emptying ------------------------------------------------------------

    def restore(self, what: int | str | None = None) -> RestoreReport:
        """Restore a batch (number), a session (id, prefix or title) or the latest batch (None).

        NotInTrash if there is none.
        """
        self._sidecar.require_writable()
        return self._restore.run(what)

    def restore_sessions(
        self, session_ids: Sequence[str], *, batch_id: int | None = None
    ) -> RestoreReport:
        """Restore exactly these sessions: their newest copies, or those of one batch.

        What else was deleted with them stays in the trash. NotInTrash if none of them is there.
        """
        self._sidecar.require_writable()
        return self._restore.run_sessions(session_ids, batch_id)

    def empty(
        self,
        older_than_days: float | None = None,
        *,
        batch_id: int | None = None,
        session_ids: Sequence[str] | None = None,
        reason: str | None = None,
        rewrite: bool = True,
        progress: Progress | None = None,
    ) -> Purged:
        """Permanently delete everything in the trash, one batch, or what is old enough.

        With `session_ids` only these, with a `reason` only what was deleted for it. Without
        `rewrite`, the last traces in free pages of the file stay until they are used again; nobody
        has to wait then.
        Also deletes the transcript files, and every trace in the database and beside it.
        """
        self._sidecar.require_writable()
        before = None if older_than_days is None else self._clock() - older_than_days * DAY
        chosen = {
            batch.id
            for batch in self.list()
            if batch_id in (None, batch.id)
            and reason in (None, batch.reason)
            and (before is None or 0 < batch.deleted_at < before)
        }
        if not chosen:
            return Purged()
        hidden = self._states.tidy()
        nothing: list[Entry] = []
        entries = self._sidecar.ask(sidecar_tables.all_entries, nothing)
        shown = [
            each
            for each in entries
            if each.batch_id in chosen
            and each.id not in hidden
            and (session_ids is None or each.session_id in session_ids)
        ]
        gone, stuck = purge(self._db, self._sidecar, shown, self._clock)
        left = [f"{path} could not be deleted; delete it by hand." for path in stuck]
        left += filter(None, (self._erase(progress) if rewrite else None,))
        return replace(sidecar_tables.purged(gone), left=" ".join(left) or None)

    def _erase(self, progress: Progress | None) -> str | None:
        """Remove the last traces of what was permanently deleted; return what is left of it.

        Never raises: the deletion itself is done.
        """
        try:
            if self._sidecar.exists:
                self._sidecar.give_space_back()
            forgotten = self._forget is None or self._forget()
            left = last_traces(self._db, progress)
        except DatabaseError as error:
            return f"Fragments of deleted text may remain in the files: {error}"
        if forgotten:
            return left
        words = "The list of words on the server may have deleted ones until this is done again."
        if isinstance(self._db, SqliteDatabase):
            words = f"{word_list.path_for(self._db.path)} may contain deleted words; delete it."
        return words if left is None else f"{left} {words}"
