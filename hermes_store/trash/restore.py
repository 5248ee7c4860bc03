"""Restoring sessions from the trash, parents before their children."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hermes_store.engines.base import Database, Sidecar, Transaction
from hermes_store.errors import DatabaseCorrupt, NotInTrash, SessionInUse
from hermes_store.records.trash import Remark, RestoreReport
from hermes_store.sessions import lineage, session_rows
from hermes_store.trash import put_back, session_copy, sidecar_tables
from hermes_store.trash.copy_states import States
from hermes_store.trash.put_back import PutBack
from hermes_store.trash.session_copy import Header
from hermes_store.trash.sidecar_tables import Entry, State

TOGETHER_MESSAGES = 20_000
"""Up to this size everything is put back in one transaction."""

LEASE = 60.0
"""Seconds for which an unfinished restore counts as running."""

Learn = Callable[[Transaction, str], None]


@dataclass(frozen=True, slots=True)
class _Back:
    entry: Entry
    done: PutBack


class Restore:
    """Restores sessions from the trash."""

    def __init__(
        self,
        db: Database,
        sidecar: Sidecar,
        states: States,
        clock: Callable[[], float],
        learn: Learn | None = None,
    ) -> None:
        self._db = db
        self._sidecar = sidecar
        self._states = states
        self._clock = clock
        self._learn = learn

    def run(self, what: int | str | None) -> RestoreReport:
        """Restore a batch by number, a session by id, prefix or title, or the latest batch."""
        return self._run(self._chosen(what))

    def run_sessions(self, session_ids: Sequence[str], batch_id: int | None) -> RestoreReport:
        """Restore the newest copies of some sessions, or those of one batch."""
        hidden = self._states.tidy()
        chosen: list[Entry] = []
        missing: list[Remark] = []
        with self._sidecar.read() as tx:
            for session_id in dict.fromkeys(session_ids):
                copies = [] if tx is None else sidecar_tables.of_session(tx, session_id)
                found = [
                    entry
                    for entry in copies
                    if entry.id not in hidden and batch_id in (None, entry.batch_id)
                ]
                chosen += found[-1:]
                if not found:
                    missing.append(Remark(session_id, f"Session {session_id} is not in the trash."))
        if not chosen:
            raise NotInTrash(session_ids[0] if session_ids else None)
        report = self._run(chosen)
        return replace(report, skipped=(*report.skipped, *missing))

    def _run(self, wanted: Sequence[Entry]) -> RestoreReport:
        chosen = list(_parents_first(wanted))
        self._announce(chosen)
        report, left = RestoreReport(), {entry.id: entry for entry in chosen}
        small = sum(entry.messages for entry in chosen) <= TOGETHER_MESSAGES
        try:
            for group in [chosen] if small else [[entry] for entry in chosen]:
                # On disk before the copies go.
                with self._sidecar.read() as side, self._db.write(durable=True) as tx:
                    returned = [(entry, self._put_back(tx, side, entry)) for entry in group]
                back = [each.entry for _, each in returned if isinstance(each, _Back)]
                for entry in back:
                    del left[entry.id]
                for entry, each in returned:
                    report = _reported(report, entry, each)
                self._drop(back)
        finally:
            self._take_back(chosen, left)
        self._sidecar.give_space_back()
        return report

    def _chosen(self, what: int | str | None) -> Sequence[Entry]:
        hidden = self._states.tidy()
        with self._sidecar.read() as tx:
            if tx is None:
                raise NotInTrash(what)
            if isinstance(what, str):
                named = sidecar_tables.find(tx, what).session_id
                found = sidecar_tables.of_session(tx, named)
                if all(entry.id in hidden for entry in found):
                    raise SessionInUse(
                        f"Session {named} is being deleted right now. Try again in a minute."
                    )
                return [entry for entry in found if entry.id not in hidden][-1:]
            shown = sidecar_tables.batches(tx, hidden)
            batch_id = shown[0].id if what is None and shown else what
            found = [] if batch_id is None else sidecar_tables.in_batch(tx, batch_id)
        chosen = [entry for entry in found if entry.id not in hidden]
        if not chosen:
            raise NotInTrash(what)
        return chosen

    def _announce(self, chosen: Sequence[Entry]) -> None:
        """Record what is about to be restored, and whose child or parent it is.

        Parents and children may be in the trash as well and be restored later, or never; a crash
        after this point must not separate them.
        """
        with self._sidecar.write() as side:
            sidecar_tables.move(side, [entry.id for entry in chosen], State.RESTORING)
            for batch_id in {entry.batch_id for entry in chosen}:
                sidecar_tables.keep_busy(side, batch_id, self._clock() + LEASE)
            for entry in chosen:
                with suppress(DatabaseCorrupt):
                    self._relate(side, entry)

    @staticmethod
    def _relate(side: Transaction, entry: Entry) -> None:
        """Tell the copies of parents and children of a session that it will be restored."""
        header = _as_child(side, entry, sidecar_tables.header_of(side, entry))
        parent = header.session.get("parent_session_id")
        config = header.session.get("model_config")
        for above in sidecar_tables.of_session(side, parent) if parent else ():
            sidecar_tables.add_child(side, above.id, entry.session_id, config)
        for child, former in sidecar_tables.children_of(side, entry):
            for below in sidecar_tables.of_session(side, child):
                with suppress(DatabaseCorrupt):
                    copied = _as_child(side, below, sidecar_tables.header_of(side, below))
                    if put_back.was_moved_up(header, copied.session, former):
                        sidecar_tables.add_parent(side, below.id, entry.session_id, former)

    def _take_back(self, chosen: Sequence[Entry], left: Iterable[int]) -> None:
        """Record that what was not restored is in the trash as before."""
        with self._sidecar.write() as side:
            sidecar_tables.move(side, left, State.TRASHED)
            for batch_id in {entry.batch_id for entry in chosen}:
                sidecar_tables.keep_busy(side, batch_id, 0.0)
            sidecar_tables.drop(side, (), self._clock())

    def _put_back(self, tx: Transaction, side: Transaction | None, entry: Entry) -> _Back | str:
        """Restore a session; return the reason if that is impossible."""
        if side is None or not sidecar_tables.exists(side, entry.id, State.RESTORING):
            return "Another program has just restored it or emptied the trash."
        try:
            with tx.all_or_nothing():  # all of it or nothing, whatever happens to the others
                done = _put_back_whole(tx, side, entry)
        except DatabaseCorrupt as error:
            return f"Session {entry.session_id} cannot be restored. {error}"
        if done is None:
            return f"Session {entry.session_id} already exists; the copy stays in the trash."
        return _Back(entry, done)

    def _drop(self, entries: Sequence[Entry]) -> None:
        """Remove the copies of sessions that are back."""
        if not entries:
            return
        with self._sidecar.write() as side:
            sidecar_tables.drop(side, [entry.id for entry in entries], self._clock())
        if self._learn is not None:
            with self._db.read() as tx:
                for entry in entries:
                    self._learn(tx, entry.session_id)


def _put_back_whole(tx: Transaction, side: Transaction, entry: Entry) -> PutBack | None:
    """Put back a session and its place in the lineage; None if it is there already."""
    header = _as_child(side, entry, sidecar_tables.header_of(side, entry))
    parent = header.session.get("parent_session_id")
    if parent is not None:
        above = (*header.ancestors, *lineage.path_from_root(tx, parent))
        header = replace(header, ancestors=above)
    if session_rows.exists(tx, entry.session_id):
        done = _complete(tx, side, entry, header)
    else:
        done = put_back.put_back(tx, header, sidecar_tables.rows_of(side, entry))
    if done is not None:
        for child, config in sidecar_tables.children_of(side, entry):
            put_back.take_back_child(tx, header, child, config)
    return done


def _as_child(side: Transaction, entry: Entry, header: Header) -> Header:
    """Return a copy with the parent it had before that one was deleted and restored."""
    recorded = sidecar_tables.parent_of(side, entry)
    if recorded is None:
        return header
    parent, config = recorded
    session = {**header.session, "parent_session_id": parent, "model_config": config}
    return replace(header, session=session)


def _complete(tx: Transaction, side: Transaction, entry: Entry, header: Header) -> PutBack | None:
    """Put back what is missing of a torn session; None if the session is a different one."""
    there = session_copy.matching(tx, header, sidecar_tables.rows_of(side, entry))
    if there is None or there == entry.messages:
        return None
    done = PutBack()
    put_back.put_messages(tx, header, sidecar_tables.rows_of(side, entry), done)
    tx.run(
        "UPDATE sessions SET message_count = ? WHERE id = ?",
        (header.session.get("message_count"), entry.session_id),
    )
    return done


def _parents_first(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield entries with parents before their children."""
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
