"""The list of words: kept up in small steps, done without where it cannot be had, never trusted."""

from __future__ import annotations

import shutil
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import side_word_index
from hermes_store.engines.sqlite.side_word_index import SideIndex
from hermes_store.records.search import Request
from tests import rights
from tests.store import processes
from tests.store.search.layouts import TAIL_MODULES
from tests.support import LONG_AGO, add


@pytest.fixture(autouse=True)
def short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search read no more than three messages itself."""
    for module in TAIL_MODULES:
        monkeypatch.setattr(module, "TAIL_ROWS", 3)


def fill(db: SessionDB, first: int, number: int) -> None:
    add(db, f"s{first}", *[f"prefixword{n}suffix common" for n in range(first, first + number)])


def listed(path: Path) -> set[str]:
    con = apsw.Connection(str(side_word_index.path_for(path)), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {str(row[0]) for row in con.execute("SELECT term FROM terms")}
    finally:
        con.close()


def parts_found(store: Store, part: str) -> int:
    return len(store.search.run(Request(part, limit=1_000, relax=False)).hits)


# -- keeping up --------------------------------------------------------------------------------


def test_only_new_messages_are_read_when_catching_up(db: SessionDB, path: Path) -> None:
    fill(db, 0, 10)
    heard: list[tuple[int, int]] = []
    assert db.store.search.prepare(lambda done, total: heard.append((done, total)))
    assert heard[-1] == (10, 10)
    before = listed(path)
    with db._db.write() as tx:
        # Nobody says these words any more; a second look at old messages would show that.
        tx.run("UPDATE messages SET content = 'changed' WHERE id = 1")
    fill(db, 100, 5)
    assert db.store.search.prepare()
    assert listed(path) == before | {f"prefixword{n}suffix" for n in range(100, 105)}


def test_a_search_catches_up_by_itself(db: SessionDB, path: Path) -> None:
    fill(db, 0, 10)
    assert parts_found(db.store, "ixword") == 10
    assert "prefixword9suffix" in listed(path)


def test_it_works_in_steps(db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_word_index, "STEP_ROWS", 4)
    fill(db, 0, 10)
    heard: list[int] = []
    assert not db.store.search.prepare(lambda done, _: heard.append(done), seconds=0.0)
    assert heard == [4]
    assert parts_found(db.store, "ixword") == 10
    assert db.store.search.prepare()


def test_messages_beyond_the_list_are_found_all_the_same(db: SessionDB) -> None:
    fill(db, 0, 10)
    assert db.store.search.prepare()
    fill(db, 100, 2)
    assert parts_found(db.store, "ixword") == 12
    fill(db, 200, 20)
    assert parts_found(db.store, "ixword") == 32


def test_a_search_without_time_to_catch_up_is_right(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, 0, 10)
    monkeypatch.setattr("hermes_store.search.run_plan.CATCH_UP_SECONDS", -1.0)
    monkeypatch.setattr(side_word_index, "STEP_ROWS", 2)
    assert parts_found(db.store, "ixword") == 10


def test_more_overlong_words_than_a_tail_are_found(db: SessionDB) -> None:
    add(db, "s", *[f"{'k' * 70}needle{n}" for n in range(10)])
    assert db.store.search.prepare()
    assert parts_found(db.store, "kneedle") == 10


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("price ٣٤٥٦٧", "٤٥٦"),
        ("version 1234567", "345"),
        ("hash deadbeef01", "adbee"),
        ("中яблоко文", "яблок"),
        ("使用Python编写", "ytho"),
        ("import base64,hashlib", "ashli"),
        ("cafe\u0301s", "cafe\u0301"),
        ("cafe\u0301ster", "\u0301ster"),
        ("x_y", "_y"),
    ],
)
def test_parts_of_odd_words_are_found(db: SessionDB, said: str, part: str) -> None:
    add(db, "s", said, *["other"] * 10)
    assert db.store.search.prepare()
    assert parts_found(db.store, f'"{part}"') == 1


# -- another database --------------------------------------------------------------------------


def replace_database(path: Path, words: Sequence[str]) -> None:
    """Put another database in the place of one that is closed."""
    for name in (path.name, path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)
    with SessionDB(path) as other:
        add(other, "other", *words, at=LONG_AGO + 1_000)


@pytest.mark.parametrize("number", [4, 10, 30])
def test_another_database_in_its_place_is_noticed(path: Path, number: int) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 10)
        assert db.store.search.prepare()
    replace_database(path, [f"another{n}thing" for n in range(number)])
    with Store(path) as store:
        assert parts_found(store, "otherthing") == 0
        assert parts_found(store, "nother") == number


def test_an_older_copy_in_its_place_is_noticed(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with SessionDB(path) as db:
        fill(db, 0, 10)
        db._db.truncate_log()
    shutil.copy(path, copy)
    with SessionDB(path) as db:
        fill(db, 100, 3)
        assert db.store.search.prepare()
    for name in (path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copy(copy, path)
    with SessionDB(path) as db:
        add(db, "since", "somethingelse entirely")
        assert parts_found(db.store, "methinge") == 1
        add(db, "more", *["andanotherone"] * 5)
        assert parts_found(db.store, "anotherone") == 5
        assert db.store.search.prepare()
        assert parts_found(db.store, "methinge") == 1


def test_deleted_messages_are_no_other_database(db: SessionDB, path: Path) -> None:
    fill(db, 0, 5)
    add(db, "last", "one more word")
    assert db.store.search.prepare()
    assert db.delete_session("last")
    assert parts_found(db.store, "ixword") == 5
    assert "prefixword4suffix" in listed(path)


# -- without it --------------------------------------------------------------------------------


def test_it_is_made_for_its_owner_only(db: SessionDB, path: Path) -> None:
    add(db, "s", "word")
    assert db.store.search.prepare()
    assert stat.S_IMODE(side_word_index.path_for(path).stat().st_mode) == 0o600


def test_deleting_it_costs_nothing_but_time(path: Path) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 10)
        assert db.store.search.prepare()
    for name in ("", "-wal", "-shm"):
        path.with_name(side_word_index.path_for(path).name + name).unlink(missing_ok=True)
    with Store(path) as store:
        assert parts_found(store, "ixword") == 10


@pytest.mark.parametrize("damage", ["text", "folder", "empty", "torn", "other format", "no table"])
def test_a_damaged_list_is_done_without(path: Path, damage: str) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 200)
        assert db.store.search.prepare()
    place = side_word_index.path_for(path)
    spoil(place, damage)
    with Store(path) as store:
        assert parts_found(store, "ixword") == 200
        assert parts_found(store, "word19") == 11
        assert parts_found(store, "prefixword19*") == 11
        assert not store.search.run("prefixwrod1suffix").partial
        store.search.prepare()
        assert parts_found(store, "ixword") == 200


def spoil(place: Path, damage: str) -> None:
    """Damage a closed list of words in one of the ways that happen."""
    size = place.stat().st_size
    if damage == "torn":
        with place.open("r+b") as file:
            for page in range(1, size // 4096):
                file.seek(page * 4096)
                file.write(b"\xff" * 2048)
        return
    if damage in ("other format", "no table"):
        con = apsw.Connection(str(place))
        con.execute("PRAGMA user_version = 999" if damage == "other format" else "DROP TABLE terms")
        con.close()
        return
    place.unlink()
    if damage == "folder":
        place.mkdir()
    else:
        place.write_text("no database at all" * 100 if damage == "text" else "")


def test_an_older_format_is_made_anew(path: Path) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 10)
        assert db.store.search.prepare()
    con = apsw.Connection(str(side_word_index.path_for(path)))
    con.execute("DELETE FROM terms")
    con.execute("PRAGMA user_version = 1")
    con.close()
    with Store(path) as store:
        assert parts_found(store, "ixword") == 10
    assert "prefixword1suffix" in listed(path)


def test_a_read_only_store_keeps_one_too(path: Path) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 10)
    with Store(path, read_only=True) as store:
        assert store.search.prepare()
        assert parts_found(store, "ixword") == 10
    assert "prefixword1suffix" in listed(path)


def test_a_folder_that_cannot_be_written_to_is_no_obstacle(path: Path) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 10)
        db._db.truncate_log()
    path.parent.chmod(0o500)
    try:
        with rights.respected(), Store(path, read_only=True) as store:
            assert not store.search.prepare()
            assert parts_found(store, "ixword") == 10
    finally:
        path.parent.chmod(0o700)


# -- shared ------------------------------------------------------------------------------------

SEARCH = """
import sys
from hermes_store import Store
from hermes_store.records.search import Request
with Store(sys.argv[1]) as store:
    store.search.prepare()
    print(len(store.search.run(Request("ixword", limit=1_000, relax=False)).hits))
"""


def test_processes_share_it(db: SessionDB, path: Path) -> None:
    fill(db, 0, 300)
    children = [processes.start(SEARCH, path) for _ in range(2)]
    assert db.store.search.prepare()
    assert [processes.finish(child).strip() for child in children] == ["300", "300"]
    assert len([term for term in listed(path) if "ixword" in term]) == 300


def test_threads_share_it_while_somebody_writes(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_word_index, "STEP_ROWS", 7)
    fill(db, 0, 50)
    wrong: list[str] = []

    def look() -> None:
        for _ in range(8):
            before = len(db.store.messages.of("s0"))
            found = parts_found(db.store, "prefixwor")
            if found < before:
                wrong.append(f"{found} of {before}")

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 6):
        fill(db, 100 * number, 10)
    for thread in threads:
        thread.join(30)
    assert not wrong
    assert parts_found(db.store, "ixword") == 100


def test_two_lists_of_one_file_do_not_disturb_each_other(db: SessionDB, path: Path) -> None:
    fill(db, 0, 20)
    one, other = SideIndex(path), SideIndex(path)
    try:
        with db._db.read() as tx:
            assert one.catch_up(tx)
            assert other.covered(tx) == 20
            assert other.catch_up(tx)
        assert len(other.containing("ixword", 100) or ()) == 20
    finally:
        one.close()
        other.close()
