"""Write one imported session to the store, or add the messages that the store lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from typing import Any, NamedTuple

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.schema import SESSION_COLUMNS
from hermes_store.errors import TitleTooLong
from hermes_store.records import tool_calls
from hermes_store.records.message_content import MARKER
from hermes_store.records.transfer import Imported, Kind, Outcome
from hermes_store.sessions import late_messages, messages, model_usage, session_rows, titles
from hermes_store.transfer.export_jsonl import dump
from hermes_store.transfer.parse_import import (
    LATER_OF_SESSIONS,
    Record,
    Refused,
    as_json,
    shown,
)

_BY_HAND = frozenset({"id", "source", "parent_session_id", "title"})
# Taken from the longer of two versions of a session.
_GROWING = (
    "ended_at",
    "end_reason",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost_usd",
    "actual_cost_usd",
    "api_call_count",
)
# Rows that a transcript never has, though the database may.
_NOT_IN_TRANSCRIPTS = frozenset({"session_meta", "system"})
# Leaves room for a trillion new messages after the highest id that a file may bring.
_HIGHEST_KEPT_ID = 2**40


def write(
    tx: Transaction, record: Record, line: int, *, kind: Kind, keep_message_ids: bool
) -> Imported:
    """Write a session to the store or extend it, in a transaction of its own."""
    exists = session_rows.exists(tx, record.id)
    if exists or not tx.caps.has_message("active"):
        _leave_out(record, hidden=exists)
    if exists:
        outcome, written = _merge(tx, record, kind)
    else:
        outcome, written = Outcome.ADDED, _add(tx, record, keep_message_ids)
    note = " ".join(record.notes) or None
    return Imported(outcome, line, record.id, written, note)


def _leave_out(record: Record, *, hidden: bool) -> None:
    """Leave out what was taken back, where it could not be told from the conversation.

    With `hidden`, also what is hidden: a session that exists is compared by what people read.
    """
    if hidden:
        record.messages = [e for e in record.messages if e.get("display_kind") != "hidden"]
    kept = [each for each in record.messages if each.get("active") != 0 or each.get("compacted")]
    gone = len(record.messages) - len(kept)
    if gone:
        record.messages = kept
        record.notes.append(f"Messages that were taken back were left out: {gone:,}.")


# -- a session that is new ---------------------------------------------------------------------


def _add(tx: Transaction, record: Record, keep_message_ids: bool) -> int:
    columns = record.columns
    session_rows.create(
        tx,
        record.id,
        columns["source"],
        model=columns.get("model"),
        parent_session_id=_parent(tx, record),
        started_at=columns["started_at"],
    )
    if "session_model_usage" in tx.caps.tables and any(columns.get(name) for name in _GROWING):
        model_usage.add(tx, record.id, columns)
    columns = columns | _counters(record)
    names = [each.name for each in SESSION_COLUMNS if each.name not in _BY_HAND]
    names += [name for name in LATER_OF_SESSIONS if tx.caps.has_session(name)]
    _update(tx, record.id, {name: columns[name] for name in names if name in columns})
    _name(tx, record)
    _insert(tx, record.id, record.messages, _kept_ids(tx, record) if keep_message_ids else None)
    return len(record.messages)


def _parent(tx: Transaction, record: Record) -> str | None:
    parent: str | None = record.columns.get("parent_session_id")
    if not parent:
        return None
    if parent != record.id and session_rows.exists(tx, parent):
        return parent
    record.notes.append(f"Its parent {shown(parent)} is missing; it was imported without a parent.")
    return None


def _counters(record: Record) -> dict[str, int]:
    """Return the counters of a session, counting those that the file lacks.

    Lists of newer versions hide a session that claims to have no messages.
    """
    said, called = record.columns.get("message_count"), record.columns.get("tool_call_count")
    calls = sum(tool_calls.count(each["tool_calls"]) for each in record.messages)
    return {
        "message_count": said if said and said > 0 else len(record.messages),
        "tool_call_count": called if called is not None and called >= 0 else calls,
    }


def _name(tx: Transaction, record: Record) -> None:
    """Set the title of a session, with the next free number if it is taken."""
    wanted = record.columns.get("title")
    try:
        title = titles.sanitize(wanted)
    except TitleTooLong:
        title = titles.sanitize(str(wanted)[: titles.MAX_LENGTH])
        record.notes.append("Its title was too long and was shortened.")
    if title is None:
        return
    if titles.holder_of(tx, title) is not None:
        taken, title = title, titles.next_in_lineage(tx, title)
        record.notes.append(f"Its title '{shown(taken)}' is taken; it is now '{shown(title)}'.")
    titles.assign(tx, record.id, title)


def _update(tx: Transaction, session_id: str, columns: Mapping[str, Any]) -> None:
    changes = ", ".join(f"{name} = ?" for name in columns)
    tx.run(f"UPDATE sessions SET {changes} WHERE id = ?", (*columns.values(), session_id))


def _kept_ids(tx: Transaction, record: Record) -> list[int] | None:
    """Return the former message ids if all of them are free and in order."""
    ids = [each["id"] for each in record.messages]
    if not all(type(each) is int and 0 < each <= _HIGHEST_KEPT_ID for each in ids):
        return None
    if any(after <= before for before, after in pairwise(ids)):
        return None
    taken = any(tx.one("SELECT 1 FROM messages WHERE id = ?", (each,)) for each in ids)
    return None if taken else ids


def _insert(
    tx: Transaction,
    session_id: str,
    said: Iterable[Mapping[str, Any]],
    ids: list[int] | None = None,
) -> None:
    first: int | None = None
    for place, message in enumerate(said):
        stored = dict(message) | {
            "content": _content(message["content"]),
            "tool_calls": _tool_calls(message["tool_calls"]),
        }
        given = messages.insert_row(tx, session_id, stored, ids[place] if ids else None)
        first = given if first is None else first
    if first is not None:
        late_messages.note(tx, session_id, first)


def _content(content: Any) -> str | None:
    if content is None:
        return None
    if isinstance(content, str) and not content.startswith(MARKER):
        return content
    # Text that starts with the marker would be misread; as JSON it is safe.
    return MARKER + as_json(content)


def _tool_calls(calls: Any) -> str | None:
    return calls if calls is None or calls == "" else as_json(calls)


# -- a session that exists ---------------------------------------------------------------------


class _Meeting(NamedTuple):
    """The comparison of the messages in the store with those in the file."""

    stored: int
    last: float | None
    alike: bool
    """Whether the shorter of the two is the beginning of the longer."""


def _merge(tx: Transaction, record: Record, kind: Kind) -> tuple[Outcome, int]:
    met = _meet(tx, record, kind)
    brought = len(record.messages)
    last = record.messages[-1]["timestamp"] if record.messages else None
    if met.stored == brought and met.last == last:
        return Outcome.PRESENT, 0
    if not met.alike or (met.stored == brought and kind is Kind.EXPORT):
        raise Refused("The database has a different conversation with this id and keeps it.")
    if met.stored >= brought:
        return Outcome.PRESENT, 0
    tail = record.messages[met.stored :]
    _insert(tx, record.id, tail)
    _grow(tx, record, tail, kind)
    return Outcome.EXTENDED, len(tail)


def _meet(tx: Transaction, record: Record, kind: Kind) -> _Meeting:
    stored, last, alike = 0, None, True
    which = messages.Which.READ if kind is Kind.EXPORT else messages.Which.SENT
    with closing(messages.iterate_rows(tx, record.id, which)) as found:
        for row in comparable(found, kind):
            if alike and stored < len(record.messages):
                alike = is_same(row, record.messages[stored])
            stored += 1
            last = row["timestamp"]
    return _Meeting(stored, last, alike)


def comparable(found: Iterator[dict[str, Any]], kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield the rows of the store that a file of this kind can contain."""
    for row in found:
        if kind is Kind.EXPORT or row["role"] not in _NOT_IN_TRANSCRIPTS:
            yield row


def is_same(stored: Mapping[str, Any], brought: Mapping[str, Any]) -> bool:
    """Tell whether a row of the store and a message of a file are the same."""
    # Ignores the time: the gateway stamps the transcript and the database separately.
    return stored["role"] == brought["role"] and dump(stored["content"]) == dump(brought["content"])


def _grow(tx: Transaction, record: Record, tail: list[dict[str, Any]], kind: Kind) -> None:
    tx.run(
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?, "
        "tool_call_count = COALESCE(tool_call_count, 0) + ? WHERE id = ?",
        (len(tail), sum(tool_calls.count(each["tool_calls"]) for each in tail), record.id),
    )
    known = {name: record.columns[name] for name in _GROWING if name in record.columns}
    if kind is Kind.EXPORT and known:
        _update(tx, record.id, known)
