"""The part of `Store` that deletes, brings back, marks and prunes.

Deleting goes through the trash unless it is asked to be permanent. `SessionDB`'s own
`delete_session` and `prune_sessions` do not: programs written for Hermes expect them to be final.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_store import deletion, files, sessions
from hermes_store.database.connection import Database, Progress
from hermes_store.database.transaction import Transaction
from hermes_store.models import Deleted

if TYPE_CHECKING:
    from hermes_store.companion import Companion
    from hermes_store.marks import Marks
    from hermes_store.removal import Keep
    from hermes_store.search.vocabulary import Vocabulary
    from hermes_store.searches import Searches
    from hermes_store.trash import Trash
    from hermes_store.upkeep import (
        PruneFilter,
        PrunePlan,
        Purged,
        RestoreReport,
        SavedSearch,
        SessionMarks,
        TrashBatch,
        TrashedSession,
    )


class Keeper:
    """Trash, marks and pruning of one database file, with its companion beside it."""

    def __init__(self, db: Database) -> None:
        self._db = db

    @property
    def database(self) -> Database:
        """The file itself, for the services that are built on a store."""
        return self._db

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that occur in the file, for the services that search."""
        return self._vocabulary

    # Loaded when used: a list should not wait for the modules of search and trash.

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        from hermes_store.search.vocabulary import Vocabulary

        return Vocabulary(self._db.path)

    @cached_property
    def _companion(self) -> Companion:
        from hermes_store.companion import Companion

        return Companion(self._db.path, read_only=self._db.read_only)

    @cached_property
    def _marks(self) -> Marks:
        from hermes_store.marks import Marks

        return Marks(self._db, self._companion)

    @cached_property
    def _trash(self) -> Trash:
        from hermes_store.trash import Trash

        return Trash(self._db, self._companion, learn=self._vocabulary.learn)

    @cached_property
    def _searches(self) -> Searches:
        from hermes_store.searches import Searches

        return Searches(self._companion)

    def _close_files(self) -> None:
        """Close the files beside the database, those that were opened at all."""
        for name in ("_vocabulary", "_companion"):
            if name in self.__dict__:
                self.__dict__[name].close()

    # -- deleting --------------------------------------------------------------------------

    def conversation_members(self, session_id: str) -> tuple[str, ...]:
        """Return what deleting a conversation removes: its chain and its sub-agents."""
        with self._db.read() as tx:
            sessions.get(tx, session_id)
            return deletion.conversation_members(tx, session_id)

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
        members = self.conversation_members(session_id)
        return self.delete_sessions(members, sessions_dir, permanently=permanently, force=force)

    def delete_sessions(
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

        Their transcript files in `sessions_dir` go with them, from the trash when it is emptied.
        """
        if not permanently:
            batch = self._trash.delete(
                session_ids,
                reason=reason,
                force=force,
                sessions_dir=sessions_dir,
                progress=progress,
            )
            return _as_deleted(batch)
        if not force:
            deletion.refuse_in_use(self._db.read, session_ids, time.time())
        return self._delete_for_good(
            session_ids, sessions_dir, lambda tx, each: not force and _in_use(tx, each)
        )

    def _delete_for_good(
        self, session_ids: Sequence[str], sessions_dir: Path | None, unless: Keep
    ) -> Deleted:
        steps = deletion.delete_in_steps(self._db.write, session_ids, unless)
        deleted = deletion.total(steps)
        files.remove_session_files(sessions_dir, deleted.session_ids)
        if deleted.session_ids and self._companion.path.exists():
            from hermes_store import marks

            with self._companion.write() as side:
                marks.forget(side, deleted.session_ids)
        return deleted

    # -- pruning ---------------------------------------------------------------------------

    def plan_prune(self, chosen: PruneFilter | None = None, now: float | None = None) -> PrunePlan:
        """Return what a filter would prune, and what it would spare and why; change nothing."""
        from hermes_store import prune
        from hermes_store.upkeep import PruneFilter

        moment = time.time() if now is None else now
        with self._db.read() as tx:
            return prune.plan(tx, chosen or PruneFilter(), moment, self._marks)

    def prune(
        self,
        plan: PrunePlan,
        sessions_dir: Path | None = None,
        *,
        permanently: bool = False,
        progress: Progress | None = None,
    ) -> Deleted:
        """Delete what was planned, except what was taken up since."""
        from hermes_store import prune

        changed = prune.changed_since(plan)
        if permanently:
            return self._delete_for_good(
                plan.session_ids,
                sessions_dir,
                lambda tx, each: _in_use(tx, each) or changed(tx, each),
            )
        batch = self._trash.sweep(
            plan.session_ids,
            reason="pruned",
            unless=changed,
            sessions_dir=sessions_dir,
            progress=progress,
        )
        return _as_deleted(batch)

    # -- trash -----------------------------------------------------------------------------

    def trash(self) -> tuple[TrashBatch, ...]:
        """Return what is in the trash, the latest deletion first."""
        return self._trash.list()

    def trashed_sessions(self, batch_id: int) -> tuple[TrashedSession, ...]:
        """Return the sessions of one batch in the trash."""
        return self._trash.sessions(batch_id)

    def trash_size(self) -> int:
        """Return how many bytes the trash takes."""
        return self._trash.size()

    def restore(self, what: int | str | None = None) -> RestoreReport:
        """Bring back a batch (by number), a session (by id, its beginning or title) or, with
        None, what was deleted last.
        """
        return self._trash.restore(what)

    def empty_trash(
        self, older_than_days: float | None = None, *, batch_id: int | None = None
    ) -> Purged:
        """Remove for good what is in the trash: all, one batch, or what is older."""
        return self._trash.empty(older_than_days, batch_id=batch_id)

    # -- marks -----------------------------------------------------------------------------

    def pin(self, session_id: str) -> None:
        """Pin a conversation."""
        self._marks.pin(session_id)

    def unpin(self, session_id: str) -> None:
        """Take the pin off a conversation."""
        self._marks.unpin(session_id)

    def archive(self, session_id: str) -> None:
        """Hide a conversation from lists."""
        self._marks.archive(session_id)

    def unarchive(self, session_id: str) -> None:
        """Show a conversation in lists again."""
        self._marks.unarchive(session_id)

    def tag(self, session_id: str, *tags: str) -> tuple[str, ...]:
        """Give a conversation tags and return all it has now."""
        return self._marks.tag(session_id, *tags)

    def untag(self, session_id: str, *tags: str) -> tuple[str, ...]:
        """Take tags off a conversation, all if none is named; return what it has now."""
        return self._marks.untag(session_id, *tags)

    def marks(self, session_ids: Sequence[str]) -> dict[str, SessionMarks]:
        """Return the marks of the conversations that some sessions belong to, by session."""
        return self._marks.of(session_ids)

    def tags(self) -> tuple[tuple[str, int], ...]:
        """Return all tags with the number of conversations that have them."""
        return self._marks.tags()

    # -- searches that are kept ------------------------------------------------------------

    def saved_searches(self) -> tuple[SavedSearch, ...]:
        """Return the searches that were given a name."""
        return self._searches.saved()

    def save_search(self, name: str, text: str) -> SavedSearch:
        """Keep a search under a name; an earlier one of that name is replaced."""
        return self._searches.save(name, text)

    def forget_search(self, name: str) -> bool:
        """Remove a saved search; tell whether there was one."""
        return self._searches.forget(name)

    def search_history(self, limit: int = 100) -> tuple[str, ...]:
        """Return what was searched for, the latest first."""
        return self._searches.history(limit)

    def remember_search(self, text: str) -> None:
        """Add a search to the history."""
        self._searches.remember(text)

    def clear_search_history(self) -> None:
        """Forget what was searched for."""
        self._searches.clear_history()


def _in_use(tx: Transaction, session_id: str) -> bool:
    return deletion.in_use(tx, session_id, time.time()) is not None


def _as_deleted(batch: TrashBatch) -> Deleted:
    return Deleted(batch.session_ids, batch.messages, batch.id or None)
