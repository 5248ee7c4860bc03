"""The declared tables and indexes of schema version 11.

Columns are data, so that creating a table and adding what an older database lacks share the
same declarations. The full-text tables are in `fulltext`, `session_activity` in `activity`.
"""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 11


class Column(NamedTuple):
    """A column: its name, its declaration, and the schema version that added it."""

    name: str
    declaration: str
    since: int = 1


SESSION_COLUMNS = (
    Column("id", "TEXT PRIMARY KEY"),
    Column("source", "TEXT NOT NULL"),
    Column("user_id", "TEXT"),
    Column("model", "TEXT"),
    Column("model_config", "TEXT"),
    Column("system_prompt", "TEXT"),
    Column("parent_session_id", "TEXT"),
    Column("started_at", "REAL NOT NULL"),
    Column("ended_at", "REAL"),
    Column("end_reason", "TEXT"),
    Column("message_count", "INTEGER DEFAULT 0"),
    Column("tool_call_count", "INTEGER DEFAULT 0"),
    Column("input_tokens", "INTEGER DEFAULT 0"),
    Column("output_tokens", "INTEGER DEFAULT 0"),
    Column("cache_read_tokens", "INTEGER DEFAULT 0", since=5),
    Column("cache_write_tokens", "INTEGER DEFAULT 0", since=5),
    Column("reasoning_tokens", "INTEGER DEFAULT 0", since=5),
    Column("billing_provider", "TEXT", since=5),
    Column("billing_base_url", "TEXT", since=5),
    Column("billing_mode", "TEXT", since=5),
    Column("estimated_cost_usd", "REAL", since=5),
    Column("actual_cost_usd", "REAL", since=5),
    Column("cost_status", "TEXT", since=5),
    Column("cost_source", "TEXT", since=5),
    Column("pricing_version", "TEXT", since=5),
    Column("title", "TEXT", since=3),
    Column("api_call_count", "INTEGER DEFAULT 0", since=8),
    Column("handoff_state", "TEXT", since=11),
    Column("handoff_platform", "TEXT", since=11),
    Column("handoff_error", "TEXT", since=11),
)

MESSAGE_COLUMNS = (
    Column("id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    Column("session_id", "TEXT NOT NULL REFERENCES sessions(id)"),
    Column("role", "TEXT NOT NULL"),
    Column("content", "TEXT"),
    Column("tool_call_id", "TEXT"),
    Column("tool_calls", "TEXT"),
    Column("tool_name", "TEXT"),
    Column("timestamp", "REAL NOT NULL"),
    Column("token_count", "INTEGER"),
    Column("finish_reason", "TEXT", since=2),
    Column("reasoning", "TEXT", since=6),
    Column("reasoning_content", "TEXT", since=7),
    Column("reasoning_details", "TEXT", since=6),
    Column("codex_reasoning_items", "TEXT", since=6),
    Column("codex_message_items", "TEXT", since=9),
)

COLUMNS = {"sessions": SESSION_COLUMNS, "messages": MESSAGE_COLUMNS}

PLACE_COLUMNS = (
    Column("cwd", "TEXT"),
    Column("git_repo_root", "TEXT"),
    Column("git_branch", "TEXT"),
)
"""Columns of newer versions that files of this store have from the beginning.

They are added like those versions add the columns that an older file lacks, so that an upgrade
finds them in place. A file that someone else made is left without them.
"""

_FOREIGN_KEYS = {"sessions": ["FOREIGN KEY (parent_session_id) REFERENCES sessions(id)"]}


def create_table(table: str, version: int = SCHEMA_VERSION) -> str:
    """Return the CREATE TABLE of `sessions` or `messages` as it was at a schema version."""
    lines = [f"{c.name} {c.declaration}" for c in COLUMNS[table] if c.since <= version]
    lines += _FOREIGN_KEYS.get(table, [])
    body = ",\n    ".join(lines)
    return f"CREATE TABLE IF NOT EXISTS {table} (\n    {body}\n)"


TITLE_INDEX_NAME = "idx_sessions_title_unique"
TITLE_INDEX = (
    f"CREATE UNIQUE INDEX IF NOT EXISTS {TITLE_INDEX_NAME} "
    "ON sessions(title) WHERE title IS NOT NULL"
)

STATEMENTS = (
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)",
    create_table("sessions"),
    create_table("messages"),
    "CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source)",
    "CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id)",
    "CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC)",
    "CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp)",
)
