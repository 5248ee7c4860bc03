"""The order of saved searches."""

from __future__ import annotations

from pathlib import Path

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.store import Store
from tests.support import raw


def names(db: SessionDB) -> list[str]:
    """Return the names of the saved searches in order."""
    return [each.name for each in db.store.saved_searches.list()]


def test_searches_stay_in_the_order_in_which_they_were_saved(db: SessionDB) -> None:
    for name in ("zebra", "apple", "mango"):
        db.store.saved_searches.save(name, f"about {name}")
    assert names(db) == ["zebra", "apple", "mango"]
    db.store.saved_searches.save("apple", "something else")
    assert names(db) == ["zebra", "apple", "mango"]


def test_searches_can_be_moved(db: SessionDB) -> None:
    for name in ("one", "two", "three"):
        db.store.saved_searches.save(name, name)
    moved = db.store.saved_searches.move("three", -1)
    assert [each.name for each in moved] == names(db) == ["one", "three", "two"]
    db.store.saved_searches.move("one", -1)
    db.store.saved_searches.move("two", 5)
    db.store.saved_searches.move("nobody", 1)
    assert names(db) == ["one", "three", "two"]
    db.store.saved_searches.move("one", 2)
    assert names(db) == ["three", "two", "one"]


def test_a_search_comes_back_to_its_place(db: SessionDB) -> None:
    for name in ("one", "two", "three"):
        db.store.saved_searches.save(name, name)
    assert db.store.saved_searches.forget("two")
    assert names(db) == ["one", "three"]
    db.store.saved_searches.save("two", "two", place=1)
    assert names(db) == ["one", "two", "three"]


def test_a_file_of_an_earlier_version_lists_by_name(db: SessionDB, path: Path) -> None:
    for name in ("zebra", "apple"):
        db.store.saved_searches.save(name, name)
    db.close()
    with raw(path_for(path)) as con:
        con.execute("DROP TABLE saved_search_order")
    with Store(path, read_only=True) as store:
        assert [each.name for each in store.saved_searches.list()] == ["apple", "zebra"]
    with Store(path) as store:
        store.saved_searches.save("mango", "m")
        assert [each.name for each in store.saved_searches.list()] == ["apple", "zebra", "mango"]
