"""A keystroke and an append cost the same in a store ten times as large."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.records.search import Request
from tests.sqlite_parts import connection, sqlite
from tests.store.search import corpus
from tests.support import Work

SMALL, LARGE = 500, 5_000
PAGE = 20

Stores = tuple[SessionDB, SessionDB]
Action = Callable[[SessionDB], Any]


def _fill(db: SessionDB, number: int) -> None:
    said = [
        {
            "role": "tool" if place % 7 == 0 else "user",
            "content": f"common words of a message, topic{place % 40}, number {place}, shard{place}"
            + (" 前回の設定" if place % 10 == 0 else ""),
        }
        for place in range(number)
    ]
    with db._db.write() as tx:
        corpus.fill(tx, said)
    assert db.store.search.prepare()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A small store and one ten times its size, both with their words listed."""
    folder = tmp_path_factory.mktemp("work")
    with SessionDB(folder / "small.db") as small, SessionDB(folder / "large.db") as large:
        _fill(small, SMALL)
        _fill(large, LARGE)
        yield small, large


def keystroke(text: str, **more: Any) -> Action:
    request = Request(text, limit=PAGE, count=False, typing=True, **more)
    return lambda db: db.store.search.run(request).hits


SEARCHES: dict[str, Action] = {
    "a common word": keystroke("common"),
    "a word being typed": keystroke("comm"),
    "a few letters": keystroke("co"),
    "a beginning of very many words": keystroke("shar"),
    "two words": keystroke("common topic7"),
    "a phrase": keystroke('"common words"'),
    "a part of a word": keystroke("essag", relax=False),
    "in Chinese": keystroke("設定"),
    "one Chinese letter": keystroke("設"),
    "without a word": keystroke("common -topic7"),
    "either of two": keystroke("topic7 OR topic8"),
    "with a field": keystroke("common role:user"),
    "nothing but a field": keystroke("role:user"),
    "as documented": lambda db: db.search_messages("topic7", limit=PAGE)[:PAGE],
}


class Effort:
    """What an action took: steps of its own statements, and pages that SQLite touched."""

    def __init__(self, con: apsw.Connection, action: Action, db: SessionDB) -> None:
        profiles: list[dict[str, Any]] = []
        before = _pages(con)
        con.trace_v2(apsw.SQLITE_TRACE_PROFILE, profiles.append)
        try:
            self.answer = action(db)
        finally:
            con.trace_v2(0)
        self.pages = _pages(con) - before
        # FTS5 keeps statements of its own, whose counters are never set back.
        own = [each for each in profiles if "'main'." not in each["sql"]]
        assert own, "the action ran on another connection"
        self.steps = sum(int(each["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]) for each in own)


def _pages(con: apsw.Connection) -> int:
    kinds = (apsw.SQLITE_DBSTATUS_CACHE_HIT, apsw.SQLITE_DBSTATUS_CACHE_MISS)
    return sum(con.status(kind)[0] for kind in kinds)


def reading(db: SessionDB, action: Action) -> Effort:
    # The first search on a connection also makes what it needs to ask the trigrams, and the
    # pool hands out the connection that came back last.
    action(db)
    with db._db.read() as tx:
        con = connection(tx)
    return Effort(con, action, db)


@pytest.mark.parametrize("name", SEARCHES)
def test_ten_times_the_messages_cost_a_keystroke_the_same(stores: Stores, name: str) -> None:
    small, large = (reading(store, SEARCHES[name]) for store in stores)
    assert len(large.answer) == PAGE
    # The page may not be full in the small store, so what counts is the cost of a hit.
    share = len(small.answer) / PAGE
    assert 0 < share <= 1
    assert large.steps * share <= 2 * small.steps
    assert large.pages * share <= 3 * small.pages


@pytest.mark.parametrize(
    "name", ["a common word", "a word being typed", "two words", "a phrase", "with a field"]
)
def test_no_plan_reads_all_messages(stores: Stores, name: str) -> None:
    for plan in Work(stores[1], SEARCHES[name]).plans():
        for line in plan:
            if "messages_fts_config" in line:
                continue  # FTS5 reads its own few settings when a connection first uses it
            assert not line.startswith(("SCAN m", "SCAN s ", "SCAN sessions")), plan


def test_a_part_of_very_many_words_is_found_by_reading(stores: Stores) -> None:
    """FTS5 would put the places of all those words in order before it gave the first."""
    lines = [
        line
        for plan in Work(stores[1], SEARCHES["a beginning of very many words"]).plans()
        for line in plan
    ]
    assert any(line.startswith("SEARCH m USING INTEGER PRIMARY KEY") for line in lines)


def test_a_page_of_a_common_word_takes_few_steps(stores: Stores) -> None:
    assert reading(stores[1], SEARCHES["a common word"]).steps < PAGE * 50


def test_ten_times_the_messages_cost_an_append_the_same(stores: Stores) -> None:
    def append(db: SessionDB) -> None:
        for _ in range(20):
            db.append_message("s0", "user", "one more common message 前回の設定")

    writers = [sqlite(store._db)._file._writer for store in stores]
    small, large = (
        Effort(writer, append, store)
        for writer, store in zip(writers, stores, strict=True)
        if writer is not None
    )
    assert large.steps <= 1.2 * small.steps
    assert large.pages <= 2 * small.pages


def test_an_ordinary_append_writes_few_pages(stores: Stores) -> None:
    """Each page is written twice and waited for; an index more would make it one more."""
    log = sqlite(stores[1]._db)._checkpointer
    log.run()
    stores[1].append_message("s0", "user", "the log begins anew")
    lengths = [log._pages]
    for place in range(30):
        stores[1].append_message("s0", "assistant", f"an ordinary answer, number {place}")
        lengths.append(log._pages)
    written = [after - before for before, after in pairwise(lengths)]
    assert statistics.median(written) <= 10
