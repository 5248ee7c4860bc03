"""The gateway's sessions in the database: which one a key means, beginning and ending them.

Each session remembers its key in its row, so that sessions.json can be put together again, and
so that two processes never begin two for one key: looking and beginning are one transaction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_store.engines.sqlite.transaction import Transaction
from hermes_store.errors import TitleTaken
from hermes_store.gateway.message_source import MessageSource
from hermes_store.records.session import Session
from hermes_store.sessions import key_values, lineage, session_rows, titles
from hermes_store.sessions.session_rows import new_session_id

RESET = "session_reset"
"""How a session ends whose conversation begins anew."""

# In model_config: version 11 has no columns for it, and newer ones look for _reset_from there.
_MARK = "_gateway"
_LINK = "_reset_from"
# Sessions that ended like this were left on purpose; any other is taken up again.
_LEFT = frozenset({RESET, "new_session", "session_switch", "branched", "compression"})
_TITLE = "gateway_title:"


def find(tx: Transaction, platform: str, *keys: str) -> Session | None:
    """Return the newest live session of a key, looking at the database only."""
    for session_id, key in _keyed(tx, keys, platform):
        if key in keys:
            found = session_rows.find(tx, lineage.compression_tip(tx, session_id))
            if found is not None and found.ended_at is None:
                return found
    return None


def all_live(tx: Transaction) -> Iterator[tuple[str, Session, Mapping[str, Any]]]:
    """Yield every key with its newest live session and where it came from."""
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
    """Return the open and the compressed sessions that have a key, the newest first."""
    own = "session_key" if tx.caps.has_session("session_key") else "NULL"
    wanted = [f'%"{_MARK}"%'] if not keys else [f"%{_like(json.dumps(k))}%" for k in keys]
    wanted += [f"%{_like(json.dumps(k, ensure_ascii=False))}%" for k in keys]
    marked = " OR ".join(["model_config LIKE ? ESCAPE '\\'"] * len(wanted))
    named = f"{own} IN ({', '.join('?' * len(keys))})" if keys else f"{own} IS NOT NULL"
    rows = tx.rows(
        f"SELECT id, {own}, model_config FROM sessions "
        f"WHERE (ended_at IS NULL OR end_reason = 'compression') AND ({marked} OR {named}) "
        "ORDER BY started_at DESC, id DESC",
        (*wanted, *keys),
    )
    found = (
        (session_id, key or _mark(config).get("session_key")) for session_id, key, config in rows
    )
    return [(session_id, key) for session_id, key in found if isinstance(key, str)]


def _like(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _mark(config: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(config or "{}")
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
    """Return the session to go on with where sessions.json names one, None if there is none.

    That is its newest continuation. One that another program ended is taken up again, unless
    it ended because something new began.
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
    """Begin a session for a key, linked to the one whose place it takes."""
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
    """Return the session whose place a session took when its conversation began anew."""
    found = (session.model_config or {}).get(_LINK)
    return found if isinstance(found, str) else None


def _fill_columns(tx: Transaction, session_id: str, key: str, source: MessageSource) -> None:
    """Tell newer versions of Hermes where a session belongs, in the columns they look at."""
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
    """Return what a chat is called."""
    return source.chat_name or source.user_name


def last_active(tx: Transaction, session: Session, now: float) -> float | None:
    """Return when a session was last spoken in, or began; None if that lies ahead."""
    spoken = tx.value(
        "SELECT MAX(timestamp) FROM messages WHERE session_id = ? AND timestamp <= ?",
        (session.id, now),
    )
    if spoken is not None:
        return float(spoken)
    return session.started_at if session.started_at <= now else None


# -- titles that wait for their session --------------------------------------------------------


def queue_title(tx: Transaction, key: str, title: str) -> None:
    """Keep a title for the next session of a key."""
    key_values.put(tx, _TITLE + key, title)


def waiting_title(tx: Transaction, key: str) -> str | None:
    """Return the title that waits for the next session of a key."""
    return key_values.get(tx, _TITLE + key)


def _give_waiting_title(tx: Transaction, session_id: str, key: str) -> None:
    title = waiting_title(tx, key)
    if title is None:
        return
    key_values.forget(tx, _TITLE + key)
    try:
        titles.assign(tx, session_id, title)
    except TitleTaken:
        # Free when it was asked for, taken since: the next number is nearer than no title.
        titles.assign(tx, session_id, titles.next_in_lineage(tx, title))
