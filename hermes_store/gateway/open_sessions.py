"""The gateway's sessions in the database: finding the one of a key, starting and ending them.

Each session stores its key in its row, so that sessions.json can be rebuilt. Finding and starting
a session is one transaction, so that two processes never start two for one key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_store.engines.base import Transaction
from hermes_store.errors import TitleTaken
from hermes_store.gateway.message_source import MessageSource
from hermes_store.records import stored_values
from hermes_store.records.session import Session
from hermes_store.sessions import key_values, lineage, session_rows, titles
from hermes_store.sessions.session_rows import new_session_id

RESET = "session_reset"
"""The end reason of a session whose conversation was reset."""

# In model_config: schema 11 has no columns for these, and newer ones expect _reset_from there.
_MARK = "_gateway"
_LINK = "_reset_from"
# Sessions that ended for these reasons stay ended; any other is resumed.
_LEFT = frozenset({RESET, "new_session", "session_switch", "branched", "compression"})
_TITLE = "gateway_title:"


def find(tx: Transaction, platform: str, *keys: str) -> Session | None:
    """Return the newest live session of a key, from the database alone."""
    for session_id, key in _keyed(tx, keys, platform):
        if key in keys:
            found = session_rows.find(tx, lineage.compression_tip(tx, session_id))
            if found is not None and found.ended_at is None:
                return found
    return None


def all_live(tx: Transaction) -> Iterator[tuple[str, Session, Mapping[str, Any]]]:
    """Yield every key with its newest live session and its origin."""
    seen: set[str] = set()
    for session_id, key in _keyed(tx, ()):
        if key in seen:
            continue
        found = session_rows.find(tx, lineage.compression_tip(tx, session_id))
        if found is not None and found.ended_at is None:
            seen.add(key)
            yield key, found, _origin(tx, session_id)


def _keyed(
    tx: Transaction, keys: tuple[str, ...], platform: str | None = None
) -> list[tuple[str, str]]:
    """Return open and compressed sessions with their keys, the newest first."""
    own = "session_key" if tx.caps.has_session("session_key") else "NULL"
    # Not LIKE: a key is as long as the chat platform's ids are, and patterns have a limit.
    wanted = [f'"{_MARK}"'] if not keys else [json.dumps(k) for k in keys]
    wanted += [json.dumps(k, ensure_ascii=False) for k in keys]
    marked = " OR ".join(["instr(model_config, ?) > 0"] * len(wanted))
    named = f"{own} IN ({', '.join('?' * len(keys))})" if keys else f"{own} IS NOT NULL"
    rows = tx.rows(
        f"SELECT id, {own}, model_config FROM sessions "
        f"WHERE (ended_at IS NULL OR end_reason = 'compression') AND ({marked} OR {named}) "
        "ORDER BY started_at DESC, id DESC",
        (*wanted, *keys),
    )
    found = (
        (session_id, key or _mark(config).get("session_key"))
        for session_id, key, config in rows
        if type(session_id) is str
    )
    return [(session_id, key) for session_id, key in found if isinstance(key, str)]


def _mark(config: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(stored_values.text(config) or "{}")
    except (ValueError, RecursionError):
        return {}
    mark = found.get(_MARK) if isinstance(found, dict) else None
    return mark if isinstance(mark, dict) else {}


def _origin(tx: Transaction, session_id: str) -> Mapping[str, Any]:
    row = session_rows.row(tx, session_id) or {}
    kept = _mark(row.get("model_config")).get("origin")
    if not isinstance(kept, dict) and isinstance(row.get("origin_json"), str):
        try:
            kept = json.loads(row["origin_json"])
        except (ValueError, RecursionError):
            kept = None
    return kept if isinstance(kept, dict) else {}


def usable(tx: Transaction, session_id: str) -> Session | None:
    """Return the session to continue with for one named in sessions.json, None if there is none.

    That is its newest continuation. One that another program ended is resumed, unless it ended
    because a new session took its place.
    """
    tip = session_rows.find(tx, lineage.compression_tip(tx, session_id))
    if tip is None or tip.ended_at is None:
        return tip
    if tip.end_reason in _LEFT:
        return None
    session_rows.reopen(tx, tip.id)
    return session_rows.get(tx, tip.id)


def begin(
    tx: Transaction,
    key: str,
    source: MessageSource,
    now: float,
    *,
    model: str | None = None,
    instead_of: str | None = None,
) -> Session:
    """Start a session for a key, linked to the one that it replaces."""
    mark: dict[str, Any] = {_MARK: {"session_key": key, "origin": source.origin()}}
    if instead_of is not None and session_rows.exists(tx, instead_of):
        session_rows.end(tx, instead_of, RESET, now)
        mark[_LINK] = instead_of
    session_id = new_session_id(now)
    while not session_rows.create(
        tx,
        session_id,
        source.platform,
        user_id=source.user_id,
        model=model,
        model_config=mark,
        started_at=now,
    ):
        session_id = new_session_id(now)
    _fill_columns(tx, session_id, key, source)
    _give_waiting_title(tx, session_id, key)
    return session_rows.get(tx, session_id)


def previous_session_id(session: Session) -> str | None:
    """Return the session that a session replaced in a reset."""
    found = (session.model_config or {}).get(_LINK)
    return found if isinstance(found, str) else None


def _fill_columns(tx: Transaction, session_id: str, key: str, source: MessageSource) -> None:
    """Fill the columns in which newer versions of Hermes look for the key."""
    values = {
        "session_key": key,
        "chat_id": source.chat_id,
        "chat_type": str(source.chat_type),
        "thread_id": source.thread_id,
        "display_name": display_name(source),
        "origin_json": json.dumps(source.origin(), ensure_ascii=False),
    }
    present = {name: value for name, value in values.items() if tx.caps.has_session(name)}
    if present:
        changes = ", ".join(f"{name} = ?" for name in present)
        tx.run(f"UPDATE sessions SET {changes} WHERE id = ?", (*present.values(), session_id))


def display_name(source: MessageSource) -> str | None:
    """Return the name of a chat, or else of its user."""
    return source.chat_name or source.user_name


def last_active(tx: Transaction, session: Session, now: float) -> float | None:
    """Return the time of the last message, or else of the start; None if in the future."""
    spoken = tx.value(
        "SELECT MAX(timestamp) FROM messages WHERE session_id = ? AND timestamp <= ?",
        (session.id, now),
    )
    if spoken is not None:
        return float(spoken)
    return session.started_at if session.started_at <= now else None


# -- titles queued for the next session --------------------------------------------------------


def queue_title(tx: Transaction, key: str, title: str) -> None:
    """Store a title for the next session of a key."""
    key_values.put(tx, _TITLE + key, title)


def waiting_title(tx: Transaction, key: str) -> str | None:
    """Return the title queued for the next session of a key."""
    return key_values.get(tx, _TITLE + key)


def _give_waiting_title(tx: Transaction, session_id: str, key: str) -> None:
    title = waiting_title(tx, key)
    if title is None:
        return
    key_values.forget(tx, _TITLE + key)
    try:
        titles.assign(tx, session_id, title)
    except TitleTaken:
        # Taken since it was queued: a numbered title is better than none.
        titles.assign(tx, session_id, titles.next_in_lineage(tx, title))
