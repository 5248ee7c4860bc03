"""The states of a copy in the trash, the transitions between them, and what a crash leaves.

    copied ──the session was deleted──> trashed ──restore begins──> restoring ──it is back──> gone
       │                                   │  ^                         │
       │                                   │  └──it is not back─────────┘
       └──the session still exists──> gone └──emptying begins──> purging ──files removed──> gone

A copy is made before its session is deleted. Deleting and putting back are one transaction of the
session database each, so a session is there as a whole or not at all. Each state is written to the
sidecar before the step it announces; whoever finds it later can tell from the session database
whether that step was taken, and finishes what was left. Reading the trash does so, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import Enum

from hermes_store.engines.base import Database, Sidecar, Transaction
from hermes_store.errors import DatabaseCorrupt, DatabaseError
from hermes_store.sessions import session_rows
from hermes_store.trash import purge, session_copy, sidecar_tables
from hermes_store.trash.sidecar_tables import Entry, State


class Original(Enum):
    """What the session database has of a copied session."""

    ABSENT = "absent"
    SAME = "same"
    """Exactly what was copied."""
    CONTAINS = "contains"
    """Everything that was copied; other things may have changed since."""
    DIFFERENT = "different"


class Fate(Enum):
    """What is to be done with a copy."""

    SHOW = "show"
    HIDE = "hide"
    SETTLE = "settle"
    """Show it, and record that it is in the trash."""
    DROP = "drop"
    PURGE = "purge"


# A copy that is superseded has another one of the same session that makes it needless; one in work
# belongs to a deletion or restore that gave a sign of life in the last minute.
FATES: dict[tuple[State, Original], Fate] = {
    (State.COPIED, Original.ABSENT): Fate.SETTLE,
    (State.COPIED, Original.SAME): Fate.DROP,
    (State.COPIED, Original.CONTAINS): Fate.DROP,
    # Torn by an earlier version of this program, which deleted long sessions in steps.
    (State.COPIED, Original.DIFFERENT): Fate.SHOW,
    (State.TRASHED, Original.ABSENT): Fate.SHOW,
    (State.TRASHED, Original.SAME): Fate.DROP,
    (State.TRASHED, Original.CONTAINS): Fate.SHOW,
    (State.TRASHED, Original.DIFFERENT): Fate.SHOW,
    (State.RESTORING, Original.ABSENT): Fate.SETTLE,
    (State.RESTORING, Original.SAME): Fate.DROP,
    (State.RESTORING, Original.CONTAINS): Fate.DROP,
    (State.RESTORING, Original.DIFFERENT): Fate.SETTLE,
    **{(State.PURGING, original): Fate.PURGE for original in Original},
}


def fate(state: State, original: Original, *, superseded: bool, in_work: bool) -> Fate:
    """Return what is to be done with a copy."""
    decided = FATES[state, original]
    if superseded and original is Original.ABSENT and state is not State.PURGING:
        decided = Fate.DROP
    if in_work and decided is Fate.SETTLE:
        return Fate.SHOW  # whoever is at work records it
    if in_work and state is State.COPIED:
        return Fate.HIDE
    return decided


class States:
    """Determines the state of each copy, and finishes what was interrupted."""

    def __init__(self, db: Database, sidecar: Sidecar, clock: Callable[[], float]) -> None:
        self._db = db
        self._sidecar = sidecar
        self._clock = clock

    def tidy(self) -> set[int]:
        """Finish what was interrupted; return the ids of the copies to hide."""
        nothing: list[Entry] = []
        entries = self._sidecar.ask(sidecar_tables.all_entries, nothing)
        if not entries:
            return set()
        with self._db.read() as tx:
            fates = self._fates(tx, entries)
        left = {Fate.SETTLE, Fate.DROP, Fate.PURGE}.intersection(fates.values())
        if left and not self._sidecar.read_only and not self._db.read_only:
            # Reading must not fail because tidying cannot be done right now.
            with suppress(DatabaseError):
                self._finish()
        return {each for each, its in fates.items() if its not in (Fate.SHOW, Fate.SETTLE)}

    def _finish(self) -> None:
        # Under the write lock that deleting and restoring hold while they look at a copy: no
        # session goes or comes between this look and the change of its copies.
        with self._db.write(durable=True) as tx, self._sidecar.write() as side:
            entries = sidecar_tables.all_entries(side)
            fates = self._fates(tx, entries)
            chosen = {
                wanted: [entry for entry in entries if fates[entry.id] is wanted]
                for wanted in (Fate.SETTLE, Fate.DROP, Fate.PURGE)
            }
            if chosen[Fate.DROP]:
                _make_durable(tx)
            sidecar_tables.move(side, _ids(chosen[Fate.SETTLE]), State.TRASHED)
            sidecar_tables.drop(side, _ids(chosen[Fate.DROP]), self._clock())
        if chosen[Fate.PURGE]:
            purge.finish(self._db, self._sidecar, chosen[Fate.PURGE], self._clock)

    def _fates(self, tx: Transaction, entries: Sequence[Entry]) -> dict[int, Fate]:
        there = session_rows.existing(tx, (entry.session_id for entry in entries))
        now = self._clock()
        copies: dict[str, list[Entry]] = {}
        for entry in entries:
            copies.setdefault(entry.session_id, []).append(entry)
        return {
            entry.id: fate(
                entry.state,
                self._original(tx, entry, there),
                superseded=is_superseded(entry, copies[entry.session_id], now),
                in_work=entry.busy_until > now,
            )
            for entry in entries
        }

    def _original(self, tx: Transaction, entry: Entry, there: set[str]) -> Original:
        if entry.session_id not in there:
            return Original.ABSENT
        if session_copy.fingerprint(tx, entry.session_id) == entry.fingerprint:
            return Original.SAME
        return Original.CONTAINS if self.is_whole(tx, entry) else Original.DIFFERENT

    def is_whole(self, tx: Transaction, entry: Entry) -> bool:
        """Tell whether a session exists with every message of its copy."""

        def compare(side: Transaction) -> bool:
            if not sidecar_tables.exists(side, entry.id):
                return False
            header = sidecar_tables.header_of(side, entry)
            return session_copy.contains(tx, header, sidecar_tables.rows_of(side, entry))

        with suppress(DatabaseCorrupt):
            return self._sidecar.ask(compare, False)
        return False


def _ids(entries: Iterable[Entry]) -> list[int]:
    return [entry.id for entry in entries]


def _make_durable(tx: Transaction) -> None:
    """Write to the database, so that what is in it now is on disk before its copies go."""
    tx.run("UPDATE sessions SET source = source WHERE id = (SELECT MAX(id) FROM sessions)")


def is_superseded(entry: Entry, copies: Sequence[Entry], now: float) -> bool:
    """Tell whether another copy of the same session makes this one needless."""
    return any(_outranks(other, entry, now) for other in copies if other.id != entry.id)


def _outranks(other: Entry, entry: Entry, now: float) -> bool:
    """Tell whether a copy makes another one of the same session needless.

    The copy of a deletion that did not come about is, if a later one was taken from the session
    as it was afterwards; all others only if they are equal. A deletion in work may still drop its
    copy, if another one was faster, so that copy does not count. No two copies outrank each
    other, so one of them always stays.
    """
    equal = other.fingerprint == entry.fingerprint
    later = other.id > entry.id
    if other.state is State.TRASHED:
        if entry.state is State.COPIED:
            return later or equal
        return equal and (later or entry.state is State.RESTORING)
    idle_copy = other.state is State.COPIED and other.busy_until <= now
    if not idle_copy or not later:
        return False
    return entry.state is State.COPIED or (entry.state is State.RESTORING and equal)
