"""The list of words: made out of the index, gone on with, never trusted, done without."""

from __future__ import annotations

import shutil
import stat
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.sqlite import word_list, word_list_file, words_of_index
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.records.search import Request
from tests import rights
from tests.sqlite_parts import in_sqlite, sqlite
from tests.store import processes
from tests.support import LONG_AGO, Work, add


def fill(db: SessionDB, first: int, number: int) -> None:
    add(db, f"s{first}", *[f"prefixword{n}suffix common" for n in range(first, first + number)])


def listed(path: Path) -> set[str]:
    """Return the words in the file, without its first line."""
    _, *words = word_list.path_for(path).read_bytes().split(b"\n")
    return {word.decode() for word in words} - {""}


def parts_found(store: Store, part: str) -> int:
    return len(store.search.run(Request(part, limit=1_000, relax=False)).hits)


def reads(db: SessionDB, part: str) -> int:
    """Return how many statements of a search go through messages."""
    queries = Work(db, lambda each: parts_found(each.store, part)).queries
    return sum("FROM messages m" in sql for sql in queries)


# -- making ------------------------------------------------------------------------------------


def test_all_words_are_listed_once(db: SessionDB, path: Path) -> None:
    add(db, "s", "Docker docker 1234 deadbeef café 部署完成 v2版本", "docker compose")
    heard: list[tuple[int, int]] = []
    assert db.store.search.prepare(lambda done, total: heard.append((done, total)))
    assert heard[-1] == (100, 100)
    words = ["docker", "1234", "deadbeef", "cafe", "部署完成", "v2版本", "compose"]
    body = word_list.path_for(path).read_bytes().split(b"\n")[1:]
    assert sorted(body) == sorted([b"", *(word.encode() for word in words)])


def test_no_search_makes_it(db: SessionDB, path: Path) -> None:
    fill(db, 0, 10)
    assert parts_found(db.store, "ixword") == 10
    assert not db.search_messages("nothing like it")
    assert not word_list.path_for(path).exists()


def test_with_it_no_message_is_read_for_what_no_word_contains(db: SessionDB) -> None:
    fill(db, 0, 50)
    assert reads(db, "zebra") > 0
    assert db.store.search.prepare()
    assert parts_found(db.store, "ixword") == 50
    assert reads(db, "zebra") == 0


def test_only_the_words_of_new_messages_are_added(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, 0, 40)
    assert db.store.search.prepare()
    before = listed(path)
    fill(db, 100, 2)
    monkeypatch.setattr(WordList, "_make", None)
    assert db.store.search.prepare()
    assert listed(path) == before | {"prefixword100suffix", "prefixword101suffix"}
    assert parts_found(db.store, "ixword") == 42


def test_it_is_made_anew_when_much_was_added(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        fill(db, 100 * number, 10)
        assert db.store.search.prepare()
    body = word_list.path_for(path).read_bytes().split(b"\n")[1:]
    assert len(body) < 2 * len(set(body))
    assert parts_found(db.store, "ixword") == 80


def test_it_goes_on_where_it_stopped(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words_of_index, "STEP_WORDS", 10)
    fill(db, 0, 45)
    steps = iter([False] * 3)
    assert not db.store.search.prepare(stopped=lambda: next(steps, True))
    assert parts_found(db.store, "ixword") == 45
    asked: list[str] = []
    words_after = words_of_index.words_after

    def watched(con, schema, table, last):  # type: ignore[no-untyped-def]
        asked.append(last)
        return words_after(con, schema, table, last)

    monkeypatch.setattr(words_of_index, "words_after", watched)
    fill(db, 100, 3)
    assert db.store.search.prepare()
    assert asked[0] > "prefixword"
    assert len([word for word in listed(path) if "ixword" in word]) >= 45
    assert parts_found(db.store, "ixword") == 48


def test_what_was_torn_off_is_made_again(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words_of_index, "STEP_WORDS", 10)
    fill(db, 0, 45)
    steps = iter([False] * 3)
    assert not db.store.search.prepare(stopped=lambda: next(steps, True))
    part = word_list_file.part(word_list.path_for(path))
    part.write_bytes(part.read_bytes()[:-25])
    assert db.store.search.prepare()
    assert len([word for word in listed(path) if "ixword" in word]) == 45
    assert not part.exists()


def test_messages_beyond_the_list_are_found_all_the_same(db: SessionDB) -> None:
    fill(db, 0, 10)
    assert db.store.search.prepare()
    fill(db, 100, 2)
    assert parts_found(db.store, "ixword") == 12
    fill(db, 200, 20)
    assert parts_found(db.store, "ixword") == 32


def test_words_that_are_cut_off_in_the_index_are_found(db: SessionDB) -> None:
    add(db, "s", *[f"{'k' * 40_000}needle{n}" for n in range(3)], "other")
    assert db.store.search.prepare()
    assert parts_found(db.store, "kneedle") == 3
    assert parts_found(db.store, "needle2") == 1


def test_what_was_restored_with_its_old_ids_is_found(db: SessionDB) -> None:
    fill(db, 0, 5)
    add(db, "gone", "somethingquiteelse", ended=LONG_AGO + 5)
    fill(db, 100, 5)
    db.store.trash.delete(["gone"])
    assert db.store.search.prepare()
    assert parts_found(db.store, "quiteelse") == 0
    assert db.store.trash.restore().session_ids == ("gone",)
    assert parts_found(db.store, "quiteelse") == 1


def test_an_import_is_found(db: SessionDB, tmp_path: Path) -> None:
    add(db, "s", "somethingimported before")
    export = tmp_path / "some.jsonl"
    db.store.transfer.export_file(export)
    with SessionDB(tmp_path / "other.db") as other:
        fill(other, 0, 5)
        assert other.store.search.prepare()
        other.store.transfer.import_file(export)
        assert parts_found(other.store, "ingimpor") == 1


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
        ("go", "g"),
        ("фацет", "аце"),
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
        assert store.search.prepare()
        assert parts_found(store, "nother") == number


def test_an_older_copy_in_its_place_is_noticed(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with SessionDB(path) as db:
        fill(db, 0, 10)
        sqlite(db._db).truncate_log()
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
    with db._db.read() as tx:
        words = db.store._words
        assert isinstance(words, WordList) and words.covered(in_sqlite(tx)) == 6


# -- without it --------------------------------------------------------------------------------


def test_it_is_made_for_its_owner_only(db: SessionDB, path: Path) -> None:
    add(db, "s", "word")
    assert db.store.search.prepare()
    assert stat.S_IMODE(word_list.path_for(path).stat().st_mode) == 0o600


def test_nothing_of_it_is_left_when_it_is_forgotten(db: SessionDB, path: Path) -> None:
    fill(db, 0, 10)
    assert db.store.search.prepare()
    assert db.store._words.forget()
    assert not word_list.path_for(path).exists()
    assert parts_found(db.store, "ixword") == 10


@pytest.mark.parametrize("way", ["made anew", "forgotten"])
def test_the_former_list_is_deleted(db: SessionDB, path: Path, way: str) -> None:
    fill(db, 0, 3)
    old = path.with_name(f"{path.name}.vocabulary")
    old.write_text("words of long ago")
    assert db.store.search.prepare() if way == "made anew" else db.store._words.forget()
    assert not old.exists()


@pytest.mark.parametrize("damage", ["text", "folder", "empty", "a bit", "cut", "other format"])
def test_a_damaged_list_is_done_without_and_made_again(path: Path, damage: str) -> None:
    with SessionDB(path) as db:
        fill(db, 0, 200)
        assert db.store.search.prepare()
    place = word_list.path_for(path)
    spoil(place, damage)
    with Store(path) as store:
        assert parts_found(store, "ixword") == 200
        assert parts_found(store, "word19") == 11
        assert parts_found(store, "prefixword19*") == 11
        assert not store.search.run("prefixwrod1suffix").partial
        assert store.search.prepare() == (damage != "folder")
        assert parts_found(store, "ixword") == 200
    assert damage == "folder" or "prefixword19suffix" in listed(path)


def spoil(place: Path, damage: str) -> None:
    """Damage a list of words in one of the ways that happen."""
    whole = place.read_bytes()
    place.unlink()
    middle = len(whole) // 2
    if damage == "folder":
        place.mkdir()
    elif damage == "a bit":
        flipped = bytes([whole[middle] ^ 1])
        place.write_bytes(whole[:middle] + flipped + whole[middle + 1 :])
    elif damage == "cut":
        place.write_bytes(whole[:middle])
    elif damage == "other format":
        place.write_bytes(whole.replace(b'"format":1', b'"format":9', 1))
    else:
        place.write_text("no list at all" * 100 if damage == "text" else "")


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
        sqlite(db._db).truncate_log()
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
MAKE = """
import sys, time
from hermes_store import Store
from hermes_store.engines.sqlite import words_of_index
words_of_index.STEP_WORDS = 5

def told(done, total):
    print(done, flush=True)
    time.sleep(0.1)

with Store(sys.argv[1]) as store:
    store.search.prepare(told)
"""


def test_processes_share_it(db: SessionDB, path: Path) -> None:
    fill(db, 0, 300)
    children = [processes.start(SEARCH, path) for _ in range(2)]
    db.store.search.prepare()
    assert [processes.finish(child).strip() for child in children] == ["300", "300"]
    assert db.store.search.prepare()
    assert len([term for term in listed(path) if "ixword" in term]) == 300


def test_a_process_that_dies_while_making_it_leaves_right_answers(
    db: SessionDB, path: Path
) -> None:
    fill(db, 0, 300)
    for lines in (1, 3, 9):
        with processes.start(MAKE, path) as child:
            assert child.stdout is not None
            for _ in range(lines):
                assert child.stdout.readline()
            child.kill()
        assert not word_list.path_for(path).exists()
        assert parts_found(db.store, "ixword") == 300
        assert parts_found(db.store, "word29") == 11
    assert db.store.search.prepare()
    assert parts_found(db.store, "word29") == 11


def test_threads_share_it_while_somebody_writes(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words_of_index, "STEP_WORDS", 7)
    fill(db, 0, 50)
    wrong: list[str] = []

    def look() -> None:
        for _ in range(8):
            before = len(db.store.messages.of("s0"))
            db.store.search.prepare()
            found = parts_found(db.store, "prefixwor")
            if found < before:
                wrong.append(f"{found} of {before}")

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 6):
        fill(db, 100 * number, 10)
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert parts_found(db.store, "ixword") == 100


def test_a_list_that_another_process_renewed_is_read_again(db: SessionDB, path: Path) -> None:
    fill(db, 0, 20)
    one, other = WordList(path), WordList(path)
    assert one.prepare(sqlite(db._db).read)
    with db._db.read() as tx:
        assert other.covered(in_sqlite(tx)) == 20
    assert len(other.matching("ixword", 100)) == 20
    fill(db, 100, 5)
    time.sleep(0.01)  # so that the file's time differs even on a coarse clock
    assert one.prepare(sqlite(db._db).read)
    with db._db.read() as tx:
        assert other.covered(in_sqlite(tx)) == 25
    assert len(other.matching("ixword", 100)) == 25
