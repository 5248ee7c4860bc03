"""The conversations in the trash: which copies of a deletion belong together.

The copies say how they relate to each other in the columns of their sessions, and the rule for
that is the same as in the session database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.in_memory import in_memory
from hermes_store.engines.sqlite.raw_rows import readable
from hermes_store.engines.sqlite.session_activity_table import edge
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.relation_to_parent import LISTED, Edge, Known
from hermes_store.records.stored_values import count, moment, optional_text, text
from hermes_store.records.trash import TrashedConversation
from hermes_store.trash.session_copy import Header

_COLUMNS = (
    "id", "parent_session_id", "model_config", "started_at", "ended_at", "end_reason", "source",
    "session_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Copy:
    session_id: str
    parent_id: str | None
    title: str | None
    name: str
    source: str
    messages: int
    bytes: int
    columns: dict[str, Any]


def conversations(tx: Transaction, hidden: set[int]) -> tuple[TrashedConversation, ...]:
    """Return the conversations in the trash, the latest deletion first, each by its start."""
    found: dict[int, list[_Copy]] = {}
    rows = tx.rows(
        "SELECT id, batch_id, session_id, parent_id, title, name, source, messages, bytes, header "
        "FROM trash_entries ORDER BY started_at, id"
    )
    for entry_id, batch_id, *rest in rows:
        if entry_id not in hidden:
            found.setdefault(batch_id, []).append(_copy(*rest))
    heads = tx.rows("SELECT id, deleted_at, reason FROM trash_batches ORDER BY id DESC")
    return tuple(
        _conversation(head, members, titles)
        for head in list(heads)
        if head[0] in found
        for members, titles in _together(found[head[0]])
    )


def _copy(session_id: Any, parent: Any, title: Any, name: Any, source: Any, *rest: Any) -> _Copy:
    messages, size, header = rest
    try:
        session = Header.unpacked(header if isinstance(header, bytes) else b"").session
    except DatabaseCorrupt:
        session = {}  # restoring it says so
    columns = {each: readable(session.get(each)) for each in _COLUMNS}
    columns |= {"id": text(session_id), "parent_session_id": optional_text(parent)}
    return _Copy(
        text(session_id),
        optional_text(parent),
        optional_text(title),
        text(name),
        text(source),
        count(messages),
        count(size),
        columns,
    )


def _together(copies: Sequence[_Copy]) -> Iterable[tuple[list[_Copy], list[str]]]:
    """Group the copies of a deletion by conversation, as deleting does; with their titles."""
    edges = _edges(copies)
    parents = {each.session_id: each.parent_id for each in copies}
    groups: dict[str, list[_Copy]] = {}
    for each in copies:
        head, seen = each.session_id, {each.session_id}
        while (parent := parents[head]) in parents and parent not in seen:
            if edges.get(head, Edge.ROOT) in LISTED:
                break
            head = str(parent)
            seen.add(head)
        groups.setdefault(head, []).append(each)
    for head, members in groups.items():
        chain = [each for each in members if edges.get(each.session_id) is not Edge.AGENT]
        titles = [each.title for each in chain or members if each.title]
        yield sorted(members, key=lambda each: each.session_id != head), titles


def _edges(copies: Sequence[_Copy]) -> dict[str, Edge]:
    columns = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in _COLUMNS)
    rule = edge("c", "p", Known(session_keys=True))
    rows = in_memory(
        f"WITH copies AS MATERIALIZED (SELECT {columns} FROM json_each(?)) "
        f"SELECT c.id, {rule} FROM copies c LEFT JOIN copies p ON p.id = c.parent_session_id",
        (json.dumps([_plain(each.columns) for each in copies]),),
    )
    return {text(session_id): Edge(text(found)) for session_id, found in rows}


def _plain(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns without what JSON cannot hold, which decides nothing here."""
    return {
        name: value if isinstance(value, str | int | float) else None
        for name, value in columns.items()
    }


def _conversation(
    head: tuple[Any, ...], members: Sequence[_Copy], titles: Sequence[str]
) -> TrashedConversation:
    batch_id, deleted_at, reason = head
    return TrashedConversation(
        batch_id=batch_id,
        deleted_at=moment(deleted_at),
        reason=text(reason),
        name=titles[-1] if titles else members[0].name,
        source=members[0].source,
        session_ids=tuple(each.session_id for each in members),
        messages=sum(each.messages for each in members),
        bytes=sum(each.bytes for each in members),
    )
