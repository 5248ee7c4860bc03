"""Eight real processes write to one file at once, and every message arrives."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from hermes_store import SessionDB
from hermes_store.engines.sqlite import fulltext
from tests.store import processes

WRITERS = 8
APPENDS = 300
LOG_LIMIT = 40_000_000

APPEND = f"""
import sys
from hermes_store import SessionDB
name = sys.argv[2]
with SessionDB(sys.argv[1]) as db:
    db.create_session(name, "cli")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range({APPENDS}):
        db.append_message(name, "user", f"message {{number}} of {{name}} " + "text " * 20)
"""


def test_eight_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = path.with_name("state.db-wal")
    SessionDB(path).close()
    writers = [processes.start(APPEND, path, f"writer{n}") for n in range(WRITERS)]
    largest = 0
    try:
        for writer in writers:
            assert processes.heard(writer) == "ready"
        started = time.monotonic()
        for writer in writers:
            processes.tell(writer)
        while any(writer.poll() is None for writer in writers):
            largest = max(largest, log.stat().st_size)
            time.sleep(0.02)
        seconds = time.monotonic() - started
        for writer in writers:
            processes.finish(writer)
    finally:
        for writer in writers:
            if writer.poll() is None:
                processes.kill(writer)
    print(f"{WRITERS * APPENDS / seconds:.0f} appends/s, log at most {largest / 1e6:.1f} MB")
    assert largest < LOG_LIMIT
    with SessionDB(path) as db:
        for number in range(WRITERS):
            said = [m["content"].split()[1] for m in db.get_messages(f"writer{number}")]
            assert said == [str(place) for place in range(APPENDS)]
            row = db.get_session(f"writer{number}")
            assert row is not None
            assert row["message_count"] == APPENDS
        assert len(db.search_messages("writer3", limit=APPENDS + 1)) == APPENDS
    con = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert fulltext.check(con) == []
    finally:
        con.close()
