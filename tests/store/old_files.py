"""Files of the schema versions 1 to 10, built by hand the way they were, with rows in them."""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_store.engines.sqlite import schema

OLD_VERSIONS = tuple(range(1, 11))
TITLE_SINCE = 3
UNIQUE_TITLES_SINCE = 4

# The word index of versions 1 to 9 took its text from the messages table.
_WORDS = (
    "CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id)",
    "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN "
    "INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END",
    "CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN "
    "INSERT INTO messages_fts(messages_fts, rowid, content) "
    "VALUES ('delete', old.id, old.content); END",
    "CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN "
    "INSERT INTO messages_fts(messages_fts, rowid, content) "
    "VALUES ('delete', old.id, old.content); "
    "INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END",
)
# Version 10 added an index of trigrams that kept its own copy of the text.
_TRIGRAM = (
    "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tokenize='trigram')",
    "CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages BEGIN "
    "INSERT INTO messages_fts_trigram(rowid, content) VALUES (new.id, new.content); END",
    "CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages BEGIN "
    "DELETE FROM messages_fts_trigram WHERE rowid = old.id; END",
    "CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE ON messages BEGIN "
    "DELETE FROM messages_fts_trigram WHERE rowid = old.id; "
    "INSERT INTO messages_fts_trigram(rowid, content) VALUES (new.id, new.content); END",
)


def _create(con: apsw.Connection, version: int) -> None:
    con.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
    con.execute("INSERT INTO schema_version VALUES (?)", (version,))
    for table in ("sessions", "messages"):
        con.execute(schema.create_table(table, version))
    con.execute("CREATE INDEX idx_sessions_source ON sessions(source)")
    con.execute("CREATE INDEX idx_messages_session ON messages(session_id, timestamp)")
    if version >= UNIQUE_TITLES_SINCE:
        con.execute(schema.TITLE_INDEX)
    for sql in (*_WORDS, *(_TRIGRAM if version >= 10 else ())):
        con.execute(sql)


def build(path: Path, version: int, *, sessions: int = 3, messages: int = 4) -> None:
    """Make a file of an old version: a compression chain, then sessions of their own.

    Session n is `s{n}`; its messages say `word{n}x{m}`, every other one also in Chinese, and
    the last one calls a tool. Before titles were unique, all sessions share one.
    """
    con = apsw.Connection(str(path))
    try:
        con.execute("PRAGMA journal_mode = WAL")
        with con:
            _create(con, version)
            for number in range(sessions):
                _add_session(con, version, number, messages)
    finally:
        con.close()


def _add_session(con: apsw.Connection, version: int, number: int, messages: int) -> None:
    started = 1_000.0 + 100 * number
    # The first session was compressed into the second.
    parent = "s0" if number == 1 else None
    ended, reason = (1_050.0, "compression") if number == 0 else (None, None)
    con.execute(
        "INSERT INTO sessions(id, source, parent_session_id, started_at, ended_at, end_reason, "
        "message_count, input_tokens) VALUES (?, 'cli', ?, ?, ?, ?, ?, 7)",
        (f"s{number}", parent, started, ended, reason, messages),
    )
    if version >= TITLE_SINCE:
        title = "same" if version < UNIQUE_TITLES_SINCE else f"title {number}"
        con.execute("UPDATE sessions SET title = ? WHERE id = ?", (title, f"s{number}"))
    for place in range(messages):
        text = f"word{number}x{place}" + (" 前回の設定を確認" if place % 2 else "")
        last = place == messages - 1
        con.execute(
            "INSERT INTO messages(session_id, role, content, tool_name, tool_calls, timestamp) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                f"s{number}",
                "user" if place == 0 else "assistant",
                text,
                f"tool{number}" if last else None,
                f'[{{"name": "call{number}"}}]' if last else None,
                started + 1 + place,
            ),
        )


def contents(con: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return every session and message with the columns that version 1 had already."""
    result = {}
    for table, columns in schema.COLUMNS.items():
        names = ", ".join(column.name for column in columns if column.since == 1)
        result[table] = con.execute(f"SELECT {names} FROM {table} ORDER BY id").fetchall()
    return result
