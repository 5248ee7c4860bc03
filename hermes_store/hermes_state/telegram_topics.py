"""Topics in a private Telegram chat with the bot, each bound to one session.

The tables exist only after a user has turned topics on. Reading never creates them.
"""

from __future__ import annotations

import time
from typing import Any

from hermes_store.browse import recent_sessions
from hermes_store.engines.base import Transaction
from hermes_store.engines.sqlite.transaction import SqliteTransaction
from hermes_store.errors import DatabaseError, InvalidInput
from hermes_store.hermes_state.holds_store import HoldsStore
from hermes_store.sessions import key_values

MODE = "telegram_dm_topic_mode"
BINDINGS = "telegram_dm_topic_bindings"
VERSION_KEY = "telegram_dm_topic_schema_version"
VERSION = "2"

_MODE_TABLE = f"""CREATE TABLE IF NOT EXISTS {MODE} (
    chat_id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1,
    activated_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    has_topics_enabled INTEGER,
    allows_users_to_create_topics INTEGER,
    capability_checked_at REAL,
    intro_message_id TEXT,
    pinned_message_id TEXT
)"""
_BINDINGS_TABLE = f"""CREATE TABLE IF NOT EXISTS {BINDINGS} (
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    managed_mode TEXT NOT NULL DEFAULT 'auto',
    linked_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (chat_id, thread_id)
)"""
_INDEXES = (
    f"CREATE UNIQUE INDEX IF NOT EXISTS idx_{BINDINGS}_session ON {BINDINGS}(session_id)",
    f"CREATE INDEX IF NOT EXISTS idx_{BINDINGS}_user ON {BINDINGS}(user_id, chat_id)",
)
_COLUMNS = (
    "chat_id, thread_id, user_id, session_key, session_id, managed_mode, linked_at, updated_at"
)


def apply_telegram_topic_migration(self: HoldsStore) -> None:
    """Create the tables for topics, or bring them up to date."""
    with self.store.database.write() as tx:
        _prepare(tx)


def _prepare(tx: Transaction) -> None:
    if tx.caps.foreign:
        if not {MODE, BINDINGS} <= tx.caps.tables:
            raise DatabaseError(
                "This database belongs to a newer Hermes Agent, which has to create the tables "
                "for Telegram topics itself. Use /topic there once."
            )
        return
    if not isinstance(tx, SqliteTransaction):
        return  # the tables are part of the schema
    tx.run(_MODE_TABLE)
    tx.run(_BINDINGS_TABLE)
    if any(
        row[2] == "sessions" and row[6] != "CASCADE"
        for row in list(tx.rows(f"PRAGMA foreign_key_list({BINDINGS})"))
    ):
        _let_bindings_go_with_their_session(tx)
    for index in _INDEXES:
        tx.run(index)
    key_values.put(tx, VERSION_KEY, VERSION)


def _let_bindings_go_with_their_session(tx: Transaction) -> None:
    """Recreate the table of version 1, with which no bound session could be deleted."""
    tx.run(f"ALTER TABLE {BINDINGS} RENAME TO {BINDINGS}_1")
    tx.run(_BINDINGS_TABLE)
    tx.run(f"INSERT INTO {BINDINGS}({_COLUMNS}) SELECT {_COLUMNS} FROM {BINDINGS}_1")
    tx.run(f"DROP TABLE {BINDINGS}_1")  # its indexes go with it


def enable_telegram_topic_mode(
    self: HoldsStore,
    *,
    chat_id: str,
    user_id: str,
    has_topics_enabled: bool | None = None,
    allows_users_to_create_topics: bool | None = None,
) -> None:
    """Turn topics on in a private chat."""
    now = time.time()
    abilities = [
        None if each is None else int(bool(each))
        for each in (has_topics_enabled, allows_users_to_create_topics)
    ]
    with self.store.database.write() as tx:
        _prepare(tx)
        tx.run(
            f"INSERT INTO {MODE}(chat_id, user_id, enabled, activated_at, updated_at, "
            "has_topics_enabled, allows_users_to_create_topics, capability_checked_at) "
            "VALUES (?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT(chat_id) DO UPDATE SET "
            "user_id = excluded.user_id, enabled = 1, updated_at = excluded.updated_at, "
            "has_topics_enabled = excluded.has_topics_enabled, "
            "allows_users_to_create_topics = excluded.allows_users_to_create_topics, "
            "capability_checked_at = excluded.capability_checked_at",
            (str(chat_id), str(user_id), now, now, *abilities, now),
        )


def disable_telegram_topic_mode(
    self: HoldsStore, *, chat_id: str, clear_bindings: bool = True
) -> None:
    """Turn topics off in a private chat and, by default, forget its bindings."""
    with self.store.database.write() as tx:
        if MODE in tx.caps.tables:
            tx.run(
                f"UPDATE {MODE} SET enabled = 0, updated_at = ? WHERE chat_id = ?",
                (time.time(), str(chat_id)),
            )
        if clear_bindings and BINDINGS in tx.caps.tables:
            tx.run(f"DELETE FROM {BINDINGS} WHERE chat_id = ?", (str(chat_id),))


def is_telegram_topic_mode_enabled(self: HoldsStore, *, chat_id: str, user_id: str) -> bool:
    """Return whether topics are on in a private chat of this user."""
    with self.store.database.read() as tx:
        if MODE not in tx.caps.tables:
            return False
        question = f"SELECT enabled FROM {MODE} WHERE chat_id = ? AND user_id = ?"
        return bool(tx.value(question, (str(chat_id), str(user_id))))


def bind_telegram_topic(
    self: HoldsStore,
    *,
    chat_id: str,
    thread_id: str,
    user_id: str,
    session_key: str,
    session_id: str,
    managed_mode: str = "auto",
) -> None:
    """Bind a topic to a session; a session belongs to one topic at most (else ValueError)."""
    topic, session_id, now = (str(chat_id), str(thread_id)), str(session_id), time.time()
    with self.store.database.write() as tx:
        _prepare(tx)
        bound = tx.one(
            f"SELECT chat_id, thread_id FROM {BINDINGS} WHERE session_id = ?", (session_id,)
        )
        if bound is not None and tuple(map(str, bound)) != topic:
            raise InvalidInput(
                f"Session {session_id} is already linked to another Telegram topic, "
                f"{bound[1]} in chat {bound[0]}. Choose another session."
            )
        tx.run(
            f"INSERT INTO {BINDINGS}({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT(chat_id, thread_id) DO UPDATE SET user_id = excluded.user_id, "
            "session_key = excluded.session_key, session_id = excluded.session_id, "
            "managed_mode = excluded.managed_mode, updated_at = excluded.updated_at",
            (*topic, str(user_id), str(session_key), session_id, managed_mode, now, now),
        )


def get_telegram_topic_binding(
    self: HoldsStore, *, chat_id: str, thread_id: str
) -> dict[str, Any] | None:
    """Return the binding of a topic with all its columns, or None."""
    with self.store.database.read() as tx:
        if BINDINGS not in tx.caps.tables:
            return None
        names = tx.columns(BINDINGS)
        found = tx.one(
            f"SELECT {', '.join(names)} FROM {BINDINGS} WHERE chat_id = ? AND thread_id = ?",
            (str(chat_id), str(thread_id)),
        )
    return None if found is None else dict(zip(names, found, strict=True))


def is_telegram_session_linked_to_topic(self: HoldsStore, *, session_id: str) -> bool:
    """Return whether any topic is bound to a session."""
    with self.store.database.read() as tx:
        if BINDINGS not in tx.caps.tables:
            return False
        question = f"SELECT 1 FROM {BINDINGS} WHERE session_id = ?"
        return tx.one(question, (str(session_id),)) is not None


def list_unlinked_telegram_sessions_for_user(
    self: HoldsStore, *, chat_id: str, user_id: str, limit: int = 10
) -> list[dict[str, Any]]:
    """Return a user's Telegram sessions that no topic is bound to, the last active first."""
    with self.store.database.read() as tx:
        free = "TRUE"
        if BINDINGS in tx.caps.tables:
            free = f"NOT EXISTS (SELECT 1 FROM {BINDINGS} b WHERE b.session_id = s.id)"
        found = tx.rows(
            f"SELECT s.id FROM {recent_sessions.ORIGIN} "
            f"WHERE s.source = 'telegram' AND s.user_id = ? AND {free} "
            "ORDER BY a.last_active DESC, s.started_at DESC LIMIT ?",
            (str(user_id), int(limit)),
        )
        rows = [recent_sessions.rich_row(tx, session_id) for (session_id,) in list(found)]
    return [row for row in rows if row is not None]
