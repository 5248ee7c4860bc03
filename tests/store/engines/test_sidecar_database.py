"""The companion file: it appears late, keeps to itself, and never takes a reader down."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from threading import Thread

import apsw
import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite.sidecar_database import VERSION, SqliteSidecar
from hermes_store.errors import DatabaseCorrupt, DatabaseReadOnly, InvalidInput, StoreError
from hermes_store.marks.saved_searches import SavedSearches
from tests import rights
from tests.store import processes
from tests.support import add


@pytest.fixture
def beside(path: Path) -> Path:
    return path.with_name("state.db.companion")


def _fill(path: Path) -> None:
    companion = SqliteSidecar(path)
    for number in range(200):
        SavedSearches(companion).save(f"name {number}", "text " * 50)
    companion.close()
    _merge_log(companion.path)


def _merge_log(file: Path) -> None:
    con = apsw.Connection(str(file))
    con.execute("SELECT 1 FROM sqlite_master").fetchall()  # only now it notices the log
    con.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    con.close()


def _damage(file: Path, start: int, length: int = 4096) -> None:
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(b"\xa5" * length)


def test_reading_never_creates_it(db: SessionDB, beside: Path) -> None:
    add(db, "a", "x")
    for empty in (
        db.store.trash.list(),
        db.store.saved_searches.list(),
        db.store.saved_searches.history(),
        db.store.marks.tags(),
    ):
        assert empty == ()
    assert not db.store.marks.of(["a"])["a"].pinned
    assert db.store.lists.conversations() and db.store.search.run("x -tag:none").hits
    assert not beside.exists()


def test_the_first_thing_kept_creates_it_for_its_owner_only(db: SessionDB, beside: Path) -> None:
    db.store.saved_searches.save("  my\nsearch ", "docker source:cli")
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert [(each.name, each.text) for each in db.store.saved_searches.list()] == [
        ("my search", "docker source:cli")
    ]
    with apsw.Connection(str(beside)) as con:
        assert con.execute("PRAGMA journal_mode").get == "wal"
        assert con.execute("PRAGMA user_version").get == VERSION
        assert con.execute("PRAGMA auto_vacuum").get == 2
    con.close()


def test_nothing_of_it_is_in_the_session_database(db: SessionDB, path: Path) -> None:
    before = db.store.capabilities().tables
    add(db, "a", "x", ended=1.0)
    db.store.marks.tag("a", "work")
    db.store.trash.delete_conversation("a")
    db.store.saved_searches.save("name", "text")
    assert db.store.capabilities().tables == before


def test_saved_searches_are_replaced_and_forgotten(db: SessionDB) -> None:
    db.store.saved_searches.save("one", "first")
    db.store.saved_searches.save("one", "second")
    assert [each.text for each in db.store.saved_searches.list()] == ["second"]
    assert db.store.saved_searches.forget("one") is True
    assert db.store.saved_searches.forget("one") is False
    with pytest.raises(InvalidInput, match="needs a name"):
        db.store.saved_searches.save(" \n", "text")


def test_the_history_has_each_text_once_the_latest_first(path: Path) -> None:
    companion = SqliteSidecar(path)
    for moment, text in enumerate(["one", "two", " one ", "", "three"]):
        SavedSearches(companion).remember(text, float(moment))
    assert SavedSearches(companion).history() == ("three", "one", "two")
    assert SavedSearches(companion).history(limit=1) == ("three",)
    SavedSearches(companion).clear_history()
    assert SavedSearches(companion).history() == ()
    companion.close()


def test_the_history_forgets_the_oldest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_store.marks.saved_searches.HISTORY_LENGTH", 3)
    companion = SqliteSidecar(path)
    for number in range(5):
        SavedSearches(companion).remember(f"text {number}", float(number))
    assert SavedSearches(companion).history() == ("text 4", "text 3", "text 2")
    companion.close()


def test_a_read_only_store_reads_and_refuses_changes(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", ended=1.0)
    add(db, "b", "x", ended=1.0)
    db.store.marks.tag("a", "work")
    gone = db.store.trash.delete_conversation("b")
    with Store(path, read_only=True) as store:
        assert store.marks.of(["a"])["a"].tags == ("work",)
        assert [batch.id for batch in store.trash.list()] == [gone.batch_id]
        assert store.search.run("x tag:work").hits
        for change in (
            lambda: store.marks.tag("a", "more"),
            lambda: store.marks.pin("a"),
            lambda: store.marks.unarchive("a"),
            lambda: store.saved_searches.save("n", "t"),
            lambda: store.saved_searches.remember("t"),
            lambda: store.trash.restore(),
            lambda: store.trash.empty(),
            lambda: store.trash.delete_conversation("a"),
            lambda: store.trash.delete_conversation("a", permanently=True),
            lambda: store.upkeep.prune(store.upkeep.plan_prune()),
        ):
            with pytest.raises(DatabaseReadOnly):
                change()


def test_read_only_without_a_companion_refuses_and_creates_nothing(
    db: SessionDB, path: Path, beside: Path
) -> None:
    add(db, "a")
    with Store(path, read_only=True) as store, pytest.raises(DatabaseReadOnly):
        store.marks.pin("a")
    assert not beside.exists()


def test_a_closed_one_says_so(path: Path) -> None:
    companion = SqliteSidecar(path)
    companion.close()
    companion.close()
    with pytest.raises(StoreError, match="closed"):
        SavedSearches(companion).list()
    with pytest.raises(StoreError, match="closed"):
        SavedSearches(companion).remember("x")


def test_a_write_protected_folder_can_be_read(path: Path, tmp_path: Path) -> None:
    _fill(path)
    for ending in ("-wal", "-shm"):
        path.with_name(f"state.db.companion{ending}").unlink(missing_ok=True)
    tmp_path.chmod(0o500)
    try:
        with rights.respected():
            companion = SqliteSidecar(path, read_only=True)
            assert len(SavedSearches(companion).list()) == 200
            companion.close()
    finally:
        tmp_path.chmod(0o700)


# -- damage ------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_set_aside(
    path: Path, beside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 2):
        beside.write_bytes(b"not a database at all, but long enough to be read as one " * 20)
        companion = SqliteSidecar(path)
        with caplog.at_level(logging.WARNING, "hermes_store.engines.sqlite.sidecar_database"):
            assert SavedSearches(companion).list() == ()
        assert f"companion.broken-{number}" in caplog.text
        assert beside.with_name(f"state.db.companion.broken-{number}").read_bytes()[:3] == b"not"
        SavedSearches(companion).save("new", "text")
        assert len(SavedSearches(companion).list()) == 1
        companion.close()
        _merge_log(beside)


def test_damage_inside_is_noticed_by_readers_and_by_writers(path: Path, beside: Path) -> None:
    _fill(path)
    _damage(beside, 4096, beside.stat().st_size - 4096)
    companion = SqliteSidecar(path)
    assert SavedSearches(companion).list() == ()
    assert beside.with_name("state.db.companion.broken-1").exists()
    companion.close()
    _fill(path)
    _damage(beside, 4096, beside.stat().st_size - 4096)
    companion = SqliteSidecar(path)
    with pytest.raises(DatabaseCorrupt, match="moved aside"):
        SavedSearches(companion).save("name 1", "text")
    assert SavedSearches(companion).save("name 1", "text").text == "text"
    assert beside.with_name("state.db.companion.broken-2").exists()
    companion.close()


def test_a_read_only_store_moves_nothing(
    db: SessionDB, path: Path, beside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(db, "a", "x")
    beside.write_bytes(b"nonsense" * 100)
    with Store(path, read_only=True) as store:
        assert store.trash.list() == ()
        assert [each.tip.id for each in store.lists.conversations()] == ["a"]
    assert caplog.text.count("is damaged") == 1
    assert beside.read_bytes() == b"nonsense" * 100


def test_another_process_finds_the_new_file(path: Path, beside: Path) -> None:
    one, other = SqliteSidecar(path), SqliteSidecar(path)
    SavedSearches(one).save("first", "text")
    assert len(SavedSearches(other).list()) == 1
    beside.rename(beside.with_name("moved"))
    assert SavedSearches(other).list() == SavedSearches(one).list() == ()
    SavedSearches(other).save("second", "text")
    assert [each.name for each in SavedSearches(one).list()] == ["second"]
    one.close()
    other.close()


def test_a_newer_file_is_left_alone(
    path: Path, beside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _fill(path)
    with apsw.Connection(str(beside)) as con:
        con.execute("PRAGMA user_version = 99")
    con.close()
    companion = SqliteSidecar(path)
    assert SavedSearches(companion).list() == ()
    assert "newer version" in caplog.text
    with pytest.raises(DatabaseReadOnly, match="newer version"):
        SavedSearches(companion).save("name", "text")
    companion.close()
    assert beside.exists()


# -- company -----------------------------------------------------------------------------------

WRITE = """
import sys
from pathlib import Path
from hermes_store.engines.sqlite.sidecar_database import SqliteSidecar
from hermes_store.marks.saved_searches import SavedSearches
companion = SqliteSidecar(Path(sys.argv[1]))
for number in range(30):
    SavedSearches(companion).save(f"{sys.argv[2]} {number}", "text")
companion.close()
"""


def test_processes_share_it(path: Path) -> None:
    processes.together(WRITE, [(path, name) for name in "abcd"])
    companion = SqliteSidecar(path)
    assert len(SavedSearches(companion).list()) == 120
    companion.close()


def test_threads_share_it(path: Path) -> None:
    companion = SqliteSidecar(path)

    def work(name: str) -> None:
        for number in range(20):
            SavedSearches(companion).save(f"{name} {number}", "text")
            assert SavedSearches(companion).list()

    threads = [Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(SavedSearches(companion).list()) == 80
    companion.close()
