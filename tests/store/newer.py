"""A small file such as a newer Hermes leaves behind, made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite import schema
from tests.support import LONG_AGO

VERSION = 22

_MORE = {
    "sessions": (
        "cwd TEXT",
        "git_repo_root TEXT",
        "git_branch TEXT",
        "rewind_count INTEGER NOT NULL DEFAULT 0",
        "archived INTEGER NOT NULL DEFAULT 0",
        "pinned INTEGER DEFAULT 0",
        "hidden INTEGER DEFAULT 0",
        "system_prompt_hash TEXT",
    ),
    # Not NOT NULL here: rows with NULL exist in real files.
    "messages": ("active INTEGER DEFAULT 1", "compacted INTEGER DEFAULT 0", "display_kind TEXT"),
}

_TABLES = """
CREATE TABLE session_model_usage (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    model TEXT NOT NULL, billing_provider TEXT NOT NULL DEFAULT '',
    billing_base_url TEXT NOT NULL DEFAULT '', billing_mode TEXT NOT NULL DEFAULT '',
    task TEXT NOT NULL DEFAULT '', api_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0, estimated_cost_usd REAL DEFAULT 0,
    actual_cost_usd REAL DEFAULT 0, first_seen REAL, last_seen REAL,
    PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task));
CREATE TABLE compression_locks (
    session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
"""


def _triggers(table: str) -> str:
    text = (
        "COALESCE({0}.content,'') || ' ' || COALESCE({0}.tool_name,'') || ' ' "
        "|| COALESCE({0}.tool_calls,'')"
    )
    insert = f"INSERT INTO {table}(rowid, content) VALUES (new.id, {text.format('new')});"
    delete = f"DELETE FROM {table} WHERE rowid = old.id;"
    return (
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN {insert} END;"
        f"CREATE TRIGGER {table}_delete AFTER DELETE ON messages BEGIN {delete} END;"
        f"CREATE TRIGGER {table}_update AFTER UPDATE ON messages BEGIN {delete} {insert} END;"
    )


def inline_full_text() -> str:
    """Return the full-text tables up to schema 22, with a copy of the text inside."""
    return (
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content);"
        "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tokenize='trigram');"
        + _triggers("messages_fts")
        + _triggers("messages_fts_trigram")
    )


def make(path: Path) -> None:
    """Create the empty file, in WAL mode as a living Hermes has it."""
    con = apsw.Connection(str(path))
    con.execute("PRAGMA journal_mode = WAL")
    for statement in (*schema.STATEMENTS, schema.TITLE_INDEX):
        con.execute(statement)
    for table, columns in _MORE.items():
        for column in columns:
            con.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    con.execute(_TABLES + inline_full_text())
    con.execute(f"INSERT INTO schema_version VALUES ({VERSION})")
    con.close()


class Newer:
    """Writes rows as the newer program would."""

    def __init__(self, path: Path) -> None:
        self._con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        self._con.set_busy_timeout(2_000)

    def close(self) -> None:
        self._con.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._con.execute(sql))

    def session(self, session_id: str, *, at: float = LONG_AGO, **columns: Any) -> None:
        if isinstance(columns.get("model_config"), dict):
            columns["model_config"] = json.dumps(columns["model_config"])
        self._insert("sessions", {"id": session_id, "source": "cli", "started_at": at} | columns)

    def message(
        self, session_id: str, content: str, *, at: float = LONG_AGO + 1, **more: Any
    ) -> None:
        row = {"session_id": session_id, "role": "user", "content": content, "timestamp": at}
        self._insert("messages", row | more)

    def put(self, table: str, **columns: Any) -> None:
        self._insert(table, columns)

    def _insert(self, table: str, columns: dict[str, Any]) -> None:
        marks = ", ".join("?" * len(columns))
        self._con.execute(
            f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())
        )
