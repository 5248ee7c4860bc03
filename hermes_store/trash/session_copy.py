"""Complete copies of sessions, from which they can be restored exactly.

A copy holds raw column values, whatever columns the database has. Messages are packed and put
back in chunks, so that even the longest session needs little memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.raw_rows import RawText, readable
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.message_content import stored_preview
from hermes_store.sessions import lineage

CHUNK_ROWS = 500
CHUNK_CHARACTERS = 1_000_000
USAGE = "session_model_usage"

# Changing these in place does not change the length of a row.
_SUMMED = ("id", "token_count", "active", "compacted", "observed")
# Never change during the life of a session, not even when it is renamed or moved.
_IDENTITY = ("source", "started_at")
_SAID = ("role", "content", "tool_calls", "tool_name", "tool_call_id", "timestamp")


@dataclass(frozen=True, slots=True)
class Header:
    """A copy without its messages."""

    session: dict[str, Any]
    usage: tuple[dict[str, Any], ...]
    message_columns: tuple[str, ...]
    ancestors: tuple[str, ...]
    """The ids of its ancestors when it was copied, nearest first."""
    prompt: str | None = None
    """The system prompt, if the database stores it apart from the session."""
    files: tuple[str, ...] = ()

    @property
    def session_id(self) -> str:
        """The id of the copied session."""
        return str(self.session["id"])

    def packed(self) -> bytes:
        """Return the stored form."""
        return _pack({name: getattr(self, name) for name in Header.__slots__})

    @staticmethod
    def unpacked(data: bytes) -> Header:
        """Return the header of a stored copy."""
        found = _unpack(data)
        try:
            return Header(
                session=found["session"],
                usage=tuple(found["usage"]),
                message_columns=tuple(found["message_columns"]),
                ancestors=tuple(found["ancestors"]),
                prompt=found["prompt"],
                files=tuple(found["files"]),
            )
        except (KeyError, TypeError) as error:
            raise _unusable(error) from error


# -- packing -----------------------------------------------------------------------------------


def _as_json(value: Any) -> Any:
    if isinstance(value, RawText):
        return {"text": base64.b64encode(value).decode()}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value)} is not a database value")


def _from_json(value: dict[str, Any]) -> Any:
    if value.keys() == {"text"}:
        return RawText(base64.b64decode(value["text"]))
    return base64.b64decode(value["bytes"]) if value.keys() == {"bytes"} else value


def _pack(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, default=_as_json, separators=(",", ":"))
    return zlib.compress(text.encode())


def _unpack(data: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(data), object_hook=_from_json)
    except (ValueError, zlib.error) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"The copy in the trash is damaged ({error}).")


def unpack_rows(data: bytes) -> list[list[Any]]:
    """Return the messages of a chunk as lists of column values."""
    rows: list[list[Any]] = _unpack(data)
    return rows


# -- taking a copy -----------------------------------------------------------------------------


def header(tx: Transaction, session_id: str, files: Sequence[str] = ()) -> Header | None:
    """Return everything of a session except its messages; None if it is gone."""
    session = _session(tx, session_id)
    if session is None:
        return None
    prompt = None
    if session.get("system_prompt_hash") is not None and "system_prompts" in tx.caps.tables:
        prompt = tx.value(
            "SELECT prompt FROM system_prompts WHERE hash = ?", (session["system_prompt_hash"],)
        )
    above = lineage.path_from_root(tx, session_id)[:-1]
    return Header(
        session=session,
        usage=_usage(tx, session_id),
        message_columns=tx.caps.message_columns,
        ancestors=tuple(reversed(above)),
        prompt=prompt,
        files=tuple(files),
    )


def _session(tx: Transaction, session_id: str) -> dict[str, Any] | None:
    names = tx.caps.session_columns
    row = next(tx.stored_rows(names, "sessions WHERE id = ?", (session_id,)), None)
    return None if row is None else dict(zip(names, row, strict=True))


def _usage(tx: Transaction, session_id: str) -> tuple[dict[str, Any], ...]:
    names = usage_columns(tx)
    if not names:
        return ()
    rows = tx.stored_rows(names, f"{USAGE} WHERE session_id = ?", (session_id,))
    return tuple(dict(zip(names, row, strict=True)) for row in rows)


def usage_columns(tx: Transaction) -> tuple[str, ...]:
    if USAGE not in tx.caps.tables:
        return ()
    return tx.columns(USAGE)


def chunks(tx: Transaction, session_id: str) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of a session in packed chunks, each with its message count."""
    gathered: list[tuple[Any, ...]] = []
    size = 0
    for row in _messages(tx, session_id, tx.caps.message_columns):
        gathered.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(gathered) >= CHUNK_ROWS or size >= CHUNK_CHARACTERS:
            yield len(gathered), _pack(gathered)
            gathered, size = [], 0
    if gathered:
        yield len(gathered), _pack(gathered)


def _messages(
    tx: Transaction, session_id: str, columns: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    source = "messages WHERE session_id = ? ORDER BY id"
    return tx.stored_rows(columns, source, (session_id,))


def children(tx: Transaction, session_id: str) -> list[tuple[str, Any]]:
    """Return id and model_config of the children of a session."""
    source = "sessions WHERE parent_session_id = ? AND id <> ?"
    rows = tx.stored_rows(("id", "model_config"), source, (session_id, session_id))
    return [(str(readable(child)), config) for child, config in rows]


def name_of(tx: Transaction, session_id: str, title: str | None) -> str:
    """Return the title, or else the beginning of the first message, or else the id."""
    if title:
        return title
    first = tx.value(
        "SELECT content FROM messages WHERE session_id = ? AND role = 'user' "
        "AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1",
        (session_id,),
    )
    return stored_preview(first) or session_id


# -- is it still the same? ---------------------------------------------------------------------


def fingerprint(tx: Transaction, session_id: str) -> str | None:
    """Return a hash that changes with the session row, its usage and its messages.

    Cheap: it sums lengths and ids without reading text. None if there is no such session.
    """
    session = _session(tx, session_id)
    if session is None:
        return None
    columns = tx.caps.message_columns
    sums = [f'SUM(octet_length(CAST("{name}" AS TEXT)))' for name in columns]
    sums += [f"SUM({name})" for name in _SUMMED if name in columns]
    row = tx.one(
        f"SELECT COUNT(*), MAX(id), MAX(timestamp), {', '.join(sums)} "
        "FROM messages WHERE session_id = ?",
        (session_id,),
    )
    seen = json.dumps([session, _usage(tx, session_id), row], default=_as_json)
    return hashlib.sha256(seen.encode()).hexdigest()


def matching(tx: Transaction, copy: Header, rows: Iterator[list[Any]]) -> int | None:
    """Return how many messages still exist, provided that all of them match the copy.

    Fewer than were copied means an interrupted deletion. None if one differs, or if this is a
    different session with the same id.
    """
    session = _session(tx, copy.session_id)
    if session is None or any(session[name] != copy.session[name] for name in _IDENTITY):
        return None
    names = [name for name in copy.message_columns if name in tx.caps.message_columns]
    places = [copy.message_columns.index(name) for name in names]
    found = 0
    for stored, copied in zip_longest(_messages(tx, copy.session_id, names), rows):
        if stored is None:
            break
        if copied is None or list(stored) != [copied[place] for place in places]:
            return None
        found += 1
    return found


def contains(tx: Transaction, copy: Header, rows: Iterator[list[Any]]) -> bool:
    """Tell whether a session has everything that was said in its copy, in the same order.

    Numbers of messages may differ, and so may whatever came after.
    """
    session = _session(tx, copy.session_id)
    if session is None or any(session[name] != copy.session[name] for name in _IDENTITY):
        return False
    names = [name for name in _SAID if name in copy.message_columns]
    names = [name for name in names if name in tx.caps.message_columns]
    places = [copy.message_columns.index(name) for name in names]
    stored = (list(row) for row in _messages(tx, copy.session_id, names))
    # `in` takes rows from the iterator up to the one that is equal.
    return all([row[place] for place in places] in stored for row in rows)
