"""The files that the search benchmark searches: one corpus in three layouts.

`own` is this store's layout, `v22` is filled through the schema and the triggers of the real
hermes-agent, `v23` is a v22 file converted as newer versions do it.

    python -m bench.search_files --scale S --folder /tmp/corpus
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import apsw

from bench import real_text
from bench.sides import peer_python
from hermes_store import Store

FOLDER = Path(tempfile.gettempdir()) / "hermes-bench-corpus"
"""Where files are kept between runs: those of M take a quarter of an hour to make."""
LAYOUTS = ("v22", "own", "v23")
BATCH = 5_000
_SESSION = ("id", "source", "model", "title", "system_prompt", "parent_session_id", "started_at",
            "ended_at", "end_reason", "message_count", "tool_call_count")  # fmt: skip
_MESSAGE = ("session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name",
            "timestamp", "finish_reason")  # fmt: skip
_CREATE = """
import sys
from pathlib import Path
from hermes_state import SessionDB
SessionDB(db_path=Path(sys.argv[1])).close()
"""
_HUMAN = "session_id NOT IN (SELECT id FROM sessions WHERE source IN ('cron', 'subagent'))"
_CUT = "CASE role WHEN 'tool' THEN substr(content, 1, 8192) ELSE content END"
_CONVERT = f"""
CREATE VIEW messages_fts_src AS
    SELECT id, {_CUT} AS content, tool_name, tool_calls FROM messages;
CREATE VIEW messages_fts_trigram_src AS
    SELECT id, content, tool_name FROM messages WHERE role <> 'tool' AND {_HUMAN};
CREATE VIRTUAL TABLE messages_fts USING fts5(
    content, tool_name, tool_calls, content='messages_fts_src', content_rowid='id');
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content, tool_name, content='messages_fts_trigram_src', content_rowid='id',
    tokenize='trigram');
INSERT INTO messages_fts(messages_fts) VALUES ('rebuild');
INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('rebuild');
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
    SELECT id, content, tool_name, tool_calls FROM messages_fts_src WHERE id = new.id;
END;
CREATE TRIGGER messages_fts_delete BEFORE DELETE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
    SELECT 'delete', id, content, tool_name, tool_calls FROM messages_fts_src WHERE id = old.id;
END;
CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts_trigram(rowid, content, tool_name)
    SELECT id, content, tool_name FROM messages_fts_trigram_src WHERE id = new.id;
END;
CREATE TRIGGER messages_fts_trigram_delete BEFORE DELETE ON messages BEGIN
    INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content, tool_name)
    SELECT 'delete', id, content, tool_name FROM messages_fts_trigram_src WHERE id = old.id;
END;
UPDATE schema_version SET version = 27;
INSERT OR REPLACE INTO state_meta(key, value) VALUES ('fts_storage_version', '3');
"""


def _insert(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _session_row(session: real_text.Session) -> tuple[object, ...]:
    calls = sum(message.role == "tool" for message in session.messages)
    return (session.id, session.source, session.model, session.title, session.system_prompt,
            session.parent_session_id, session.started_at, session.ended_at, "cli_close",
            len(session.messages), calls)  # fmt: skip


def _message_rows(session: real_text.Session) -> list[tuple[object, ...]]:
    return [
        (session.id, m.role, m.content, m.tool_call_id, m.tool_calls, m.tool_name, m.timestamp,
         "tool_calls" if m.tool_calls else None)
        for m in session.messages
    ]  # fmt: skip


def _fill(con: apsw.Connection, sessions: Iterable[real_text.Session]) -> None:
    """Insert with plain SQL in large transactions; the file's own triggers index it."""
    con.execute("PRAGMA synchronous = OFF")
    con.execute("PRAGMA cache_size = -200000")
    waiting = 0
    con.execute("BEGIN IMMEDIATE")
    for session in sessions:
        con.execute(_insert("sessions", _SESSION), _session_row(session))
        con.executemany(_insert("messages", _MESSAGE), _message_rows(session))
        waiting += len(session.messages)
        if waiting > BATCH:
            con.execute("COMMIT")
            con.execute("BEGIN IMMEDIATE")
            waiting = 0
    con.execute("COMMIT")


def _close(con: apsw.Connection) -> None:
    con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    con.close()


def make_v22(path: Path, scale: real_text.Scale, seed: int) -> None:
    """Let the real program create the file, then fill it through its triggers."""
    subprocess.run([str(peer_python()), "-c", _CREATE, str(path)], check=True)
    con = apsw.Connection(str(path))
    _fill(con, real_text.sessions(scale, seed))
    _close(con)


def make_own(path: Path, scale: real_text.Scale, seed: int) -> None:
    """Let the store create the file, then fill it through its triggers."""
    Store(path).close()
    con = apsw.Connection(str(path))
    _fill(con, real_text.sessions(scale, seed))
    _close(con)
    Store(path).close()  # what it does once to a file that was filled is done now


def make_v23(path: Path, v22: Path) -> None:
    """Convert a copy of the v22 file to the layout of newer versions."""
    shutil.copy(v22, path)
    con = apsw.Connection(str(path))
    con.execute("PRAGMA synchronous = OFF")
    con.execute("PRAGMA cache_size = -200000")
    for table in ("messages_fts", "messages_fts_trigram"):
        for event in ("insert", "delete", "update"):
            con.execute(f"DROP TRIGGER {table}_{event}")
        con.execute(f"DROP TABLE {table}")
    con.execute(_CONVERT)
    con.execute("VACUUM")
    _close(con)


def _make(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a file under another name first, so that half a file is never taken for one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    working = path.parent / "making.db"
    for left in path.parent.glob("making.db*"):
        left.unlink()
    started = time.perf_counter()
    fill(working)
    working.rename(path)
    for left in path.parent.glob("making.db*"):
        left.unlink()
    took = time.perf_counter() - started
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB, made in {took:.0f} s", flush=True)


def build(folder: Path, scale: real_text.Scale, seed: int, layouts: Iterable[str]) -> None:
    """Make the files that are missing: `folder`/<layout>/state.db."""
    for layout in layouts:
        path = folder / layout / "state.db"
        if path.exists():
            continue
        if layout == "v22":
            _make(path, lambda new: make_v22(new, scale, seed))
        elif layout == "own":
            _make(path, lambda new: make_own(new, scale, seed))
        else:
            build(folder, scale, seed, ["v22"])
            _make(path, lambda new: make_v23(new, folder / "v22" / "state.db"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.search_files", description=__doc__)
    parser.add_argument("--scale", choices=real_text.SCALES, default="S")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layout", action="append", choices=LAYOUTS)
    options = parser.parse_args()
    scale = real_text.SCALES[options.scale]
    build(options.folder / scale.name, scale, options.seed, options.layout or LAYOUTS)


if __name__ == "__main__":
    main()
