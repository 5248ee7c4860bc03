"""Restoring sessions from the trash, parents before their children."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import NotInTrash, SessionInUse
from hermes_store.records.trash import Remark, RestoreReport
from hermes_store.sessions import session_rows
from hermes_store.trash import session_copy, sidecar_tables
from hermes_store.trash.copy_states import States
from hermes_store.trash.session_copy import Header, PutBack
from hermes_store.trash.sidecar_tables import Entry

LEAVE_TOGETHER = 100
"""How many restored sessions leave the trash in one transaction."""

Learn = Callable[[Transaction, str], None]


@dataclass(frozen=True, slots=True)
class _Back:
    entry: Entry
    header: Header
    done: PutBack
    stood: bool
    """Whether it still existed, at least in part."""


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
        sidecar_tables.give_space_back(self._sidecar)
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

    def _restore_one(self, entry: Entry) -> _Back | str:
        """Restore a session in one transaction; return the reason if that is impossible."""
        with self._sidecar.read() as side, self._db.write() as tx:
            if side is None or not sidecar_tables.exists(side, entry.id):
                return "Another program has just restored it or emptied the trash."
            header = sidecar_tables.header_of(side, entry)
            stood = session_rows.exists(tx, entry.session_id)
            if stood:
                done = _complete(tx, side, entry, header)
            else:
                done = session_copy.put_back(tx, header, sidecar_tables.rows_of(side, entry))
            if done is None:
                return f"Session {entry.session_id} already exists; the copy stays in the trash."
            for child, config in sidecar_tables.children_of(side, entry):
                session_copy.take_back_child(tx, header, child, config)
        return _Back(entry, header, done, stood)

    def _leave(self, back: Sequence[_Back]) -> None:
        """Remove entries from the trash once their sessions are safely restored."""
        if not back:
            return
        # If a session still existed, its deletion may be running: check again before dropping.
        self._states.drop_if(self._states.is_whole, [each.entry for each in back if each.stood])
        with self._sidecar.write() as side:
            sidecar_tables.drop(
                side, [each.entry.id for each in back if not each.stood], self._clock()
            )
            for each in back:
                if each.done.parent_missing and each.entry.parent_id is not None:
                    # If the parent is restored later, it finds its child by this.
                    config = each.header.session.get("model_config")
                    for above in sidecar_tables.of_session(side, each.entry.parent_id):
                        sidecar_tables.add_child(side, above.id, each.entry.session_id, config)
        if self._learn is not None:
            with self._db.read() as tx:
                for each in back:
                    self._learn(tx, each.entry.session_id)


def _complete(tx: Transaction, side: Transaction, entry: Entry, header: Header) -> PutBack | None:
    """Put back what an interrupted deletion took; None if the session is a different one."""
    there = session_copy.matching(tx, header, sidecar_tables.rows_of(side, entry))
    if there is None or there == entry.messages:
        return None
    done = PutBack()
    session_copy.put_messages(tx, header, sidecar_tables.rows_of(side, entry), done)
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
