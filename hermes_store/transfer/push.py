"""Send the sessions of a file to a server that collects those of several machines.

Only what is new is sent: the server remembers, for each session of a file, up to which message it
has it and what its row was. Each group of sessions is one transaction, compared with what was sent
before it is committed, so a push that was interrupted goes on where it stopped. What is deleted in
the file later stays on the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.engines.base import Database, Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.transfer import PushReport
from hermes_store.sessions import late_messages
from hermes_store.transfer import same_session, stored_forms
from hermes_store.transfer.stored_forms import MESSAGE, SESSION

GROUP_MESSAGES = 2_000
"""About so many messages are sent in one transaction."""

_SAME = ("role", "content", "timestamp", "tool_name", "tool_calls", "tool_call_id")
_PASSES = 5
"""How often to look again at what another push of the same file may have sent meanwhile."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Known:
    """What the server knows of a session of a file."""

    hub_id: str
    newest: int
    number: int
    row_sum: str
    elsewhere: bool = False
    """Whether it came from elsewhere, as one that was brought back from the server."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A session of the file that the server does not have as it is now."""

    session: dict[str, Any]
    newest: int
    number: int
    row_sum: str


def push(
    source: Database,
    hub: Database,
    *,
    host: str,
    origin: str,
    full: bool = False,
    progress: Progress | None = None,
) -> PushReport:
    """Send what is new in a file, and return what was sent.

    With `full`, every message is compared, also in sessions that seem unchanged.
    """
    done = _Done()
    for _ in range(_PASSES):
        with hub.read() as server:
            known = _known(server, origin)  # before the file is read, which may go on meanwhile
        with source.read() as tx:
            changed = _parents_first(list(_changed(tx, known, full=full)))
            overtaken = False
            for group in _groups(changed, known):
                with hub.write() as server:
                    overtaken |= _send_group(tx, server, group, known, host, origin, done)
                if progress is not None:
                    progress(min(done.sessions, len(changed)), len(changed))
        if not overtaken:
            break
    return PushReport(done.added, done.changed, done.messages, done.removed, done.elsewhere)


def _send_group(
    tx: Transaction,
    server: Transaction,
    group: Sequence[Changed],
    known: dict[str, Known],
    host: str,
    origin: str,
    done: _Done,
) -> bool:
    """Send some sessions; tell whether another push of the same file was quicker with any."""
    ids = [each.session["id"] for each in group]
    now = _known(server, origin, ids)
    overtaken = [each for each in ids if now.get(each) != known.get(each)]
    known |= now
    for each in group:
        # What that one sent may be newer than what was read here.
        if each.session["id"] not in overtaken:
            _send(tx, server, each, known, host, origin, done)
    done.sessions += len(group)
    return bool(overtaken)


@dataclass(slots=True)
class _Done:
    sessions: int = 0
    added: int = 0
    changed: int = 0
    messages: int = 0
    removed: int = 0
    elsewhere: int = 0


def _known(
    server: Transaction, origin: str, session_ids: Sequence[str] | None = None
) -> dict[str, Known]:
    chosen = "" if session_ids is None else "AND session_id IN (SELECT value FROM json_each(?))"
    rows = server.rows(
        "SELECT session_id, hub_id, newest, number, row_sum, elsewhere FROM pushed "
        f"WHERE origin = ? {chosen}",
        (origin, *([] if session_ids is None else [json.dumps(session_ids)])),
    )
    return {
        session_id: Known(hub_id, newest, number, row_sum, bool(elsewhere))
        for session_id, hub_id, newest, number, row_sum, elsewhere in rows
    }


def _changed(tx: Transaction, known: dict[str, Known], *, full: bool) -> Iterator[Changed]:
    """Yield the sessions that are new, or that have other messages or another row.

    A message that was taken back may still be there. What was edited in place is not noticed,
    because all messages would have to be read, unless `full` is asked for.
    """
    active = "SUM(active)" if tx.caps.has_message("active") else "0"
    counted = {
        session_id: rest
        for session_id, *rest in tx.rows(
            f"SELECT session_id, MAX(id), COUNT(*), {active} FROM messages GROUP BY session_id"
        )
    }
    present = tx.caps.session_columns
    selected = ", ".join(f's."{name}"' if name in present else "NULL" for name in SESSION)
    for row in tx.rows(f"SELECT {selected} FROM sessions s WHERE s.id IS NOT NULL"):
        session = stored_forms.formed(SESSION, row)
        newest, number, sent = counted.get(row[0], (0, 0, 0))
        each = Changed(session, newest, number, stored_forms.row_sum(session, sent))
        if full or _is_changed(each, known):
            yield each


def _is_changed(each: Changed, known: dict[str, Known]) -> bool:
    before = known.get(each.session["id"])
    now = (each.newest, each.number, each.row_sum)
    return before is None or (before.newest, before.number, before.row_sum) != now


def _parents_first(changed: Sequence[Changed]) -> list[Changed]:
    """Return sessions by their start, but each after its parent."""
    left = {each.session["id"]: each for each in sorted(changed, key=_start)}
    ordered: list[Changed] = []
    while left:
        path = [next(iter(left))]
        while (parent := left[path[-1]].session["parent_session_id"]) in left and (
            parent not in path
        ):
            path.append(parent)
        ordered += [left.pop(each) for each in reversed(path)]
    return ordered


def _start(each: Changed) -> tuple[float, str]:
    return each.session["started_at"], each.session["id"]


def _groups(changed: Sequence[Changed], known: dict[str, Known]) -> Iterator[list[Changed]]:
    group: list[Changed] = []
    size = 0
    for each in changed:
        group.append(each)
        before = known.get(each.session["id"])
        size += each.number - (before.number if before else 0) + 1
        if size >= GROUP_MESSAGES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _send(
    tx: Transaction,
    server: Transaction,
    changed: Changed,
    known: dict[str, Known],
    host: str,
    origin: str,
    done: _Done,
) -> None:
    session_id = changed.session["id"]
    before = known.get(session_id)
    if before is None or before.elsewhere:
        hub_id = _elsewhere(tx, server, changed.session, origin)
        if hub_id is not None:
            _note(server, origin, changed, known, hub_id, elsewhere=True)
            done.elsewhere += 1
            return
        before = None
    is_changed = _is_changed(changed, known)
    hub_id = _own_id(server, before, origin) or _free_id(server, session_id, host)
    row = {**changed.session, "id": hub_id, "host": host}
    parent = known.get(row["parent_session_id"] or "")
    # It may have been deleted on the server.
    is_there = parent is not None and _exists(server, parent.hub_id)
    row["parent_session_id"] = parent.hub_id if parent is not None and is_there else None
    _put_session(server, row, origin, session_id)
    sent, removed = _send_messages(tx, server, session_id, hub_id)
    _note(server, origin, changed, known, hub_id, elsewhere=False)
    done.added += before is None
    done.changed += before is not None and (is_changed or sent + removed > 0)
    done.messages += sent
    done.removed += removed


def _elsewhere(
    tx: Transaction, server: Transaction, session: dict[str, Any], origin: str
) -> str | None:
    """Return the session of the server that is the same, or goes on where this one ends."""
    session_id = session["id"]
    for hub_id in same_session.on_server(server, session_id, session["started_at"], origin):
        if same_session.is_beginning(tx, session_id, server, hub_id):
            return hub_id
    return None


def _note(
    server: Transaction,
    origin: str,
    changed: Changed,
    known: dict[str, Known],
    hub_id: str,
    *,
    elsewhere: bool,
) -> None:
    """Note what the server has of a session."""
    session_id = changed.session["id"]
    new = Known(hub_id, changed.newest, changed.number, changed.row_sum, elsewhere)
    known[session_id] = new
    server.run(
        "INSERT INTO pushed(origin, session_id, hub_id, newest, number, row_sum, elsewhere) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(origin, session_id) DO UPDATE SET "
        "hub_id = excluded.hub_id, newest = excluded.newest, number = excluded.number, "
        "row_sum = excluded.row_sum, elsewhere = excluded.elsewhere",
        (origin, session_id, hub_id, new.newest, new.number, new.row_sum, int(elsewhere)),
    )


def _own_id(server: Transaction, before: Known | None, origin: str) -> str | None:
    """Return the id that a session was sent under, unless another one has it by now."""
    if before is None:
        return None
    holder = server.one("SELECT origin FROM sessions WHERE id = ?", (before.hub_id,))
    return before.hub_id if holder is None or holder[0] == origin else None


def _exists(server: Transaction, hub_id: str) -> bool:
    return server.one("SELECT 1 FROM sessions WHERE id = ?", (hub_id,)) is not None


def _free_id(server: Transaction, session_id: str, host: str) -> str:
    """Return the id of a session on the server; another machine may have one of the same name."""
    wanted, number = session_id, 1
    while _exists(server, wanted):
        number += 1
        wanted = f"{session_id}@{host}" if number == 2 else f"{session_id}@{host}-{number}"
    return wanted


def _put_session(server: Transaction, row: dict[str, Any], origin: str, session_id: str) -> None:
    columns = {**row, "origin": origin, "origin_id": session_id}
    # Titles may have changed hands in the file. Whoever had it there gets its own when it is sent,
    # which is in the same push; what was deleted in the file keeps a name that says what it was.
    server.run(
        "UPDATE sessions SET title = title || ' (' || id || ')' "
        "WHERE origin = ? AND title = ? AND id <> ?",
        (origin, row["title"], row["id"]),
    )
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name != "id")
    server.run(
        f"INSERT INTO sessions({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT(id) DO UPDATE SET {changes}",
        tuple(columns.values()),
    )


def _send_messages(
    tx: Transaction, server: Transaction, session_id: str, hub_id: str
) -> tuple[int, int]:
    """Make the messages on the server those of the file; return how many were sent and removed."""
    there = dict(
        server.rows(
            "SELECT origin_message_id, origin_sum FROM messages "
            "WHERE session_id = ? AND origin_message_id IS NOT NULL",
            (hub_id,),
        )
    )
    written_there = _written_there(server, hub_id)
    expected: dict[int, int] = {}
    first: int | None = None
    sent = 0
    present = tx.caps.message_columns
    selected = ", ".join(f'm."{name}"' if name in present else "NULL" for name in MESSAGE)
    for message_id, *values in tx.stream(
        f"SELECT m.id, {selected} FROM messages m WHERE m.session_id = ? ORDER BY m.id",
        (session_id,),
    ):
        message = stored_forms.formed(MESSAGE, values)
        expected[message_id] = stored_forms.checksum(message)
        if there.get(message_id) == expected[message_id]:
            continue
        stored = {**message, "origin_sum": expected[message_id], "origin_message_id": message_id}
        changes = ", ".join(f"{name} = ?" for name in stored)
        brought_back = written_there.get(_said(message))
        if message_id in there:
            server.run(
                f"UPDATE messages SET {changes} WHERE session_id = ? AND origin_message_id = ?",
                (*stored.values(), hub_id, message_id),
            )
        elif brought_back:
            server.run(
                f"UPDATE messages SET {changes} WHERE id = ?",
                (*stored.values(), brought_back.pop()),
            )
        else:
            stored |= {"session_id": hub_id}
            marks = ", ".join("?" * len(stored))
            number = server.insert(
                f"INSERT INTO messages({', '.join(stored)}) VALUES ({marks})",
                tuple(stored.values()),
            )
            first = number if first is None else first
        sent += 1
    gone = [message_id for message_id in there if message_id not in expected]
    if gone:
        server.run(
            "DELETE FROM messages WHERE session_id = ? AND origin_message_id IN "
            "(SELECT CAST(value AS BIGINT) FROM json_each(?))",
            (hub_id, json.dumps(gone)),
        )
    if first is not None:
        late_messages.note(server, hub_id, first)
    if sent or gone:
        verify(server, hub_id, expected)
    return sent, len(gone)


def _said(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what makes a message the same wherever it is stored."""
    return tuple(message[name] for name in _SAME)


def _written_there(server: Transaction, hub_id: str) -> dict[tuple[Any, ...], list[int]]:
    """Return the messages of a session that were written on the server; `pull` brings them here."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for message_id, *values in server.stream(
        f"SELECT m.id, {', '.join(f'm.{name}' for name in MESSAGE)} FROM messages m "
        "WHERE m.session_id = ? AND m.origin_message_id IS NULL ORDER BY m.id DESC",
        (hub_id,),
    ):
        said = _said(stored_forms.formed(MESSAGE, values))
        found.setdefault(said, []).append(message_id)
    return found


def verify(server: Transaction, hub_id: str, expected: dict[int, int]) -> None:
    """Read the messages of a session back and compare them; raise if anything differs."""
    found = {
        message_id: stored_forms.checksum(stored_forms.formed(MESSAGE, values))
        for message_id, *values in server.stream(
            f"SELECT m.origin_message_id, {', '.join(f'm.{name}' for name in MESSAGE)} "
            "FROM messages m WHERE m.session_id = ? AND m.origin_message_id IS NOT NULL",
            (hub_id,),
        )
    }
    if found != expected:
        raise DatabaseCorrupt(
            f"What the server stored of session {hub_id} is not what was sent. Nothing of it was "
            "kept; push again, and if this happens again, check the server."
        )
