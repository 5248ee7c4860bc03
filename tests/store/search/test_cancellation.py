"""A search can be stopped: by whoever asked for it, or when its time is up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import apsw
import pytest

from hermes_store import Store
from hermes_store.engines.sqlite import transaction
from hermes_store.records.search import Request
from hermes_store.search import candidates
from tests.sqlite_parts import connection
from tests.store.search import corpus
from tests.support import LONG_AGO

MESSAGES = 3_000
ABSENT = "⇶⇶"
"""Signs that are in no index."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("stopping") / "state.db", synchronous="NORMAL") as store:
        said = [
            {"role": "user", "content": f"common word{number} " + "filling é " * 20}
            for number in range(MESSAGES)
        ]
        with store.database.write() as tx:
            corpus.fill(tx, said)
        assert store.search.prepare()
        yield store


class Token:
    """A cancel token that is pulled at the n-th look at it, and counts those after."""

    def __init__(self, pulled_at: int) -> None:
        self._pulled_at = pulled_at
        self.looks = 0

    def __call__(self) -> bool:
        self.looks += 1
        return self.looks >= self._pulled_at


QUERIES = {
    "a scan": ABSENT,
    "a word": "common",
    "a part of a word": "illin",
    "a short part": "or",
    "ranked": "common sort:relevance",
    "wider and wider": "zzzzqqqq xxxxyyyy",
    "nothing but a field": "has:code",
}


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_a_search_ends_at_once_when_it_is_cancelled(
    store: Store, name: str, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "CHECK_EVERY", 50)
    token = Token(pulled_at=3)
    request = Request(QUERIES[name], limit=MESSAGES, cancelled=token, grouped=grouped)
    result = store.search.run(request)
    assert token.looks == 3, "asked again after it was pulled"
    assert result.partial
    assert len(result.hits) < MESSAGES


def test_a_search_that_is_cancelled_before_it_begins_finds_nothing(store: Store) -> None:
    result = store.search.run(Request(ABSENT, cancelled=lambda: True))
    assert (result.hits, result.partial) == ((), True)


def test_a_token_that_is_never_pulled_changes_nothing(store: Store) -> None:
    asked = store.search.run(Request("common", cancelled=lambda: False))
    assert asked == store.search.run(Request("common"))
    assert not asked.partial


def test_a_search_says_how_far_back_it_came(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("LONGEST_READ",):
        monkeypatch.setattr(candidates, limit, 100)
    monkeypatch.setattr(transaction, "CHECK_EVERY", 100)
    places = []
    for looks in (20, 60):
        result = store.search.run(Request(ABSENT, cancelled=Token(looks)))
        assert (result.hits, result.partial) == ((), True)
        assert result.looked is not None and result.looked.back_to is not None
        assert 0 < result.looked.share < 1
        places.append(result.looked.back_to)
    assert LONG_AGO < places[1] < places[0] < LONG_AGO + MESSAGES


def test_a_search_ends_when_its_time_is_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("LONGEST_READ",):
        monkeypatch.setattr(candidates, limit, 10)
    result = store.search.run(Request(ABSENT, seconds=0.001))
    assert (result.hits, result.partial) == ((), True)
    assert result.looked is None or (result.looked.back_to or 0) > LONG_AGO


def test_no_time_at_all_is_partial(store: Store) -> None:
    result = store.search.run(Request(ABSENT, seconds=0.0))
    assert result.partial
    assert not result.messages.exact


def test_a_search_with_time_enough_is_not_partial(store: Store) -> None:
    result = store.search.run(Request(ABSENT, relax=False))
    assert (result.partial, result.looked) == (False, None)
    assert (result.messages.number, result.messages.exact) == (0, True)


def test_what_was_found_until_then_is_returned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "CHECK_EVERY", 50)
    token = Token(pulled_at=40)
    result = store.search.run(Request("common", limit=MESSAGES, cancelled=token))
    assert result.partial
    assert 0 < len(result.hits) < MESSAGES
    newest = store.search.run(Request("common", limit=len(result.hits)))
    assert [hit.message_id for hit in result.hits] == [hit.message_id for hit in newest.hits]


# -- afterwards --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUERIES)
def test_the_connection_goes_on_as_if_nothing_had_been(store: Store, name: str) -> None:
    token = Token(pulled_at=2)
    store.search.run(Request(QUERIES[name], limit=MESSAGES, cancelled=token))
    looks = token.looks
    with store.database.read() as tx:
        assert tx.value("SELECT COUNT(*) FROM messages m, messages n WHERE n.id < 200") > MESSAGES
    assert token.looks == looks, "the handler is still there"
    assert len(store.search.run(Request("common", limit=50)).hits) == 50


def test_an_abandoned_page_leaves_no_handler_behind(store: Store) -> None:
    looks = 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        return False

    assert len(store.search.run(Request("common", limit=3, cancelled=look)).hits) == 3
    before = looks
    with store.database.read() as tx:
        tx.value("SELECT COUNT(*) FROM messages m, messages n WHERE n.id < 200")
    assert looks == before


def test_threads_stop_their_own_search_only(store: Store) -> None:
    results: dict[int, bool] = {}

    def run(number: int) -> None:
        cancelled = number % 2 == 0
        token = Token(2) if cancelled else Token(10**9)
        for _ in range(3):
            found = store.search.run(Request(ABSENT, relax=False, cancelled=token))
            results[number] = found.partial == cancelled and results.get(number, True)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == dict.fromkeys(range(6), True)


def test_an_interruption_from_outside_is_a_partial_result(store: Store) -> None:
    with store.database.read() as tx:
        con: apsw.Connection = connection(tx)
    # The pool hands out the connection that came back last, so the search runs on this one.
    con.set_progress_handler(lambda: True, 1_000, id="outside")
    try:
        assert store.search.run(Request(ABSENT)).partial
    finally:
        con.set_progress_handler(None, id="outside")
    assert not store.search.run(Request("common")).partial
