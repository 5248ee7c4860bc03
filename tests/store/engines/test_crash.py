"""A hundred times kill -9 in the middle of something: nothing that was acknowledged is lost."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext, schema, session_activity_table
from hermes_store.engines.sqlite.file_capabilities import version
from tests.store import old_files, processes

ROUNDS = 10
"""Kills in each of the ten tests below; together they make the hundred."""
TRIES = 60
"""How often at most; a kill that comes after the work was done does not count."""

WRITE = """
import sys
from hermes_store import SessionDB
db = SessionDB(sys.argv[1])
name = sys.argv[2]
db.create_session(name, "cli")
db.create_session(name + "r", "cli")
print("ready", flush=True)
number = 0
while True:
    number += 1
    text = f"{name}n{number} 前回の設定"
    print("said", db.append_message(name, "user", text), text, flush=True)
    if number % 5 == 0:
        db.replace_messages(name + "r", [{"role": "user", "content": text}] * 20)
        print("replaced", flush=True)
    if number % 7 == 0:
        db.set_session_title(name, f"{name} {number}")
        print("titled", f"{name} {number}", flush=True)
"""

MIGRATE = """
import sys
from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext
fulltext.STEP_ROWS = 10
print("ready", flush=True)
SessionDB(sys.argv[1]).close()
print("finished", flush=True)
"""

PRUNE = """
import sys
from hermes_store import SessionDB
from hermes_store.trash import delete_from_database as deletion
deletion.STEP_SESSIONS = 2
db = SessionDB(sys.argv[1])
print("ready", flush=True)
db.prune_sessions(older_than_days=1)
db.vacuum()
print("finished", flush=True)
"""


def _interrupt(process: subprocess.Popen[str], longest: float, draw: random.Random) -> list[str]:
    """Let a script work for a random short time, kill it, and return what it acknowledged."""
    assert processes.heard(process) == "ready"
    time.sleep(draw.uniform(0, longest))
    return processes.kill(process).splitlines()


def _length(script: str, path: Path) -> float:
    """Return how long a script works that nobody interrupts."""
    process = processes.start(script, path)
    assert processes.heard(process) == "ready"
    started = time.monotonic()
    assert processes.heard(process) == "finished"
    seconds = time.monotonic() - started
    processes.finish(process)
    return seconds


def _assert_sound(path: Path) -> None:
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert con.execute("PRAGMA foreign_key_check").fetchall() == []
        if version(con) == schema.SCHEMA_VERSION and fulltext.floor(con) is None:
            assert fulltext.check(con) == []
            _assert_activity(con)
    finally:
        con.close()


def _assert_activity(con: apsw.Connection) -> None:
    if not session_activity_table.is_intact(con):
        return  # a migration that was killed before this step
    columns = "session_id, root_id, edge, listed, last_active, spoken, preview_id"
    kept = con.execute(f"SELECT {columns} FROM session_activity ORDER BY 1").fetchall()
    con.execute("BEGIN IMMEDIATE")
    session_activity_table.create(con)
    fresh = con.execute(f"SELECT {columns} FROM session_activity ORDER BY 1").fetchall()
    con.execute("ROLLBACK")
    assert kept == fresh


@pytest.mark.parametrize("seed", range(4))
def test_killed_while_writing(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = tmp_path / "state.db"
    said: dict[int, str] = {}
    titles: dict[str, str] = {}
    replaced = set()
    for number in range(ROUNDS):
        name = f"s{number}"
        writer = processes.start(WRITE, path, name)
        # However slow the machine, one write is acknowledged before the kill.
        assert processes.heard(writer) == "ready"
        first = processes.heard(writer)
        time.sleep(draw.uniform(0, 0.08))
        for line in [first, *processes.kill(writer).splitlines()]:
            match line.split(maxsplit=2):
                case ["said", message_id, text]:
                    said[int(message_id)] = text
                case ["titled", _, _]:
                    titles[name] = line.removeprefix("titled ")
                case ["replaced"]:
                    replaced.add(f"{name}r")
        _assert_sound(path)
    with SessionDB(path) as db:
        stored = {m["id"]: m["content"] for n in range(ROUNDS) for m in db.get_messages(f"s{n}")}
        assert stored.items() >= said.items()
        # Of each process at most the write that was under way may be there without its word.
        assert len(stored) - len(said) <= ROUNDS
        for name in replaced:
            assert db.message_count(name) == 20
        for name, title in titles.items():
            assert int(str(db.get_session_title(name)).split()[1]) >= int(title.split()[1])
        for number in range(ROUNDS):
            row = db.get_session(f"s{number}")
            assert row is not None
            assert row["message_count"] == db.message_count(f"s{number}")
        some = draw.choice(list(said.values())).split()[0]
        assert len(db.search_messages(some)) >= 1
    assert len(said) >= ROUNDS


@pytest.mark.parametrize("seed", range(3))
def test_killed_while_migrating(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    old_files.build(tmp_path / "measured.db", 5, sessions=8, messages=25)
    length = _length(MIGRATE, tmp_path / "measured.db")
    midway = 0
    for attempt in range(TRIES):
        path = tmp_path / f"{attempt}.db"
        old_files.build(path, draw.randint(1, 10), sessions=8, messages=25)
        before = _contents(path)
        # The same file is hit again until it got through or was hit three times.
        for _ in range(3):
            finished = _interrupt(processes.start(MIGRATE, path), length * 0.8, draw)
            _assert_sound(path)
            if finished:
                length *= 0.8  # measured while the machine was busier
                break
            midway += 1
        with SessionDB(path) as db:
            assert len(db.search_messages("word0x0")) == 1
            assert len(db.search_messages("word7x24")) == 1
        _assert_sound(path)
        assert _contents(path) == before
        if midway >= ROUNDS:
            return
    pytest.fail(f"only {midway} kills came before the end")


def _contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return old_files.contents(con)
    finally:
        con.close()


def _prunable(path: Path, first: int) -> None:
    """Add forty ended sessions of last year and a live one, ten messages each."""
    with SessionDB(path, synchronous="NORMAL") as db, db._db.write():
        for number in range(first, first + 40):
            db.store.sessions.start(f"old{number}", "cli", started_at=1.0)
            for place in range(10):
                db.append_message(f"old{number}", "user", f"gone {place} 前回", timestamp=2.0)
            db.end_session(f"old{number}", "user_exit")
        db.create_session(f"live{first}", "cli")
        for place in range(10):
            db.append_message(f"live{first}", "user", f"kept {place} 前回の設定", timestamp=2.0)


@pytest.mark.parametrize("seed", range(3))
def test_killed_while_pruning(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    _prunable(tmp_path / "measured.db", 0)
    length = _length(PRUNE, tmp_path / "measured.db")
    path = tmp_path / "state.db"
    midway = 0
    for attempt in range(TRIES):
        _prunable(path, attempt * 100)
        live = attempt + 1
        finished = _interrupt(processes.start(PRUNE, path), length * 0.7, draw)
        midway += not finished
        length *= 0.8 if finished else 1.0
        _assert_sound(path)
        with SessionDB(path, read_only=True) as db, db._db.read() as tx:
            sizes = tx.rows("SELECT session_id, COUNT(*) FROM messages GROUP BY session_id")
            # A session is there with all it said, or not at all.
            assert {size for _, size in sizes} == {10}
            assert tx.value("SELECT COUNT(*) FROM sessions WHERE id LIKE 'live%'") == live
        if midway >= ROUNDS:
            break
    assert midway >= ROUNDS
    with SessionDB(path) as db:
        db.prune_sessions(older_than_days=1)
        assert db.session_count() == live
        assert db.message_count() == live * 10
        assert db.search_messages("gone") == []
    _assert_sound(path)
