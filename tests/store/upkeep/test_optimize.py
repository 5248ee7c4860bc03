"""`optimize`: a file with the old index layout becomes a compact one, beside living writers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from bench.sample_sessions import fill
from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import fulltext
from hermes_store.engines.sqlite.session_database import SqliteDatabase
from tests.store.processes import finish, heard, start
from tests.store.search.layouts import make_inline

NOW = 1_790_000_000.0

_WRITER = """
import sys
from hermes_store import SessionDB
db = SessionDB(sys.argv[1])
db.create_session("beside", "cli")
for number in range(int(sys.argv[2])):
    db.append_message("beside", "user", f"written beside number{number} 部署{number}")
    print(number, flush=True)
"""


@pytest.fixture
def inline(path: Path) -> Iterator[Path]:
    """A file of some size whose indexes keep their own copies of the text."""
    make_inline(path)
    database = SqliteDatabase(path, synchronous="NORMAL")
    fill(database, 60, now=NOW)
    database.close()
    with Store(path, read_only=True) as store:
        assert store.capabilities().words.value == "inline"
    yield path


def _problems(path: Path) -> list[str]:
    con = apsw.Connection(str(path))
    try:
        whole = con.execute("PRAGMA integrity_check").get
        return fulltext.check(con) + ([] if whole == "ok" else [str(whole)])
    finally:
        con.close()


def test_an_inline_file_gets_the_compact_layout(inline: Path) -> None:
    with Store(inline) as store:
        before = store.search.run("docker").hits
        heard: list[str] = []
        report = store.upkeep.optimize(lambda what, _done, _total: heard.append(what))
        assert report.converted
        assert report.after_bytes < 0.6 * report.before_bytes
        assert {"Indexing messages", "Merging the index", "Shrinking the database"} <= set(heard)
        assert store.capabilities().words.value == "external"
        assert [h.message_id for h in store.search.run("docker").hits] == [
            h.message_id for h in before
        ]
        assert store.search.run("部署").hits
    assert _problems(inline) == []


def test_afterwards_the_file_is_as_small_as_a_fresh_one(inline: Path, tmp_path: Path) -> None:
    with Store(inline) as store:
        store.upkeep.optimize()
    fresh = tmp_path / "fresh.db"
    database = SqliteDatabase(fresh, synchronous="NORMAL")
    fill(database, 60, now=NOW)
    database.close()
    with Store(fresh) as store:
        store.upkeep.optimize()
    assert inline.stat().st_size <= 1.1 * fresh.stat().st_size


def test_a_second_run_changes_nothing(inline: Path) -> None:
    with Store(inline) as store:
        first = store.upkeep.optimize()
        second = store.upkeep.optimize()
    assert not second.converted
    assert abs(second.after_bytes - first.after_bytes) <= 0.02 * first.after_bytes


def test_others_write_while_a_file_is_converted(inline: Path) -> None:
    writer = start(_WRITER, inline, 200)
    assert heard(writer) == "0"
    with Store(inline) as store:
        store.upkeep.optimize()
        finish(writer)
        assert store.search.run("number199").hits
        assert store.search.run("部署199").hits
        assert len(store.messages.of("beside")) == 200
    assert _problems(inline) == []


def test_a_conversion_that_was_cut_off_goes_on_at_the_next_open(
    inline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "STEP_ROWS", 20)
    with Store(inline) as store:
        steps = 0

        def cut_off(what: str, done: int, total: int) -> None:
            nonlocal steps
            steps += 1
            if steps == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.upkeep.optimize(cut_off)
        unindexed = store.capabilities().unindexed
        assert unindexed is not None
        floor = unindexed[1] + 1
        # Everything is still found, the rest by reading; also what is deleted meanwhile.
        assert store.search.run("docker").hits
        with store.database.write() as tx:
            tx.run("DELETE FROM messages WHERE id IN (?, ?)", (floor - 1, floor + 1))
    with Store(inline) as store:
        assert store.capabilities().unindexed is None
    assert _problems(inline) == []


def test_a_newer_file_is_left_alone(path: Path) -> None:
    with SessionDB(path) as db:
        db.create_session("a", "cli")
        with db._db.write() as tx:
            tx.run("UPDATE schema_version SET version = 22")
    before = path.read_bytes()
    with Store(path) as store:
        report = store.upkeep.optimize()
        assert report.left_alone and not report.converted
    assert path.read_bytes() == before


def test_no_step_of_a_conversion_is_long(inline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in rows, not seconds: no transaction indexes more than its share."""
    monkeypatch.setattr(fulltext, "STEP_ROWS", 25)
    with Store(inline) as store:
        floors: list[int] = []

        def watch(what: str, _done: int, _total: int) -> None:
            if what == "Indexing messages":
                floors.append((store.capabilities().unindexed or (0, -1))[1] + 1)

        store.upkeep.optimize(watch)
    assert len(floors) > 5
    assert max(a - b for a, b in pairwise(floors)) <= 25
