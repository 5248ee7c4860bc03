"""The trash: everything deleted can come back.

A deletion is a batch of complete copies in the companion. Looking at the trash also tidies it:
copies of sessions that are still there unchanged, left by a deletion or a restoring that was
broken off, are dropped. Transcript files stay where they are until the trash is emptied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_store import copies, deletion, marks, sessions, shelf
from hermes_store.companion import Companion
from hermes_store.copies import Header, PutBack
from hermes_store.database.connection import Database, Progress
from hermes_store.database.transaction import Transaction
from hermes_store.errors import DatabaseCorrupt, DatabaseError, NotInTrash, SessionInUse
from hermes_store.removal import Keep, Removal
from hermes_store.shelf import Entry
from hermes_store.upkeep import Purged, Remark, RestoreReport, TrashBatch, TrashedSession

DAY = 86_400
LEAVE_TOGETHER = 100
"""How many restored sessions leave the trash in one transaction."""

Learn = Callable[[Transaction, str], None]


@dataclass(frozen=True, slots=True)
class _Back:
    """A session that is back."""

    entry: Entry
    header: Header
    done: PutBack
    stood: bool
    """Whether it had not been gone altogether."""


class Trash:
    """The trash of one session database. Safe to share between threads."""

    def __init__(
        self,
        db: Database,
        companion: Companion,
        *,
        learn: Learn | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`learn` hears of each session that came back, once it is there."""
        self._db = db
        self._companion = companion
        self._learn = learn
        self._clock = clock

    # -- putting in ------------------------------------------------------------------------

    def delete(
        self,
        session_ids: Sequence[str],
        *,
        reason: str,
        force: bool = False,
        sessions_dir: Path | None = None,
        progress: Progress | None = None,
    ) -> TrashBatch:
        """Move sessions into the trash; SessionInUse if one is in use, unless `force`.

        Those that are gone already, or that somebody took up in the meantime, are not in the
        batch that is returned.
        """
        self._companion.require_writable()
        if not force:
            deletion.refuse_in_use(self._db.read, session_ids, self._clock())
        return self._move(session_ids, reason, self._guard(force), sessions_dir, progress)

    def sweep(
        self,
        session_ids: Sequence[str],
        *,
        reason: str,
        unless: Keep,
        sessions_dir: Path | None = None,
        progress: Progress | None = None,
    ) -> TrashBatch:
        """Move sessions into the trash, except those in use and those `unless` holds back."""
        self._companion.require_writable()
        guard = self._guard(False)
        return self._move(
            session_ids,
            reason,
            lambda tx, session_id: guard(tx, session_id) or unless(tx, session_id),
            sessions_dir,
            progress,
        )

    def _guard(self, force: bool) -> Keep:
        if force:
            return lambda _tx, _session_id: False
        return lambda tx, session_id: deletion.in_use(tx, session_id, self._clock()) is not None

    def _move(
        self,
        session_ids: Sequence[str],
        reason: str,
        keep: Keep,
        folder: Path | None,
        progress: Progress | None,
    ) -> TrashBatch:
        nothing = TrashBatch(0, self._clock(), reason, (), (), 0, 0)
        if not session_ids:
            return nothing
        removal = Removal(
            self._db,
            self._companion,
            keep=keep,
            folder=folder,
            progress=progress,
            clock=self._clock,
        )
        batch_id = removal.run(session_ids, reason)
        return next((each for each in self.list() if each.id == batch_id), nothing)

    # -- looking ---------------------------------------------------------------------------

    def list(self) -> tuple[TrashBatch, ...]:
        """Return what is in the trash, the latest deletion first."""
        hidden = self._tidy()
        return self._companion.ask(lambda tx: shelf.batches(tx, hidden), ())

    def sessions(self, batch_id: int) -> tuple[TrashedSession, ...]:
        """Return the sessions of a batch."""
        hidden = self._tidy()
        return self._companion.ask(lambda tx: shelf.sessions(tx, batch_id, hidden), ())

    def size(self) -> int:
        """Return how many bytes the copies take."""
        return sum(batch.bytes for batch in self.list())

    def _tidy(self) -> set[int]:
        """Drop copies that nobody needs; return those that are not to be shown.

        A deletion that is under way in another process shows nothing until it is done.
        """
        nothing: list[Entry] = []
        entries = self._companion.ask(shelf.all_entries, nothing)
        if not entries:
            return set()
        now = self._clock()
        with self._db.read() as tx:
            there = _existing(tx, (entry.session_id for entry in entries))
            standing = [entry for entry in entries if entry.session_id in there]
            busy = {e.id for e in standing if not e.settled and e.busy_until > now}
            idle = [entry for entry in standing if entry.id not in busy]
            needless = [entry for entry in idle if self._is_needless(tx, entry)]
        over, twice = _broken_off(entries, there)
        if not self._companion.read_only:
            # Whoever looks must not fail because tidying has to wait for a better moment.
            with suppress(DatabaseError):
                self._settle(over, [entry for entry in twice if entry.busy_until <= now])
                self._drop_if(self._is_needless, needless)
        return busy | {entry.id for entry in (*needless, *twice)}

    def _settle(self, over: Sequence[Entry], twice: Sequence[Entry]) -> None:
        """Note deletions that came to their end although nobody could say so any more."""
        now = self._clock()
        ended = [entry.id for entry in over if entry.busy_until <= now]
        if ended or twice:
            with self._companion.write() as side:
                shelf.settle(side, ended)
                shelf.drop(side, [entry.id for entry in twice], now)

    def _is_needless(self, tx: Transaction, entry: Entry) -> bool:
        """Tell whether a session that stands is all that its copy could bring back."""
        # Before its deletion is settled nothing was ever gone; what else changed is newer.
        if entry.settled and copies.fingerprint(tx, entry.session_id) != entry.fingerprint:
            return False
        return self._is_whole(tx, entry)

    def _is_whole(self, tx: Transaction, entry: Entry) -> bool:
        def compare(side: Transaction) -> bool:
            if not shelf.exists(side, entry.id):
                return False
            header, rows = shelf.header_of(side, entry), shelf.rows_of(side, entry)
            return copies.matching(tx, header, rows) == entry.messages

        with suppress(DatabaseCorrupt):
            return self._companion.ask(compare, False)
        return False

    def _drop_if(
        self, test: Callable[[Transaction, Entry], bool], entries: Sequence[Entry]
    ) -> None:
        """Drop the copies of sessions that stand, after another look at each."""
        if not entries:
            return
        # Under the lock that a deletion holds while it looks for its copy: no session can go
        # between this look at it and the end of its copy.
        with self._db.write() as tx, self._companion.write() as side:
            chosen = [entry.id for entry in entries if test(tx, entry)]
            shelf.drop(side, chosen, self._clock())

    # -- bringing back ---------------------------------------------------------------------

    def restore(self, what: int | str | None = None) -> RestoreReport:
        """Bring back a batch (by number), a session (by id, its beginning or title) or, with
        None, the latest batch. NotInTrash if there is no such thing.
        """
        self._companion.require_writable()
        report = RestoreReport()
        back: list[_Back] = []
        try:
            for entry in _parents_first(self._chosen(what)):
                returned = self._restore_one(entry)
                report = _reported(report, entry, returned)
                if isinstance(returned, _Back):
                    back.append(returned)
                if len(back) >= LEAVE_TOGETHER:
                    self._leave(back)
                    back = []
        finally:
            self._leave(back)
        shelf.give_space_back(self._companion)
        return report

    def _chosen(self, what: int | str | None) -> Sequence[Entry]:
        hidden = self._tidy()
        with self._companion.read() as tx:
            if tx is None:
                raise NotInTrash(what)
            if isinstance(what, str):
                named = shelf.find(tx, what).session_id
                found = shelf.of_session(tx, named)
                if all(entry.id in hidden for entry in found):
                    raise SessionInUse(
                        f"Session {named} is just being deleted. Try again in a minute."
                    )
                return [entry for entry in found if entry.id not in hidden][-1:]
            shown = shelf.batches(tx, hidden)
            batch_id = shown[0].id if what is None and shown else what
            found = [] if batch_id is None else shelf.in_batch(tx, batch_id)
        chosen = [entry for entry in found if entry.id not in hidden]
        if not chosen:
            raise NotInTrash(what)
        return chosen

    def _restore_one(self, entry: Entry) -> _Back | str:
        """Bring a session back in one transaction; return the reason where that cannot be."""
        with self._companion.read() as side, self._db.write() as tx:
            if side is None or not shelf.exists(side, entry.id):
                return "Another program brought it back or emptied the trash just now."
            header = shelf.header_of(side, entry)
            stood = sessions.exists(tx, entry.session_id)
            if stood:
                done = self._complete(tx, side, entry, header)
            else:
                done = copies.put_back(tx, header, shelf.rows_of(side, entry))
            if done is None:
                return f"There is a session {entry.session_id} already; the copy stays here."
            for child, config in shelf.children_of(side, entry):
                copies.take_back_child(tx, header, child, config)
        return _Back(entry, header, done, stood)

    @staticmethod
    def _complete(
        tx: Transaction, side: Transaction, entry: Entry, header: Header
    ) -> PutBack | None:
        """Give a session back what a deletion that was broken off took; None if it is another."""
        there = copies.matching(tx, header, shelf.rows_of(side, entry))
        if there is None or there == entry.messages:
            return None
        done = PutBack()
        copies.put_messages(tx, header, shelf.rows_of(side, entry), done)
        tx.run(
            "UPDATE sessions SET message_count = ? WHERE id = ?",
            (header.session.get("message_count"), entry.session_id),
        )
        return done

    def _leave(self, back: Sequence[_Back]) -> None:
        """Take entries out of the trash after their sessions are safely back."""
        if not back:
            return
        # Where a session stood already its deletion may be under way still: only with care.
        self._drop_if(self._is_whole, [each.entry for each in back if each.stood])
        with self._companion.write() as side:
            shelf.drop(side, [each.entry.id for each in back if not each.stood], self._clock())
            for each in back:
                if each.done.parent_missing and each.entry.parent_id is not None:
                    # Should the parent come back later, it finds its child by this.
                    config = each.header.session.get("model_config")
                    for above in shelf.of_session(side, each.entry.parent_id):
                        shelf.add_child(side, above.id, each.entry.session_id, config)
        if self._learn is not None:
            with self._db.read() as tx:
                for each in back:
                    self._learn(tx, each.entry.session_id)

    # -- emptying --------------------------------------------------------------------------

    def empty(self, older_than_days: float | None = None, *, batch_id: int | None = None) -> Purged:
        """Remove for good what is in the trash: all, one batch, or what was deleted so many
        days ago. The transcript files of those sessions go too.
        """
        self._companion.require_writable()
        before = None if older_than_days is None else self._clock() - older_than_days * DAY
        chosen = {
            batch.id
            for batch in self.list()
            if batch_id in (None, batch.id) and (before is None or batch.deleted_at < before)
        }
        if not chosen:
            return Purged()
        hidden = self._tidy()
        with self._companion.write() as side:
            entries = [
                entry
                for entry in shelf.all_entries(side)
                if entry.batch_id in chosen and entry.id not in hidden
            ]
            with self._db.read() as tx:
                there = _existing(tx, (entry.session_id for entry in entries))
            gone = [entry for entry in entries if entry.session_id not in there]
            left_files = list(_files(side, gone))
            marks.forget(side, (entry.session_id for entry in gone))
            shelf.drop(side, (entry.id for entry in entries), self._clock())
        for path in left_files:
            with suppress(OSError):
                path.unlink()
        shelf.give_space_back(self._companion)
        return shelf.purged(entries)


def _broken_off(entries: Sequence[Entry], there: set[str]) -> tuple[list[Entry], list[Entry]]:
    """Return unsettled copies of sessions that are gone: those to keep, and those kept twice.

    A try that was broken off and the one that succeeded leave equal copies. While a deletion is
    at work its copies are its own business: it may not be the one that made the session go, and
    then takes its copy back. So only a settled copy makes another one needless.
    """
    known = {(entry.session_id, entry.fingerprint) for entry in entries if entry.settled}
    gone = [entry for entry in entries if not entry.settled and entry.session_id not in there]
    over = [entry for entry in gone if (entry.session_id, entry.fingerprint) not in known]
    twice = [entry for entry in gone if (entry.session_id, entry.fingerprint) in known]
    return over, twice


def _existing(tx: Transaction, session_ids: Iterable[str]) -> set[str]:
    return {each for each in set(session_ids) if sessions.exists(tx, each)}


def _parents_first(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield entries so that each comes after its parent, if that is among them."""
    left = {entry.session_id: entry for entry in entries}
    while left:
        path = [next(iter(left))]
        while (parent := left[path[-1]].parent_id) in left and parent not in path:
            path.append(str(parent))
        for session_id in reversed(path):
            yield left.pop(session_id)


def _reported(report: RestoreReport, entry: Entry, returned: _Back | str) -> RestoreReport:
    if isinstance(returned, str):
        return replace(report, skipped=(*report.skipped, Remark(entry.session_id, returned)))
    remarks = (Remark(entry.session_id, text) for text in returned.done.remarks)
    return replace(
        report,
        session_ids=(*report.session_ids, entry.session_id),
        messages=report.messages + returned.done.messages,
        remarks=(*report.remarks, *remarks),
    )


def _files(side: Transaction, entries: Sequence[Entry]) -> Iterator[Path]:
    for entry in entries:
        folder = shelf.folder_of(side, entry.batch_id)
        if folder is None:
            continue
        for name in shelf.header_of(side, entry).files:
            if "/" not in name and "\\" not in name:
                yield Path(folder) / name
