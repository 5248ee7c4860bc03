"""Messages of a session: append, replace, read, and convert into the form a model is sent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from hermes_store.engines import message_states
from hermes_store.engines.base import (
    Database,
    NoSuchRow,
    Transaction,
    add_message,
    insertion,
)
from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import SessionNotFound
from hermes_store.records import message_content as contents
from hermes_store.records import stored_values, tool_calls
from hermes_store.records.message import Message, State
from hermes_store.sessions import late_messages, lineage, message_order, new_message
from hermes_store.sessions.new_message import JSON_COLUMNS, LATER, SAID

_FIELDS = (
    "id",
    "session_id",
    "role",
    "timestamp",
    "content",
    "tool_name",
    "tool_calls",
    "tool_call_id",
    "token_count",
    "finish_reason",
    "reasoning",
)

_READERS: dict[str, Callable[[Any], Any]] = dict.fromkeys(_FIELDS, stored_values.optional_text) | {
    "id": stored_values.count,
    "session_id": stored_values.text,
    "role": stored_values.text,
    "timestamp": stored_values.moment,
    "content": lambda value: contents.decode(stored_values.optional_text(value)),
    "tool_calls": lambda value: contents.decode_json(stored_values.optional_text(value)),
    "token_count": stored_values.optional_count,
}

# Text that a memory provider inserted into a turn; a replay must not repeat it.
_RECALLED = (
    re.compile(r"<\s*memory-context\s*>.*?<\s*/\s*memory-context\s*>", re.DOTALL | re.I),
    re.compile(r"\[System note: The following is recalled memory context[^\]]*\]\s*", re.I),
    re.compile(r"<\s*/?\s*memory-context\s*>", re.I),
)


def _insert(tx: Transaction, session_id: str, message: Mapping[str, Any], moment: float) -> int:
    try:
        return _insert_columns(tx, new_message.columns(tx.caps, session_id, message, moment))
    except NoSuchRow:
        raise SessionNotFound(session_id) from None


def insert_row(
    tx: Transaction, session_id: str, stored: Mapping[str, Any], message_id: int | None = None
) -> int:
    """Add a message from the stored form of its columns and return its id.

    For imports: the caller may set the id, and updates the counters of the session.
    """
    row = {"session_id": session_id} | {name: stored.get(name) for name in SAID}
    row |= {n: v for n, v in stored.items() if n in LATER and tx.caps.has_message(n)}
    if message_id is not None:
        row["id"] = message_id
    return _insert_columns(tx, row)


def _insert_columns(tx: Transaction, row: Mapping[str, Any]) -> int:
    statement = insertion(row)
    return tx.insert(statement.sql, statement.values)


def append(
    tx: Transaction, session_id: str, message: Mapping[str, Any], timestamp: float | None = None
) -> int:
    """Add a message to the end of a session and return its id.

    A session that Hermes Agent is compressing takes messages, too: whoever holds its lock may be
    dead, and compressing keeps what was added in the meantime.
    """
    moment = new_message.moment_of(timestamp)
    message_id = add_message(tx, new_message.made(tx.caps, session_id, message, moment))
    if is_late(timestamp):
        late_messages.note_newest(tx, session_id, message_id, moment)
    return message_id


def append_alone(
    database: Database, session_id: str, message: Mapping[str, Any], timestamp: float | None
) -> int:
    """Add a message to the end of a session, in a transaction of its own; return its id."""
    if is_late(timestamp):
        return database.change(lambda tx: append(tx, session_id, message, timestamp))
    moment = new_message.moment_of(timestamp)
    return database.append(lambda caps: new_message.made(caps, session_id, message, moment))


def is_late(timestamp: float | None) -> bool:
    """Tell whether a message of this time does not belong at the end of all messages."""
    return timestamp is not None and timestamp < time.time() - late_messages.TOLERANCE


def replace(tx: Transaction, session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Replace all messages of a session; those that say when they were sent keep their times."""
    tx.run("DELETE FROM messages WHERE session_id = ?", (session_id,))
    now = time.time()
    first: int | None = None
    moment = now
    for message in messages:
        said_at = stored_values.number(message.get("timestamp"))
        at = moment if said_at is None else said_at
        message_id = _insert(tx, session_id, message, at)
        first = message_id if first is None else first
        # A microsecond apart, so that ordering by time keeps the given order.
        moment = max(moment, at) + 1e-6
    tx.run(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?",
        (len(messages), sum(tool_calls.count(m.get("tool_calls")) for m in messages), session_id),
    )
    if first is not None and any(each.get("timestamp") is not None for each in messages):
        late_messages.note(tx, session_id, first)


def clear(tx: Transaction, session_id: str) -> None:
    """Remove all messages of a session but keep the session."""
    replace(tx, session_id, ())


class Which(Enum):
    """Which messages of a session are wanted."""

    SENT = "sent"
    """What a model is sent, by id."""
    READ = "read"
    """What a person reads, in that order; see `message_order`."""
    ALL = "all"
    """Also what was taken back or is hidden."""


READ_AT_ONCE = 500


def iterate(
    tx: Transaction, session_id: str, *, everything: bool = False
) -> Generator[Message, None, None]:
    """Yield the messages of a session as a person reads them."""
    ids = message_order.arrange(tx, session_id, everything=everything).ids
    for start in range(0, len(ids), READ_AT_ONCE):
        yield from by_id(tx, ids[start : start + READ_AT_ONCE])


def with_ids(tx: Transaction, ids: Sequence[int]) -> Iterator[Message]:
    """Yield the messages with these ids, in no particular order."""
    found = tx.rows(
        f"SELECT {_selected(tx)} FROM json_each(?) wanted "
        "CROSS JOIN messages m ON m.id = CAST(wanted.value AS BIGINT)",
        (json.dumps(list(ids)),),
    )
    yield from map(_message, found)


def _selected(tx: Transaction) -> str:
    present = tx.caps.message_columns
    columns = [f"m.{name}" if name in present else "NULL" for name in _FIELDS]
    return ", ".join([*columns, message_states.state(tx.caps)])


def _message(row: tuple[Any, ...]) -> Message:
    *stored, state = row
    values = {name: _READERS[name](value) for name, value in zip(_FIELDS, stored, strict=True)}
    return Message(**values, state=State(state))


def iterate_rows(
    tx: Transaction, session_id: str, which: Which = Which.SENT, *, after_id: int = 0
) -> Generator[dict[str, Any], None, None]:
    """Yield all columns of a session's messages as they are read, with JSON decoded.

    `after_id` is for those that a model is sent.
    """
    present = tx.caps.message_columns
    missing = [column.name for column in MESSAGE_COLUMNS if column.name not in present]
    names = (*present, *missing)
    selected = ", ".join([f"m.{quote(name)}" for name in present] + ["NULL"] * len(missing))
    if which is Which.SENT:
        found = tx.stream(
            f"SELECT {selected} FROM messages m WHERE m.session_id = ? AND m.id > ? "
            f"AND {message_states.sent(tx.caps)} ORDER BY m.id",
            (session_id, after_id),
        )
    else:
        found = _in_order(tx, session_id, selected, everything=which is Which.ALL)
    for values in found:
        message = dict(zip(names, values, strict=True))
        message["content"] = contents.decode(message["content"])
        if message["tool_calls"]:
            message["tool_calls"] = contents.decode_json(message["tool_calls"])
        yield message


def _in_order(
    tx: Transaction, session_id: str, selected: str, *, everything: bool
) -> Iterator[tuple[Any, ...]]:
    ids = message_order.arrange(tx, session_id, everything=everything).ids
    for start in range(0, len(ids), READ_AT_ONCE):
        # The key is the place in the list of ids.
        yield from tx.stream(
            f"SELECT {selected} FROM json_each(?) wanted "
            "CROSS JOIN messages m ON m.id = CAST(wanted.value AS BIGINT) ORDER BY wanted.key",
            (json.dumps(list(ids[start : start + READ_AT_ONCE])),),
        )


def rows(tx: Transaction, session_id: str, which: Which = Which.SENT) -> list[dict[str, Any]]:
    """Return all columns of a session's messages, with content and tool calls decoded."""
    return list(iterate_rows(tx, session_id, which))


def conversation(
    tx: Transaction, session_id: str, *, include_ancestors: bool = False
) -> list[dict[str, Any]]:
    """Return a session's messages in the form a chat model is sent.

    With ancestors, it includes the messages of the sessions that it continues, all in the order
    they were written; a user message repeated where two sessions meet appears once.
    """
    ids = lineage.own_path(tx, session_id) if include_ancestors else (session_id,)
    found = [message for segment in ids for message in rows(tx, segment)]
    result: list[dict[str, Any]] = []
    for message in sorted(found, key=lambda each: int(each["id"])):
        replayed = _replayed(message)
        if tx.caps.foreign:
            replayed |= _kept(message)
        if include_ancestors and _is_repeated(result, replayed):
            continue
        result.append(replayed)
    return result


def _replayed(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, bytes):
        content = stored_values.text(content)
    if isinstance(content, str) and message["role"] in ("user", "assistant"):
        for pattern in _RECALLED:
            content = pattern.sub("", content)
        content = content.strip()
    replayed: dict[str, Any] = {"role": stored_values.text(message["role"]), "content": content}
    for name in ("tool_call_id", "tool_name", "tool_calls"):
        if message.get(name):
            replayed[name] = message[name]
    if message["role"] == "assistant":
        for name in ("finish_reason", "reasoning"):
            if message.get(name):
                replayed[name] = message[name]
        if message.get("reasoning_content") is not None:
            replayed["reasoning_content"] = message["reasoning_content"]
        for name in JSON_COLUMNS:
            if message.get(name):
                replayed[name] = contents.decode_json(message[name])
    return replayed


def _kept(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what newer versions send along, so that replacing messages does not lose it."""
    names = ("api_content", "timestamp", "effect_disposition", "display_kind")
    kept = {name: message[name] for name in names if message.get(name)}
    for name in ("display_metadata", "hook_trace"):
        if message.get(name):
            kept[name] = contents.decode_json(message[name])
    if message.get("platform_message_id"):
        kept["message_id"] = message["platform_message_id"]
    if message.get("observed"):
        kept["observed"] = True
    return kept


def _is_repeated(before: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> bool:
    """Return whether the same user message already appears after the last answer."""
    text = message["content"]
    if message["role"] != "user" or not isinstance(text, str) or not text:
        return False
    for earlier in reversed(before):
        if earlier["role"] == "user" and earlier["content"] == text:
            return True
        if earlier["role"] == "assistant" and (earlier["content"] or earlier.get("tool_calls")):
            return False
    return False


def count(tx: Transaction, session_id: str | None = None) -> int:
    """Return the number of messages, in total or in one session."""
    if session_id is None:
        return int(tx.value("SELECT COUNT(*) FROM messages"))
    return int(tx.value("SELECT COUNT(*) FROM messages WHERE session_id = ?", (session_id,)))


def newest_id(tx: Transaction, session_id: str) -> int:
    """Return the highest message id of a session; 0 if it has no messages."""
    return int(tx.value("SELECT MAX(id) FROM messages WHERE session_id = ?", (session_id,)) or 0)


def by_id(tx: Transaction, ids: Sequence[int]) -> list[Message]:
    """Return messages in the order of `ids`; missing ones are skipped."""
    found = {message.id: message for message in with_ids(tx, ids)}
    return [found[each] for each in ids if each in found]
