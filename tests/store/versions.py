"""Files of every schema that Hermes Agent has had since version 11, built by hand from facts.

The columns of 12 to 26 are those of the released versions; 27 to 30 are put together from what is
known of them. Full-text tables follow: a copy of the text inside up to 22, columns over the
messages themselves from 23 on, over views from 27 on, with a Chinese index of its own in 30.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import apsw

from hermes_store.engines.sqlite import schema
from tests.store import newer

VERSIONS = (12, 16, 19, 22, 23, 26, 28, 30)

_SESSIONS = (
    (14, "cwd TEXT"),
    (14, "rewind_count INTEGER NOT NULL DEFAULT 0"),
    (14, "archived INTEGER NOT NULL DEFAULT 0"),
    (17, "session_key TEXT"),
    (17, "chat_id TEXT"),
    (17, "chat_type TEXT"),
    (17, "thread_id TEXT"),
    (17, "git_branch TEXT"),
    (17, "git_repo_root TEXT"),
    (17, "compression_failure_cooldown_until REAL"),
    (17, "compression_failure_error TEXT"),
    (19, "display_name TEXT"),
    (19, "origin_json TEXT"),
    (19, "expiry_finalized INTEGER DEFAULT 0"),
    (22, "compression_fallback_streak INTEGER NOT NULL DEFAULT 0"),
    (22, "profile_name TEXT"),
    (25, "system_prompt_hash TEXT"),
    (26, "git_metadata_generation INTEGER NOT NULL DEFAULT 0"),
    (26, "title_source TEXT"),
    (26, "last_activity_at REAL"),
    (26, "last_activity_description TEXT"),
    (26, "last_activity_provenance TEXT"),
    (26, "compression_ineffective_count INTEGER NOT NULL DEFAULT 0"),
    (26, "pinned INTEGER NOT NULL DEFAULT 0"),
    (26, "hidden INTEGER NOT NULL DEFAULT 0"),
    (26, "last_read_at REAL"),
    (28, "created_source TEXT"),
    (30, "transport_profile TEXT"),
    (30, "tool_names TEXT"),
)
_MESSAGES = (
    (12, "platform_message_id TEXT"),
    (13, "observed INTEGER DEFAULT 0"),
    (14, "active INTEGER NOT NULL DEFAULT 1"),
    (17, "compacted INTEGER NOT NULL DEFAULT 0"),
    (22, "effect_disposition TEXT"),
    (22, "api_content TEXT"),
    (26, "display_kind TEXT"),
    (26, "display_metadata TEXT"),
    (26, "hook_trace TEXT"),
    (28, "_compressed_summary INTEGER"),
    (28, "display_identity TEXT"),
    (28, "display_order INTEGER"),
)
_USAGE = """
CREATE TABLE session_model_usage (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, model TEXT NOT NULL,
    billing_provider TEXT NOT NULL DEFAULT '', billing_base_url TEXT NOT NULL DEFAULT '',
    billing_mode TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
    api_call_count INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    estimated_cost_usd REAL NOT NULL DEFAULT 0, actual_cost_usd REAL NOT NULL DEFAULT 0,
    cost_status TEXT, cost_source TEXT, first_seen REAL, last_seen REAL,
    PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task));
"""
_LOCKS = """
CREATE TABLE {name} ({key} TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL,
    expires_at REAL NOT NULL);
"""
_TABLES = (
    (14, _LOCKS.format(name="compression_locks", key="session_id")),
    (19, "CREATE TABLE gateway_routing (scope TEXT NOT NULL DEFAULT '', session_key TEXT NOT NULL, "
         "entry_json TEXT NOT NULL, updated_at REAL NOT NULL, PRIMARY KEY (scope, session_key));"),
    (22, _USAGE),
    (25, "CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);"),
    (26, _LOCKS.format(name="session_turn_leases", key="conversation_id")),
    (28, "CREATE TABLE conversation_generations (conversation_id TEXT PRIMARY KEY, "
         "generation INTEGER NOT NULL);"),
    (14, "CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp);"),
    (17, "CREATE INDEX idx_sessions_session_key ON sessions(session_key, started_at DESC);"),
)  # fmt: skip

_GATE = (
    "({0}.id > COALESCE((SELECT CAST(value AS INTEGER) FROM state_meta "
    "WHERE key = 'fts_rebuild_high_water'), -1) OR {0}.id <= COALESCE((SELECT CAST(value AS "
    "INTEGER) FROM state_meta WHERE key = 'fts_rebuild_progress'), -1))"
)
_TOOL_CHARACTERS = 8_192


def _column_layout(table: str, origin: str, columns: str, only: str, options: str = "") -> str:
    """Return a full-text table over stored rows, and what keeps it."""
    into = f"INSERT INTO {table}(rowid, {columns})"
    out_of = f"INSERT INTO {table}({table}, rowid, {columns})"
    old = ", ".join(f"old.{name.strip()}" for name in columns.split(","))
    return f"""
CREATE VIRTUAL TABLE {table} USING fts5({columns}, content='{origin}', content_rowid='id'{options});
CREATE TRIGGER {table}_insert AFTER INSERT ON messages WHEN {only.format("new")}
    AND {_GATE.format("new")} BEGIN
    {into} SELECT id, {columns} FROM {origin} WHERE id = new.id; END;
CREATE TRIGGER {table}_delete AFTER DELETE ON messages WHEN {only.format("old")}
    AND {_GATE.format("old")} BEGIN {out_of} VALUES ('delete', old.id, {old}); END;
CREATE TRIGGER {table}_update AFTER UPDATE OF content, tool_name, tool_calls ON messages
    WHEN {only.format("old")} AND {_GATE.format("old")} BEGIN
    {out_of} VALUES ('delete', old.id, {old});
    {into} SELECT id, {columns} FROM {origin} WHERE id = new.id; END;
"""


_CHATTING = (
    "{0}.role <> 'tool' AND COALESCE((SELECT source NOT IN ('cron', 'subagent') FROM sessions "
    "WHERE id = {0}.session_id), 0)"
)
_TRIGRAM = ", tokenize='trigram'"


def _full_text(version: int) -> str:
    if version < 23:
        return newer.inline_full_text()
    words = "content, tool_name, tool_calls"
    if version < 27:
        view = "CREATE VIEW messages_fts_trigram_src AS SELECT id, role, content, tool_name, "
        view += "tool_calls FROM messages WHERE role <> 'tool';"
        return (
            view
            + _column_layout("messages_fts", "messages", words, "1")
            + _column_layout(
                "messages_fts_trigram",
                "messages_fts_trigram_src",
                words,
                "{0}.role <> 'tool'",
                _TRIGRAM,
            )
        )
    cut = f"CASE role WHEN 'tool' THEN substr(content, 1, {_TOOL_CHARACTERS}) ELSE content END"
    views = f"""
CREATE VIEW messages_fts_src AS SELECT id, {cut} AS content, tool_name, tool_calls FROM messages;
CREATE VIEW messages_fts_trigram_src AS SELECT m.id, m.content, m.tool_calls FROM messages m
    WHERE {_CHATTING.format("m")};
"""
    made = views + _column_layout("messages_fts", "messages_fts_src", words, "1")
    # A row of a tool is taken out as it was put in.
    made = made.replace(
        "'delete', old.id, old.content, old.tool_name",
        f"'delete', old.id, CASE old.role WHEN 'tool' THEN substr(old.content, 1, "
        f"{_TOOL_CHARACTERS}) ELSE old.content END, old.tool_name",
    )
    made += _column_layout(
        "messages_fts_trigram", "messages_fts_trigram_src", "content, tool_calls", _CHATTING,
        _TRIGRAM,
    )  # fmt: skip
    if version >= 30:
        made += _column_layout(
            "messages_fts_cjk", "messages", "content", "{0}.role <> 'tool'",
            ", tokenize='cjk_unicode61'",
        )  # fmt: skip
    return made


class _Pairs:
    """A tokenizer of pairs of characters, as real files of version 30 need one."""

    def __init__(self, _con: apsw.Connection, _arguments: list[str]) -> None:
        pass

    def __call__(
        self, text: bytes, _reason: int, _locale: str | None
    ) -> Iterable[tuple[int, int, str]]:
        for place in range(0, max(0, len(text) - 1), 2):
            yield place, place + 2, text[place : place + 2].hex()


def connect(path: Path) -> apsw.Connection:
    """Open a file as the program that made it does, tokenizer included."""
    con = apsw.Connection(str(path))
    con.register_fts5_tokenizer("cjk_unicode61", _Pairs)
    con.set_busy_timeout(5_000)
    return con


def make(path: Path, version: int) -> None:
    """Create an empty file of a schema version, in WAL mode as a living Hermes has it."""
    con = connect(path)
    con.execute("PRAGMA journal_mode = WAL")
    for statement in (*schema.STATEMENTS, schema.TITLE_INDEX):
        con.execute(statement)
    for table, columns in (("sessions", _SESSIONS), ("messages", _MESSAGES)):
        for since, column in columns:
            if since <= version:
                con.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    for since, sql in _TABLES:
        if since <= version:
            con.execute(sql)
    con.execute(_full_text(version))
    if version >= 28:
        # Real files number messages for display themselves.
        con.execute(
            "CREATE TRIGGER messages_display AFTER INSERT ON messages WHEN new.display_order IS "
            "NULL BEGIN UPDATE messages SET display_order = new.id * 10, display_identity = "
            "COALESCE(new.display_identity, 'm' || new.id) WHERE id = new.id; END"
        )
    con.execute("INSERT INTO schema_version VALUES (?)", (version,))
    con.close()


def schema_text(path: Path) -> tuple[str, int]:
    """Return everything that a file declares, and its version."""
    con = connect(path)
    try:
        rows = con.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid").fetchall()
        return repr(rows), int(con.execute("SELECT version FROM schema_version").get)
    finally:
        con.close()
