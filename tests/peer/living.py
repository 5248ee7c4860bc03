"""A real Hermes process that stays open on a file and does what it is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from hermes_store.engines.sqlite import fulltext
from tests.store import processes

# Each line it reads is a method with its arguments; it answers with one line of JSON.
SERVE = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(db_path=Path(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    name, arguments, options = json.loads(line)
    answer = getattr(db, name)(*arguments, **options)
    print("answer " + json.dumps(answer, default=str), flush=True)
db.close()
print("closed", flush=True)
"""

# Adds a thousand messages to a session of its own, then leaves as a program does.
APPEND = """
import sys
from pathlib import Path
if sys.argv[2] == "real":
    from hermes_state import SessionDB
else:
    from hermes_store import SessionDB
db = SessionDB(db_path=Path(sys.argv[1]))
name = sys.argv[3]
db.create_session(name, "cli")
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    db.append_message(name, "user", f"message {number} of {name} 前回の設定")
db.close()
"""


class Peer:
    """A living Hermes; call it with a method name and arguments."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, method: str, *arguments: Any, **options: Any) -> Any:
        processes.tell(self._process, json.dumps([method, arguments, options]))
        line = processes.heard(self._process)
        assert line.startswith("answer "), line
        return json.loads(line.removeprefix("answer "))

    def found(self, word: str) -> list[int]:
        """Return the ids of the messages its search finds."""
        return sorted(row["id"] for row in self("search_messages", word, limit=500))

    def leave(self) -> None:
        """Let it close the file and end."""
        processes.finish(self._process)


@contextmanager
def living(python: str, path: Path) -> Iterator[Peer]:
    """Run a real Hermes on a file for the block."""
    with processes.running(SERVE, path, python=python) as process:
        yield Peer(process)


@contextmanager
def looking(path: Path) -> Iterator[apsw.Connection]:
    """Open a file read-only, the way a browser of databases does."""
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield con
    finally:
        con.close()


def schema_of(path: Path) -> list[tuple[Any, ...]]:
    """Return all that a file declares, and its version."""
    with looking(path) as con:
        declared = con.execute("SELECT * FROM sqlite_master ORDER BY rowid").fetchall()
        return declared + con.execute("SELECT * FROM schema_version").fetchall()


def assert_sound(path: Path) -> None:
    """Assert that SQLite finds no fault with a file nor with its indexes."""
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert con.execute("PRAGMA foreign_key_check").fetchall() == []
        assert fulltext.check(con) == []
    finally:
        con.close()
