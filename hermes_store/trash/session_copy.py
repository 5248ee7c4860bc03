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
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import DatabaseCorrupt
from hermes_store.records.message_content import stored_preview
from hermes_store.sessions import lineage, session_rows, titles

CHUNK_ROWS = 500
CHUNK_CHARACTERS = 1_000_000
USAGE = "session_model_usage"

# Changing these in place does not change the length of a row.
_SUMMED = ("id", "token_count", "active", "compacted", "observed")
# Never change during the life of a session, not even when it is renamed or moved.
_IDENTITY = ("source", "started_at")
_SAID = ("role", "content", "tool_calls", "tool_name", "tool_call_id", "timestamp")
_MARKERS = ("_branched_from", "_delegate_from")


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


@dataclass(slots=True)
class PutBack:
    """The result of restoring a session."""

    messages: int = 0
    remarks: list[str] = field(default_factory=list)
    parent_missing: bool = False


# -- packing -----------------------------------------------------------------------------------


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value)} is not a database value")


def _from_json(value: dict[str, Any]) -> Any:
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
    return DatabaseCorrupt(f"A copy in the trash is damaged ({error}) and cannot be used.")


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
    row = tx.one(f"SELECT {_list(names)} FROM sessions WHERE id = ?", (session_id,))
    return None if row is None else dict(zip(names, row, strict=True))


def _usage(tx: Transaction, session_id: str) -> tuple[dict[str, Any], ...]:
    names = _usage_columns(tx)
    if not names:
        return ()
    rows = tx.rows(f"SELECT {_list(names)} FROM {USAGE} WHERE session_id = ?", (session_id,))
    return tuple(dict(zip(names, row, strict=True)) for row in rows)


def _usage_columns(tx: Transaction) -> tuple[str, ...]:
    if USAGE not in tx.caps.tables:
        return ()
    return tuple(row[1] for row in tx.rows(f"PRAGMA table_info({USAGE})"))


def _list(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


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
    return tx.rows(
        f"SELECT {_list(columns)} FROM messages WHERE session_id = ? ORDER BY id", (session_id,)
    )


def children(tx: Transaction, session_id: str) -> list[tuple[str, Any]]:
    """Return id and model_config of the children of a session."""
    return [
        (str(child), config)
        for child, config in tx.rows(
            "SELECT id, model_config FROM sessions WHERE parent_session_id = ? AND id <> ?",
            (session_id, session_id),
        )
    ]


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
    sums = [f'SUM(octet_length("{name}"))' for name in columns]
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


# -- putting it back ---------------------------------------------------------------------------


def put_back(tx: Transaction, copy: Header, rows: Iterator[list[Any]]) -> PutBack:
    """Write a session and its messages back as they were, as far as still possible."""
    done = PutBack()
    session = dict(copy.session)
    _free_title(tx, session, done)
    _find_parent(tx, session, done)
    _unfold_prompt(tx, session, copy.prompt)
    _insert(tx, "sessions", tx.caps.session_columns, session)
    known = _usage_columns(tx)
    for used in copy.usage if known else ():
        _insert(tx, USAGE, known, used)
    put_messages(tx, copy, rows, done)
    return done


def put_messages(tx: Transaction, copy: Header, rows: Iterator[list[Any]], done: PutBack) -> None:
    """Write the missing messages.

    Ids are kept up to the first one that another session has taken; from there on all are new,
    to preserve the order.
    """
    names = [name for name in copy.message_columns if name in tx.caps.message_columns]
    places = [copy.message_columns.index(name) for name in names]
    sql = f"INSERT INTO messages({_list(names)}) VALUES ({', '.join('?' * len(names))})"
    number = names.index("id")
    taken = False
    for row in rows:
        values = [row[place] for place in places]
        owner = tx.value("SELECT session_id FROM messages WHERE id = ?", (values[number],))
        if owner == copy.session_id and not taken:
            continue
        if (taken := taken or owner is not None) and not _said(done):
            done.remarks.append("Some of its messages have new numbers because theirs were taken.")
        values[number] = None if taken else values[number]
        tx.insert(sql, values)
        done.messages += 1


def _said(done: PutBack) -> bool:
    return any("new numbers" in remark for remark in done.remarks)


def _insert(tx: Transaction, table: str, known: Sequence[str], row: dict[str, Any]) -> None:
    names = [name for name in row if name in known]
    tx.run(
        f"INSERT INTO {table}({_list(names)}) VALUES ({', '.join('?' * len(names))})",
        [row[name] for name in names],
    )


def _free_title(tx: Transaction, session: dict[str, Any], done: PutBack) -> None:
    title = session.get("title")
    if title is not None and (holder := titles.holder_of(tx, title)) is not None:
        session["title"] = titles.next_in_lineage(tx, title)
        done.remarks.append(
            f"Its title '{title}' now belongs to {holder}; it was restored as '{session['title']}'."
        )


def _find_parent(tx: Transaction, session: dict[str, Any], done: PutBack) -> None:
    parent = session.get("parent_session_id")
    if parent is None or parent == session["id"] or session_rows.exists(tx, parent):
        return
    session["parent_session_id"] = None
    done.parent_missing = True
    done.remarks.append(f"Its parent {parent} is gone; it was restored without a parent.")


def _unfold_prompt(tx: Transaction, session: dict[str, Any], prompt: str | None) -> None:
    """Store the prompt with the session if the shared one no longer exists."""
    shared = session.get("system_prompt_hash")
    if shared is None or prompt is None:
        return
    if "system_prompts" in tx.caps.tables and tx.value(
        "SELECT 1 FROM system_prompts WHERE hash = ?", (shared,)
    ):
        return
    session["system_prompt"], session["system_prompt_hash"] = prompt, None


def take_back_child(tx: Transaction, copy: Header, child_id: str, former_config: Any) -> bool:
    """Reattach a child to its restored parent, unless it was changed since the deletion."""
    row = tx.one("SELECT parent_session_id, model_config FROM sessions WHERE id = ?", (child_id,))
    if row is None:
        return False
    child = {"parent_session_id": row[0], "model_config": row[1]}
    if not was_moved_up(copy, child, former_config):
        return False
    tx.run(
        "UPDATE sessions SET parent_session_id = ?, model_config = ? WHERE id = ?",
        (copy.session_id, former_config, child_id),
    )
    return True


def was_moved_up(copy: Header, child: dict[str, Any], former_config: Any) -> bool:
    """Tell whether deleting its parent is all that happened to a child.

    Deleting moves a child up to the next ancestor and may record its kind in model_config; any
    other change was made by another program and stays.
    """
    parent = child.get("parent_session_id")
    moved_up = parent is None or parent in copy.ancestors
    return moved_up and _only_marked(child.get("model_config"), former_config)


def _only_marked(config: Any, former: Any) -> bool:
    """Tell whether two model_configs differ at most by the markers that deleting leaves."""
    if config == former:
        return True
    now, before = _object(config), _object(former)
    if now is None:
        return False
    marks = {name for name in _MARKERS if name not in (before or {})}
    return {name: value for name, value in now.items() if name not in marks} == (before or {})


def _object(text: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
