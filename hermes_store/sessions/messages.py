"""Messages of a session: append, replace, read, and convert into the form a model is sent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import apsw

from hermes_store.engines.sqlite.schema import MESSAGE_COLUMNS
from hermes_store.engines.sqlite.session_activity_temp_view import shown_messages
from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import InvalidInput, SessionInUse, SessionNotFound
from hermes_store.records import message_content as contents
from hermes_store.records import stored_values, tool_calls
from hermes_store.records.message import Message
from hermes_store.sessions import late_messages, lineage, session_rows

SAID = (
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "token_count",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
)
"""The columns of a message, except its id and its session."""
_COLUMNS = ("session_id", *SAID)
_JSON_COLUMNS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")
_INSERT = f"INSERT INTO messages({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"

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
    made = {
        "session_id": session_id,
        "role": message.get("role", "unknown"),
        "content": contents.encode(message.get("content")),
        "timestamp": moment,
    }
    for name in ("tool_calls", *_JSON_COLUMNS):
        if message.get(name) is not None:
            made[name] = contents.encode_json(message[name])
    try:
        return tx.insert(_INSERT, [made[n] if n in made else message.get(n) for n in _COLUMNS])
    except apsw.ConstraintError:
        if session_rows.exists(tx, session_id):
            raise
        raise SessionNotFound(session_id) from None


def insert_row(
    tx: Transaction, session_id: str, stored: Mapping[str, Any], message_id: int | None = None
) -> int:
    """Add a message from the stored form of its columns and return its id.

    For imports: the caller may set the id, and updates the counters of the session.
    """
    _refuse_while_compressing(tx, session_id)
    values = [session_id, *(stored.get(name) for name in _COLUMNS[1:])]
    if message_id is None:
        return tx.insert(_INSERT, values)
    marks = ", ".join("?" * (len(_COLUMNS) + 1))
    columns = f"id, {', '.join(_COLUMNS)}"
    return tx.insert(f"INSERT INTO messages({columns}) VALUES ({marks})", (message_id, *values))


def append(
    tx: Transaction, session_id: str, message: Mapping[str, Any], timestamp: float | None = None
) -> int:
    """Add a message to the end of a session and return its id."""
    _refuse_while_compressing(tx, session_id)
    moment = time.time() if timestamp is None else timestamp
    if not isfinite(moment):
        raise InvalidInput(f"{moment} is not a valid timestamp for a message.")
    message_id = _insert(tx, session_id, message, moment)
    tx.run(
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + 1, "
        "tool_call_count = COALESCE(tool_call_count, 0) + ? WHERE id = ?",
        (tool_calls.count(message.get("tool_calls")), session_id),
    )
    if timestamp is not None and timestamp < time.time() - late_messages.TOLERANCE:
        late_messages.note_newest(tx, session_id, message_id, timestamp)
    return message_id


def _refuse_while_compressing(tx: Transaction, session_id: str) -> None:
    """A newer Hermes locks a session while compressing it; messages added then would be lost."""
    if "compression_locks" not in tx.caps.tables:
        return
    holder = tx.value(
        "SELECT holder FROM compression_locks WHERE session_id = ? AND expires_at > ?",
        (session_id, time.time()),
    )
    if holder is not None:
        raise SessionInUse(
            f"Session {session_id} is being compressed by {holder}. Try again in a moment."
        )


def replace(tx: Transaction, session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Replace all messages of a session."""
    _refuse_while_compressing(tx, session_id)
    tx.run("DELETE FROM messages WHERE session_id = ?", (session_id,))
    now = time.time()
    for place, message in enumerate(messages):
        # A microsecond apart, so that ordering by time keeps the given order.
        _insert(tx, session_id, message, now + place * 1e-6)
    tx.run(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?",
        (len(messages), sum(tool_calls.count(m.get("tool_calls")) for m in messages), session_id),
    )


def clear(tx: Transaction, session_id: str) -> None:
    """Remove all messages of a session but keep the session."""
    replace(tx, session_id, ())


ALL = "1"
"""The SQL condition that is true for every message."""


def visible(tx: Transaction, alias: str = "m") -> str:
    """Return the SQL condition for messages that are currently part of the conversation."""
    return shown_messages(tx.caps, alias)


def findable(tx: Transaction, alias: str = "m") -> str:
    """Return the SQL condition for messages that search may show, including summarized ones."""
    conditions = []
    if tx.caps.has_message("active"):
        compacted = f" OR {alias}.compacted = 1" if tx.caps.has_message("compacted") else ""
        conditions.append(f"(COALESCE({alias}.active, 1) = 1{compacted})")
    if tx.caps.has_message("display_kind"):
        conditions.append(f"COALESCE({alias}.display_kind, '') <> 'hidden'")
    return " AND ".join(conditions) or ALL


def iterate(tx: Transaction, session_id: str, *, after_id: int = 0) -> Iterator[Message]:
    """Yield the messages of a session in order as they are read."""
    found = tx.rows(
        f"SELECT {_selected(tx)} FROM messages m WHERE m.session_id = ? AND m.id > ? "
        f"AND {visible(tx)} ORDER BY m.id",
        (session_id, after_id),
    )
    yield from map(_message, found)


def with_ids(tx: Transaction, ids: Sequence[int]) -> Iterator[Message]:
    """Yield the messages with these ids, in no particular order."""
    found = tx.rows(
        f"SELECT {_selected(tx)} FROM json_each(?) wanted "
        "CROSS JOIN messages m ON m.id = wanted.value",
        (json.dumps(list(ids)),),
    )
    yield from map(_message, found)


def _selected(tx: Transaction) -> str:
    present = tx.caps.message_columns
    return ", ".join(f"m.{name}" if name in present else "NULL" for name in _FIELDS)


def _message(row: tuple[Any, ...]) -> Message:
    values = {name: _READERS[name](value) for name, value in zip(_FIELDS, row, strict=True)}
    return Message(**values)


def iterate_rows(
    tx: Transaction, session_id: str, *, after_id: int = 0
) -> Generator[dict[str, Any], None, None]:
    """Yield all columns of a session's messages as they are read, with JSON decoded."""
    present = tx.caps.message_columns
    missing = [column.name for column in MESSAGE_COLUMNS if column.name not in present]
    names = (*present, *missing)
    selected = ", ".join([f"m.{name}" for name in present] + ["NULL"] * len(missing))
    found = tx.rows(
        f"SELECT {selected} FROM messages m WHERE m.session_id = ? AND m.id > ? "
        f"AND {visible(tx)} ORDER BY m.id",
        (session_id, after_id),
    )
    for values in found:
        message = dict(zip(names, values, strict=True))
        message["content"] = contents.decode(message["content"])
        if message["tool_calls"]:
            message["tool_calls"] = contents.decode_json(message["tool_calls"])
        yield message


def rows(tx: Transaction, session_id: str) -> list[dict[str, Any]]:
    """Return all columns of a session's messages, with content and tool calls decoded."""
    return list(iterate_rows(tx, session_id))


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
        for name in _JSON_COLUMNS:
            if message.get(name):
                replayed[name] = contents.decode_json(message[name])
    return replayed


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
