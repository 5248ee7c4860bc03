"""Session rows: create, end, reopen, count tokens, find by id."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from math import isfinite
from typing import Any

from hermes_store.engines.base import NoSuchRow, Transaction
from hermes_store.engines.sqlite.schema import SESSION_COLUMNS
from hermes_store.engines.sqlite.schema_reader import quote
from hermes_store.errors import AmbiguousSession, InvalidInput, SessionNotFound
from hermes_store.records import stored_values
from hermes_store.records.message_content import decode_json
from hermes_store.records.relation_to_parent import MARKERS, Edge
from hermes_store.records.session import Session
from hermes_store.records.sources import of_source
from hermes_store.records.workspace import Place
from hermes_store.sessions import system_prompts

# The columns of a Session in field order; a database may lack some of them.
_FIELDS = (
    "id",
    "source",
    "started_at",
    "user_id",
    "model",
    "model_config",
    "parent_session_id",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "billing_provider",
    "estimated_cost_usd",
    "actual_cost_usd",
    "title",
    "api_call_count",
    "archived",
    "cwd",
    "git_repo_root",
    "git_branch",
)
_READERS: dict[str, Callable[[Any], Any]] = dict.fromkeys(_FIELDS, stored_values.optional_text) | {
    "id": stored_values.text,
    "source": stored_values.text,
    "started_at": stored_values.moment,
    "ended_at": stored_values.optional_moment,
    "estimated_cost_usd": stored_values.optional_amount,
    "actual_cost_usd": stored_values.optional_amount,
    "archived": stored_values.flag,
    **{n: stored_values.count for n in _FIELDS if n.endswith(("_count", "_tokens"))},
}
_SHOWN = tuple(name for name in _FIELDS if name != "archived")
_NEEDED = ("id", "source", "started_at")


def new_session_id(now: float | None = None) -> str:
    """Return a fresh id: local date and time, then eight random hex digits."""
    moment = datetime.fromtimestamp(time.time() if now is None else now)
    return f"{moment:%Y%m%d_%H%M%S}_{os.urandom(4).hex()}"


def columns(tx: Transaction, alias: str) -> str:
    """Return the select list for `from_row`; columns that the database lacks are NULL."""
    present = tx.caps.session_columns
    return ", ".join(f"{alias}.{name}" if name in present else "NULL" for name in _FIELDS)


WIDTH = len(_FIELDS)
LAST_CHARACTER = "\U0010ffff"


def from_row(row: tuple[Any, ...]) -> Session:
    """Build a Session from the first columns of a row selected with `columns`."""
    values = {name: _READERS[name](value) for name, value in zip(_FIELDS, row, strict=False)}
    config = decode_json(values["model_config"])
    values["model_config"] = config if isinstance(config, dict) else None
    return Session(**values)


def mended(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of any columns with valid values in those that a Session has; NULL may stay."""
    for name in _SHOWN:
        if row.get(name) is not None or name in _NEEDED:
            row[name] = _READERS[name](row[name])
    return row


def find(tx: Transaction, session_id: str) -> Session | None:
    """Return a session by its exact id, or None."""
    row = tx.one(f"SELECT {columns(tx, 's')} FROM sessions s WHERE s.id = ?", (session_id,))
    return None if row is None else from_row(row)


def get(tx: Transaction, session_id: str) -> Session:
    """Return a session by its exact id, or raise SessionNotFound."""
    found = find(tx, session_id)
    if found is None:
        raise SessionNotFound(session_id)
    return found


def all_columns(tx: Transaction, alias: str) -> tuple[tuple[str, ...], str]:
    """Return every column name of `sessions`, and their select list.

    Columns that an old database lacks are NULL. Newer ones store each system prompt once, by
    hash; it is filled in here.
    """
    present = tx.caps.session_columns
    missing = [column.name for column in SESSION_COLUMNS if column.name not in present]
    selected = {name: f"{alias}.{quote(name)}" for name in present}
    selected |= dict.fromkeys(missing, "NULL")
    if "system_prompts" in tx.caps.tables and "system_prompt_hash" in present:
        selected["system_prompt"] = (
            f"COALESCE({alias}.system_prompt, (SELECT prompt FROM system_prompts "
            f"WHERE hash = {alias}.system_prompt_hash))"
        )
    return tuple(selected), ", ".join(selected.values())


def row(tx: Transaction, session_id: str) -> dict[str, Any] | None:
    """Return all columns of a session, or None."""
    names, selected = all_columns(tx, "s")
    found = tx.one(f"SELECT {selected} FROM sessions s WHERE s.id = ?", (session_id,))
    return None if found is None else dict(zip(names, found, strict=True))


def exists(tx: Transaction, session_id: str) -> bool:
    """Return whether a session has this exact id."""
    return tx.one("SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is not None


def existing(tx: Transaction, session_ids: Iterable[str]) -> set[str]:
    """Return those of some ids that exist."""
    return {each for each in set(session_ids) if exists(tx, each)}


def with_prefix(tx: Transaction, prefix: str, limit: int = 6) -> tuple[str, ...]:
    """Return the newest ids that begin with a prefix."""
    # A range uses the primary key, like GLOB, but takes a prefix of any length and any characters.
    found = tx.rows(
        "SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY started_at DESC LIMIT ?",
        (prefix, prefix + LAST_CHARACTER, limit),
    )
    return tuple(row[0] for row in found)


def resolve_id(tx: Transaction, wanted: str) -> str:
    """Return the id that equals or begins with `wanted`; raise if none or several match."""
    if wanted and exists(tx, wanted):
        return wanted
    candidates = with_prefix(tx, wanted) if wanted else ()
    if not candidates:
        raise SessionNotFound(wanted)
    if len(candidates) > 1:
        raise AmbiguousSession(wanted, candidates)
    return candidates[0]


def create(
    tx: Transaction,
    session_id: str,
    source: str,
    *,
    model: str | None = None,
    model_config: dict[str, Any] | None = None,
    system_prompt: str | None = None,
    user_id: str | None = None,
    parent_session_id: str | None = None,
    edge: Edge | None = None,
    started_at: float | None = None,
    cwd: str | None = None,
    git_repo_root: str | None = None,
    git_branch: str | None = None,
) -> bool:
    """Add a session unless it exists already; return whether it was added.

    `edge` tells newer Hermes versions how it relates to its parent, so that they list it correctly.
    What the database has no column for is not stored.
    """
    if not session_id:
        raise InvalidInput("A session needs an id; create one with new_session_id().")
    if not isinstance(source, str):
        raise InvalidInput("A session needs a source, such as 'cli'.")
    if model_config is not None and not isinstance(model_config, dict):
        raise InvalidInput("model_config must be a dictionary or None.")
    if started_at is not None and not isfinite(started_at):
        raise InvalidInput(f"{started_at} is not a valid start time for a session.")
    config = dict(model_config or {})
    marker = MARKERS.get(edge) if edge else None
    if marker and parent_session_id:
        config.setdefault(marker, parent_session_id)
    row = {
        "id": session_id,
        "source": source,
        "user_id": user_id,
        "model": model,
        "model_config": json.dumps(config, ensure_ascii=False) if config else None,
        "parent_session_id": parent_session_id,
        "started_at": time.time() if started_at is None else started_at,
        **system_prompts.columns(tx, system_prompt),
    }
    try:
        added = tx.run(
            f"INSERT INTO sessions({', '.join(row)}) "
            f"VALUES ({', '.join('?' * len(row))}) ON CONFLICT(id) DO NOTHING",
            tuple(row.values()),
        )
        if not added and tx.caps.foreign:
            _complete(tx, session_id, row)
    except NoSuchRow:
        if parent_session_id is None:
            raise
        raise SessionNotFound(parent_session_id) from None
    if added or tx.caps.foreign:
        _set_place(tx, session_id, Place(cwd, git_repo_root, git_branch))
    if parent_session_id is not None and tx.caps.version >= INHERITS_SINCE:
        _inherit(tx, session_id)
    return added > 0


INHERITS_SINCE = 26
"""The schema version since which a child takes over what it was not given."""
PLACE = ("cwd", "git_branch", "git_repo_root", "profile_name")
CHAT = (
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "transport_profile",
)
"""A continuation stays in the same chat of its platform; other children do not."""


def _inherit(tx: Transaction, session_id: str) -> None:
    parent = "(SELECT p.{0} FROM sessions p WHERE p.id = sessions.parent_session_id)"
    continues = f"{parent.format('end_reason')} = 'compression'"
    for names, condition in ((PLACE, "TRUE"), ((*CHAT, "user_id"), continues)):
        present = [name for name in names if tx.caps.has_session(name)]
        changes = ", ".join(f"{n} = COALESCE({n}, {parent.format(n)})" for n in present)
        if changes:
            tx.run(f"UPDATE sessions SET {changes} WHERE id = ? AND {condition}", (session_id,))


_COMPLETED = ("model", "model_config", "parent_session_id")
"""What a newer Hermes fills in when a session is created that exists already."""


def _complete(tx: Transaction, session_id: str, row: Mapping[str, Any]) -> None:
    """Fill in what an existing session lacks, as newer versions do."""
    names = [name for name in _COMPLETED if row[name] is not None]
    prompt = system_prompts.has_none(tx, session_id)
    names += [name for name in row if name.startswith("system_prompt") and prompt]
    for name in names:
        # Each alone: naming a parent that is missing would be refused even if it stays.
        tx.run(
            f"UPDATE sessions SET {name} = ? WHERE id = ? AND {name} IS NULL",
            (row[name], session_id),
        )


def _set_place(tx: Transaction, session_id: str, place: Place) -> None:
    given = asdict(place)
    known = {n: v for n, v in given.items() if v is not None and tx.caps.has_session(n)}
    if known:
        changes = ", ".join(f"{name} = COALESCE({name}, ?)" for name in known)
        tx.run(f"UPDATE sessions SET {changes} WHERE id = ?", (*known.values(), session_id))


def end(tx: Transaction, session_id: str, reason: str, ended_at: float | None = None) -> None:
    """End a session, by default now; one that has already ended keeps its end."""
    tx.run(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
        (time.time() if ended_at is None else ended_at, reason, session_id),
    )


def reopen(tx: Transaction, session_id: str) -> None:
    """Clear the end of a session."""
    tx.run("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session_id,))


def set_system_prompt(tx: Transaction, session_id: str, prompt: str) -> None:
    """Store the system prompt of a session."""
    former = system_prompts.shared_by(tx, session_id)
    stored = system_prompts.columns(tx, prompt)
    changes = ", ".join(f"{name} = ?" for name in stored)
    tx.run(f"UPDATE sessions SET {changes} WHERE id = ?", (*stored.values(), session_id))
    system_prompts.forget_unused(tx, former)


def count(tx: Transaction, source: str | None = None) -> int:
    """Return the number of sessions, in total or from one source."""
    if source is None:
        return int(tx.value("SELECT COUNT(*) FROM sessions"))
    condition, names = of_source("source", source)
    return int(tx.value(f"SELECT COUNT(*) FROM sessions WHERE {condition}", names))
