"""Files of a newer Hermes are searched as they are, by their own rules, and left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from hermes_store import SessionDB, Store
from hermes_store.engines.base import FullText
from hermes_store.engines.sqlite import word_list, words_of_index
from hermes_store.records.search import Request
from tests.store import newer, old_files
from tests.store.search import corpus
from tests.store.search.corpus import Judge, found
from tests.store.search.layouts import TOOL_CHARACTERS, make_columns
from tests.support import schema_of


@pytest.fixture(params=["columns", "inline"])
def written(request: pytest.FixtureRequest, path: Path) -> Iterator[newer.Newer]:
    """A newer file of either layout, and a hand to write into it."""
    if request.param == "columns":
        make_columns(path)
    else:
        newer.make(path)
    writer = newer.Newer(path)
    writer.session("s")
    yield writer
    writer.close()


def texts(store: Store, text: str) -> list[str]:
    hits = store.search.run(Request(text, limit=100, relax=False)).hits
    return sorted(hit.snippet.text.split()[-1] for hit in hits)


def test_the_layout_is_recognised(path: Path) -> None:
    make_columns(path)
    with Store(path) as store:
        caps = store.capabilities()
    assert (caps.words, caps.trigram) == (FullText.COLUMNS, FullText.COLUMNS)
    assert caps.foreign


def test_only_what_may_be_seen_is_found(path: Path, written: newer.Newer) -> None:
    written.message("s", "deployment 設定 shown")
    written.message("s", "deployment 設定 unmarked", active=None)
    written.message("s", "deployment 設定 rewound", active=0)
    written.message("s", "deployment 設定 summarised", active=0, compacted=1)
    written.message("s", "deployment 設定 hidden", display_kind="hidden")
    written.message("s", "deployment 設定 noted", display_kind="note")
    with Store(path, read_only=True) as store:
        store.search.prepare()
        for text in ("deployment", "ployme", "設定", "deploy*", '"deployment 設"', "role:user"):
            assert texts(store, text) == ["noted", "shown", "summarised", "unmarked"]
        counted = store.search.run(Request("deployment", limit=2)).messages
        assert counted.number <= 4


def test_neighbours_that_may_not_be_seen_are_not_shown(path: Path, written: newer.Newer) -> None:
    written.message("s", "rewound", active=0)
    written.message("s", "target")
    written.message("s", "hidden", display_kind="hidden")
    with SessionDB(path, read_only=True) as db:
        (row,) = db.search_messages("target")
    assert row["context"] == [{"role": "user", "content": "target"}]


def test_searching_changes_nothing_in_the_file(path: Path, written: newer.Newer) -> None:
    written.message("s", "deployment 設定")
    before = schema_of(path)
    with Store(path) as store:
        for text in ("deployment", "ploy", "設", "zzz"):
            store.search.run(text)
        store.search.prepare()
    assert schema_of(path) == before


def test_archived_and_pinned_sessions_can_be_asked_for(path: Path, written: newer.Newer) -> None:
    written.session("old", archived=1)
    written.session("dear", pinned=1)
    for name in ("s", "old", "dear"):
        written.message(name, f"hello {name}")
    with Store(path, read_only=True) as store:
        assert texts(store, "hello") == ["dear", "old", "s"]
        assert texts(store, "hello is:archived") == ["old"]
        assert texts(store, "hello -is:archived") == ["dear", "s"]
        assert texts(store, "hello is:pinned") == ["dear"]


# -- equivalence -------------------------------------------------------------------------------


def complaints(store: Store, seed: int) -> list[str]:
    with store.database.read() as tx:
        judge = Judge(corpus.scan(tx))
    wrong = []
    for needle in corpus.some_needles(judge.said, seed, 80):
        ids = set(found(store, f'"{needle}"'))
        if not judge.must(needle) <= ids <= judge.may(needle):
            wrong.append(f"{needle!r}: {judge.must(needle) ^ ids}")
    return wrong


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("make", [make_columns, newer.make])
def test_what_grep_finds_is_found_in_newer_files(
    path: Path,
    make: Callable[[Path], None],
    listed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(words_of_index, "INDEXED_OF_TOOLS", TOOL_CHARACTERS)
    make(path)
    with Store(path) as store:
        with store.database.write() as tx:
            corpus.fill(tx, corpus.some_messages(3, 100))
        assert not listed or store.search.prepare()
        assert not complaints(store, 3)


@pytest.mark.parametrize("version", [1, 9, 10])
def test_what_grep_finds_is_found_in_old_files_that_are_only_read(path: Path, version: int) -> None:
    old_files.build(path, version, sessions=4, messages=6)
    with Store(path, read_only=True) as store:
        store.search.prepare()
        assert len(found(store, "call1")) == len(found(store, "tool2")) == 1
        assert not complaints(store, 4)
    con = apsw.Connection(str(path))
    assert con.execute("SELECT MAX(version) FROM schema_version").get == version
    con.close()
    assert not word_list.path_for(path).exists()
