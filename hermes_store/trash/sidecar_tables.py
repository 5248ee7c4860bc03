"""The tables of the trash in the sidecar: batches of copies, each with its chunks of messages.

Storage only; other modules decide when a copy is made, dropped or restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.raw_rows import readable
from hermes_store.errors import AmbiguousSession, DatabaseCorrupt, NotInTrash
from hermes_store.records.stored_values import count, moment, optional_text, text
from hermes_store.records.trash import Purged, TrashBatch, TrashedSession
from hermes_store.trash import session_copy
from hermes_store.trash.session_copy import Header


class State(IntEnum):
    """The state of a copy, as stored; `copy_states` says what each one means."""

    COPIED = 0
    TRASHED = 1
    RESTORING = 2
    PURGING = 3


TRANSITIONS: dict[State, tuple[State, ...]] = {
    State.TRASHED: (State.COPIED, State.RESTORING),
    State.RESTORING: (State.COPIED, State.TRASHED, State.RESTORING),
    State.PURGING: (State.COPIED, State.TRASHED, State.RESTORING),
}
"""From which states a copy may come into another one. Nothing leads back from PURGING."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A copy of one session, without its messages."""

    id: int
    batch_id: int
    session_id: str
    parent_id: str | None
    state: State
    busy_until: float
    """When a deletion that has not settled its copies counts as interrupted."""
    messages: int
    bytes: int
    fingerprint: str


_ENTRY = (
    "SELECT e.id, e.batch_id, e.session_id, e.parent_id, e.settled, b.busy_until, e.messages, "
    "e.bytes, e.fingerprint FROM trash_entries e JOIN trash_batches b ON b.id = e.batch_id"
)


def _entries(tx: Transaction, where: str, values: Sequence[Any]) -> list[Entry]:
    rows = tx.rows(f"{_ENTRY} WHERE {where} ORDER BY e.id", values)
    return [_entry(*row) for row in rows]


def _entry(entry_id: int, batch_id: Any, session_id: Any, parent: Any, *rest: Any) -> Entry:
    state, busy_until, messages, size, fingerprint = rest
    return Entry(
        entry_id,
        batch_id,
        text(session_id),
        optional_text(parent),
        _state(state),
        moment(busy_until),
        count(messages),
        count(size),
        text(fingerprint),
    )


def _state(stored: Any) -> State:
    # Whatever else a damaged file holds there, the copy can be looked at and restored.
    return State(stored) if stored in tuple(State) else State.TRASHED


# -- adding copies -----------------------------------------------------------------------------


def add_batch(tx: Transaction, now: float, reason: str, folder: str | None, lease: float) -> int:
    """Start a batch and return its id."""
    return tx.insert(
        "INSERT INTO trash_batches(deleted_at, reason, folder, busy_until) VALUES (?, ?, ?, ?)",
        (now, reason, folder, now + lease),
    )


def keep_busy(tx: Transaction, batch_id: int, until: float) -> None:
    """Extend the lease of a batch that is still being filled."""
    tx.run("UPDATE trash_batches SET busy_until = ? WHERE id = ?", (until, batch_id))


def add_entry(
    tx: Transaction, source: Transaction, batch_id: int, header: Header, fingerprint: str
) -> Entry:
    """Copy a session from a snapshot of the session database."""
    session = {name: readable(value) for name, value in header.session.items()}
    session_id, title = header.session_id, session.get("title")
    parent = session.get("parent_session_id")
    data = header.packed()
    entry_id = tx.insert(
        "INSERT INTO trash_entries(batch_id, session_id, parent_id, title, name, source, "
        "started_at, messages, bytes, fingerprint, header) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)",
        (
            batch_id,
            session_id,
            parent,
            title,
            session_copy.name_of(source, session_id, title),
            session["source"],
            session["started_at"],
            fingerprint,
            data,
        ),
    )
    size, messages = len(data), 0
    for place, (number, chunk) in enumerate(session_copy.chunks(source, session_id)):
        tx.run("INSERT INTO trash_chunks VALUES (?, ?, ?)", (entry_id, place, chunk))
        size, messages = size + len(chunk), messages + number
    for child, config in session_copy.children(source, session_id):
        add_child(tx, entry_id, child, config)
    tx.run(
        "UPDATE trash_entries SET messages = ?, bytes = ? WHERE id = ?",
        (messages, size, entry_id),
    )
    return Entry(
        entry_id, batch_id, session_id, parent, State.COPIED, 0.0, messages, size, fingerprint
    )


def add_child(tx: Transaction, entry_id: int, child_id: str, model_config: Any) -> None:
    """Record a child of a copied session."""
    tx.run(
        "INSERT INTO trash_children VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (entry_id, child_id, model_config),
    )


def add_parent(tx: Transaction, entry_id: int, parent_id: str, model_config: Any) -> None:
    """Record the parent that a copied session had before that one was deleted, and its config."""
    tx.run(
        "INSERT INTO trash_parents(entry_id, parent_id, model_config) VALUES (?, ?, ?) "
        "ON CONFLICT(entry_id) DO UPDATE "
        "SET parent_id = excluded.parent_id, model_config = excluded.model_config",
        (entry_id, parent_id, model_config),
    )


def parent_of(tx: Transaction, entry: Entry) -> tuple[str, Any] | None:
    """Return the parent and the config recorded with `add_parent`, if any."""
    row = tx.one(
        "SELECT parent_id, model_config FROM trash_parents WHERE entry_id = ?", (entry.id,)
    )
    return None if row is None else (str(row[0]), row[1])


def move(tx: Transaction, entry_ids: Iterable[int], state: State) -> list[int]:
    """Bring copies into a state, as far as it can follow on theirs; return the ids of those."""
    allowed = ", ".join(str(int(before)) for before in TRANSITIONS[state])
    sql = f"UPDATE trash_entries SET settled = ? WHERE id = ? AND settled IN ({allowed})"
    return [each for each in entry_ids if tx.run(sql, (int(state), each))]


# -- removing copies ---------------------------------------------------------------------------


def drop(tx: Transaction, entry_ids: Iterable[int], now: float) -> None:
    """Remove copies, and empty batches that are not being filled."""
    for entry_id in entry_ids:
        tx.run("DELETE FROM trash_entries WHERE id = ?", (entry_id,))
    tx.run(
        "DELETE FROM trash_batches WHERE busy_until < ? AND NOT EXISTS "
        "(SELECT 1 FROM trash_entries e WHERE e.batch_id = trash_batches.id)",
        (now,),
    )


# -- reading -----------------------------------------------------------------------------------


def all_entries(tx: Transaction) -> list[Entry]:
    """Return every copy in the trash."""
    return _entries(tx, "TRUE", ())


def in_batch(tx: Transaction, batch_id: int) -> list[Entry]:
    """Return the copies of a batch."""
    return _entries(tx, "e.batch_id = ?", (batch_id,))


def of_session(tx: Transaction, session_id: str) -> list[Entry]:
    """Return the copies of a session."""
    return _entries(tx, "e.session_id = ?", (session_id,))


def find(tx: Transaction, wanted: str) -> Entry:
    """Return the newest copy of a session by id, unique prefix of an id, or title."""
    for where, value in (
        ("e.session_id = ?", wanted),
        ("e.title = ?", wanted),
        ("substr(e.session_id, 1, length(?1)) = ?1", wanted),
    ):
        found = _entries(tx, where, (value,)) if wanted else []
        names = tuple(dict.fromkeys(entry.session_id for entry in found))
        if len(names) > 1 and where.startswith("substr"):
            raise AmbiguousSession(wanted, names)
        if found:
            return found[-1]
    raise NotInTrash(wanted)


def exists(tx: Transaction, entry_id: int, *states: State) -> bool:
    """Tell whether a copy exists, and is in one of some states."""
    found = tx.one("SELECT settled FROM trash_entries WHERE id = ?", (entry_id,))
    return found is not None and (not states or _state(found[0]) in states)


def header_of(tx: Transaction, entry: Entry) -> Header:
    """Return a copy without its messages."""
    data = tx.value("SELECT header FROM trash_entries WHERE id = ?", (entry.id,))
    return Header.unpacked(data if isinstance(data, bytes) else b"")


def rows_of(tx: Transaction, entry: Entry) -> Iterator[list[Any]]:
    """Yield the messages of a copy, with one chunk in memory at a time."""
    chunks = tx.rows("SELECT data FROM trash_chunks WHERE entry_id = ? ORDER BY place", (entry.id,))
    for (data,) in chunks:
        yield from session_copy.unpack_rows(data)


def children_of(tx: Transaction, entry: Entry) -> list[tuple[str, Any]]:
    """Return id and former model_config of the children that a session had."""
    sql = "SELECT child_id, model_config FROM trash_children WHERE entry_id = ?"
    return [(str(child), config) for child, config in tx.rows(sql, (entry.id,))]


def folder_of(tx: Transaction, batch_id: int) -> str | None:
    """Return the transcript folder of a batch."""
    folder: str | None = tx.value("SELECT folder FROM trash_batches WHERE id = ?", (batch_id,))
    return folder


# -- as records --------------------------------------------------------------------------------


def batches(tx: Transaction, hidden: set[int]) -> tuple[TrashBatch, ...]:
    """Return the batches without hidden entries, the newest first."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    rows = tx.rows(
        "SELECT batch_id, id, session_id, parent_id, name, messages, bytes "
        "FROM trash_entries ORDER BY batch_id DESC, started_at, id"
    )
    for batch_id, entry_id, *rest in rows:
        if entry_id not in hidden:
            found.setdefault(batch_id, []).append(tuple(rest))
    heads = tx.rows("SELECT id, deleted_at, reason FROM trash_batches ORDER BY id DESC")
    return tuple(_batch(head, found[head[0]]) for head in heads if head[0] in found)


def _batch(head: tuple[Any, ...], members: list[tuple[Any, ...]]) -> TrashBatch:
    batch_id, deleted_at, reason = head
    ids = {row[0] for row in members}
    # The sort is stable: both halves stay in order of start.
    first = sorted(members, key=lambda row: row[1] in ids)
    return TrashBatch(
        id=batch_id,
        deleted_at=moment(deleted_at),
        reason=text(reason),
        titles=tuple(text(row[2]) for row in first),
        session_ids=tuple(text(row[0]) for row in first),
        messages=sum(count(row[3]) for row in members),
        bytes=sum(count(row[4]) for row in members),
    )


def sessions(tx: Transaction, batch_id: int, hidden: set[int]) -> tuple[TrashedSession, ...]:
    """Return the sessions of a batch without hidden entries, in order of start."""
    rows = list(
        tx.rows(
            "SELECT id, session_id, batch_id, name, title, source, started_at, messages, bytes, "
            "header FROM trash_entries WHERE batch_id = ? ORDER BY started_at, id",
            (batch_id,),
        )
    )
    return tuple(_session(row[1:9], _files(row[9])) for row in rows if row[0] not in hidden)


def _files(header: Any) -> tuple[str, ...]:
    try:
        return Header.unpacked(header if isinstance(header, bytes) else b"").files
    except DatabaseCorrupt:
        return ()  # restoring it says so


def _session(row: tuple[Any, ...], files: tuple[str, ...]) -> TrashedSession:
    session_id, batch_id, name, title, source, started_at, messages, size = row
    return TrashedSession(
        text(session_id),
        batch_id,
        text(name),
        optional_text(title),
        text(source),
        moment(started_at),
        count(messages),
        count(size),
        files,
    )


def purged(entries: Sequence[Entry]) -> Purged:
    """Return the totals of some copies."""
    return Purged(
        len(entries), sum(each.messages for each in entries), sum(each.bytes for each in entries)
    )
