"""The states of a copy in the trash, and the transitions between them.

    copied ──the session is deleted──> settled ──restored or emptied──> gone
       │                                  │
       └──the deletion was interrupted    └──the session exists again, unchanged──> needless

A copy is made before its session is deleted, and stays hidden while the deletion is running. An
interrupted deletion leaves copies that are settled if their session is gone, and dropped if it
still exists. Reading the trash tidies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from hermes_store.engines.sqlite.session_database import Database
from hermes_store.engines.sqlite.sidecar_database import Sidecar
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import DatabaseCorrupt, DatabaseError
from hermes_store.sessions import session_rows
from hermes_store.trash import session_copy, sidecar_tables
from hermes_store.trash.sidecar_tables import Entry


class States:
    """Determines the state of each copy, and tidies up."""

    def __init__(self, db: Database, sidecar: Sidecar, clock: Callable[[], float]) -> None:
        self._db = db
        self._sidecar = sidecar
        self._clock = clock

    def tidy(self) -> set[int]:
        """Drop needless copies; return the ids of those to hide."""
        nothing: list[Entry] = []
        entries = self._sidecar.ask(sidecar_tables.all_entries, nothing)
        if not entries:
            return set()
        now = self._clock()
        with self._db.read() as tx:
            there = existing(tx, (entry.session_id for entry in entries))
            standing = [entry for entry in entries if entry.session_id in there]
            busy = {e.id for e in standing if not e.settled and e.busy_until > now}
            idle = [entry for entry in standing if entry.id not in busy]
            needless = [entry for entry in idle if self._is_needless(tx, entry)]
        over, twice = _broken_off(entries, there)
        if not self._sidecar.read_only:
            # Reading must not fail because tidying cannot be done right now.
            with suppress(DatabaseError):
                self._settle(over, [entry for entry in twice if entry.busy_until <= now])
                self.drop_if(self._is_needless, needless)
        return busy | {entry.id for entry in (*needless, *twice)}

    def _settle(self, over: Sequence[Entry], twice: Sequence[Entry]) -> None:
        """Record deletions that were completed but not recorded, for instance after a crash."""
        now = self._clock()
        ended = [entry.id for entry in over if entry.busy_until <= now]
        if ended or twice:
            with self._sidecar.write() as side:
                sidecar_tables.settle(side, ended)
                sidecar_tables.drop(side, [entry.id for entry in twice], now)

    def _is_needless(self, tx: Transaction, entry: Entry) -> bool:
        """Tell whether an existing session has everything that its copy could restore."""
        # Until its deletion is settled nothing was lost; any other change is newer.
        if entry.settled and session_copy.fingerprint(tx, entry.session_id) != entry.fingerprint:
            return False
        return self.is_whole(tx, entry)

    def is_whole(self, tx: Transaction, entry: Entry) -> bool:
        """Tell whether a session exists with every message of its copy."""

        def compare(side: Transaction) -> bool:
            if not sidecar_tables.exists(side, entry.id):
                return False
            header, rows = (
                sidecar_tables.header_of(side, entry),
                sidecar_tables.rows_of(side, entry),
            )
            return session_copy.matching(tx, header, rows) == entry.messages

        with suppress(DatabaseCorrupt):
            return self._sidecar.ask(compare, False)
        return False

    def drop_if(self, test: Callable[[Transaction, Entry], bool], entries: Sequence[Entry]) -> None:
        """Drop the copies of existing sessions, after testing each one again."""
        if not entries:
            return
        # Under the lock that a deletion holds while it checks its copy: no session can be
        # deleted between this test and the dropping of its copy.
        with self._db.write() as tx, self._sidecar.write() as side:
            chosen = [entry.id for entry in entries if test(tx, entry)]
            sidecar_tables.drop(side, chosen, self._clock())


def existing(tx: Transaction, session_ids: Iterable[str]) -> set[str]:
    """Return the ids that exist in the session database."""
    return {each for each in set(session_ids) if session_rows.exists(tx, each)}


def _broken_off(entries: Sequence[Entry], there: set[str]) -> tuple[list[Entry], list[Entry]]:
    """Return unsettled copies of deleted sessions: those to keep, and duplicates.

    An interrupted attempt and the one that succeeded leave equal copies. A running deletion may
    turn out not to be the one that deleted the session and then drops its copy. So only a
    settled copy makes another one needless.
    """
    known = {(entry.session_id, entry.fingerprint) for entry in entries if entry.settled}
    gone = [entry for entry in entries if not entry.settled and entry.session_id not in there]
    over = [entry for entry in gone if (entry.session_id, entry.fingerprint) not in known]
    twice = [entry for entry in gone if (entry.session_id, entry.fingerprint) in known]
    return over, twice
