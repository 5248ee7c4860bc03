"""If grep finds it, search finds it: in every layout, whatever the text, wherever it stands."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_store import Store
from hermes_store.engines.postgres import lexemes
from hermes_store.engines.sqlite import words_of_index
from hermes_store.engines.sqlite.word_list import WordList
from hermes_store.records.message_content import MARKER
from hermes_store.records.search import Order, Request
from hermes_store.search import candidates, index_lookups, result_page, walk_messages
from hermes_store.search.on_postgres import by_id, by_time, lookups, matcher
from tests.sqlite_parts import in_sqlite
from tests.store.search import corpus
from tests.store.search.corpus import Judge, found
from tests.store.search.layouts import LAYOUTS, TOOL_CHARACTERS, on_server_out_of_order

SEED = 11
MESSAGES = 120
NEEDLES = 40
PAIRS = 8

Case = tuple[Store, Judge]


@pytest.fixture(scope="module", autouse=True)
def short_outputs() -> Iterator[None]:
    """Let the column layout index little of what tools print."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words_of_index, "INDEXED_OF_TOOLS", TOOL_CHARACTERS)
        yield


LAYOUTS_AND_ORDERS = LAYOUTS | {"on a server, out of order": on_server_out_of_order}


@pytest.fixture(scope="module", params=LAYOUTS_AND_ORDERS)
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    """The same messages in one layout after the other, and what a plain scan says of them."""
    path = tmp_path_factory.mktemp("layout") / "state.db"
    made = LAYOUTS_AND_ORDERS[request.param]
    with made(path, corpus.some_messages(SEED, MESSAGES)) as store:
        with store.database.read() as tx:
            said = corpus.scan(tx)
        yield store, Judge(said)


def complaints(store: Store, judge: Judge, needles: list[str]) -> list[str]:
    """Return the needles whose messages are not those that a scan finds."""
    wrong = []
    for needle in needles:
        ids = found(store, f'"{needle}"')
        assert len(ids) == len(set(ids))
        missed, extra = judge.must(needle) - set(ids), set(ids) - judge.may(needle)
        if missed or extra:
            wrong.append(f"{needle!r} misses {sorted(missed)}, has too many: {sorted(extra)}")
    return wrong


def test_every_part_of_every_text_is_found(case: Case) -> None:
    store, judge = case
    assert not complaints(store, judge, corpus.some_needles(judge.said, SEED, NEEDLES))


@pytest.mark.parametrize("joined", ["{} {}", "{} OR {}", "{} NOT {}", "{} -{}", "({}) AND ({})"])
def test_every_combination_of_two_is_found(case: Case, joined: str) -> None:
    store, judge = case
    rng = random.Random(joined)
    wrong = []
    for number in range(PAIRS):
        said = rng.choice([each for each in judge.said if each.text.strip(' "')])
        one, *others = corpus.some_needles([said], number, 3)
        other = others[0] if "OR" not in joined and number % 2 else rng.choice(others)
        ids = set(found(store, joined.format(f'"{one}"', f'"{other}"')))
        if "OR" in joined:
            least, most = judge.must(one) | judge.must(other), judge.may(one) | judge.may(other)
        elif "NOT" in joined or "-" in joined:
            banned = judge.kept_out(other)
            least, most = judge.must(one) - banned, judge.may(one) - banned
        else:
            least, most = judge.must(one) & judge.must(other), judge.may(one) & judge.may(other)
        if least - ids or ids - most:
            wrong.append(f"{one!r}, {other!r}: misses {least - ids}, too many {ids - most}")
    assert not wrong


@pytest.mark.parametrize(
    "name",
    [
        "external",
        "external, listed",
        "external, half listed",
        "inline",
        "columns, listed",
        "columns, rebuilding",
        "rebuilding",
    ],
)
def test_small_limits_change_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lookups, "MAX_WORDS", 5)
    monkeypatch.setattr(index_lookups, "FEW_WORDS", 2)
    monkeypatch.setattr(index_lookups, "MAX_GRAMS", 5)
    monkeypatch.setattr(index_lookups, "FEW_GRAMS", 2)
    monkeypatch.setattr(index_lookups, "HEAD", 7)
    for name_of_limit in ("LONGEST_READ", "LONGEST_SPLIT"):
        monkeypatch.setattr(candidates, name_of_limit, 20)
    with LAYOUTS[name](tmp_path / "state.db", corpus.some_messages(SEED + 1, MESSAGES)) as store:
        with store.database.read() as tx:
            judge = Judge(corpus.scan(tx))
        assert not complaints(store, judge, corpus.some_needles(judge.said, SEED, NEEDLES))


@pytest.mark.parametrize(
    "name", ["on a server", "on a server, half indexed", "on a server, out of order"]
)
def test_small_limits_on_a_server_change_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of eight messages, pages of a few: every edge between them is crossed."""
    for module in (lexemes, by_id):
        monkeypatch.setattr(module, "BLOCK_BITS", 3)
    sizes = {"NEWEST_BLOCKS": 1, "MORE_BLOCKS": 2, "MANY": 30, "FIRST_PAGE": 2, "LARGEST_PAGE": 3}
    for limit, size in sizes.items():
        monkeypatch.setattr(by_id, limit, size)
    for limit, size in {"NEWEST": 5, "MORE": 20, "FIRST_PAGE": 2, "LARGEST_PAGE": 3}.items():
        monkeypatch.setattr(by_time, limit, size)
    monkeypatch.setattr(by_time, "BLOCK_BITS", 3)
    monkeypatch.setattr(by_time, "MANY", 30)
    monkeypatch.setattr(matcher, "AT_ONCE", 7)
    monkeypatch.setattr(matcher, "LONGEST_READ", 20)
    monkeypatch.setattr(lookups, "MAX_WORDS", 5)
    monkeypatch.setattr(lexemes, "LONGEST", 6)
    monkeypatch.setattr(lookups, "LONGEST", 6)
    monkeypatch.setattr(lexemes, "MOST_BYTES", 500)
    made = LAYOUTS_AND_ORDERS[name]
    with made(tmp_path / "state.db", corpus.some_messages(SEED + 2, MESSAGES)) as store:
        with store.database.read() as tx:
            judge = Judge(corpus.scan(tx))
        assert not complaints(store, judge, corpus.some_needles(judge.said, SEED, NEEDLES))
        for needle in corpus.some_needles(judge.said, SEED + 1, 10):
            hits = store.search.run(Request(f'"{needle}"', limit=1_000)).hits
            places = [(hit.strength, -hit.timestamp, -hit.message_id) for hit in hits]
            assert places == sorted(places)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_beginning_of_very_many_words_is_found_in_new_and_old_messages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lookups, "MAX_WORDS", 5)
    monkeypatch.setattr(walk_messages, "FIRST_READ", 20)
    said = [
        {"role": "user", "content": f"{'snap' if place % 3 else 'other'}{place} taken"}
        for place in range(100)
    ]
    wanted = [place + 1 for place in range(100) if place % 3]
    with LAYOUTS[name](tmp_path / "state.db", said) as store:
        for text in ("sna", "taken snap"):
            asked = Request(text, typing=True, limit=200)
            result = store.search.run(asked)
            assert [hit.message_id for hit in result.hits] == wanted[::-1]
            oldest = store.search.run(replace(asked, order=Order.OLDEST))
            assert [hit.message_id for hit in oldest.hits] == wanted
            few = store.search.run(replace(asked, limit=5)).messages
            assert few.number == len(wanted) if few.exact else few.number <= len(wanted)


@pytest.mark.parametrize("name", LAYOUTS)
def test_accents_matter_as_little_in_every_layout(name: str, tmp_path: Path) -> None:
    said = [{"role": "user", "content": text} for text in ("a cafe here", "a café here", "other")]
    with LAYOUTS[name](tmp_path / "state.db", said) as store:
        for text in ("café", "cafe", "CAFÉ", '"café here"'):
            assert sorted(found(store, text)) == [1, 2]
            assert found(store, f"-{text}") == [3]


# -- any text at all ---------------------------------------------------------------------------


class Undo(Exception):
    """Ends a trial so that everything it wrote is rolled back."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("any") / "state.db", synchronous="NORMAL") as store:
        yield store


contents = st.one_of(
    corpus.generated,
    corpus.generated.map(lambda text: [{"type": "text", "text": text}]),
    corpus.generated.map(lambda text: MARKER + text),
)


def complaints_in_trial(store: Store, said: list[Any], seed: int, listed: int) -> list[str]:
    """Write messages, list the words of the first few, search for parts, and undo all."""
    place = store.path.with_name("trial.db")
    words = WordList(place)
    assert words.forget()
    wrong: list[str] = []
    try:
        with store.database.write() as tx:
            corpus.fill(tx, [{"role": "user", "content": each} for each in said[:listed]])
            assert words.prepare(lambda: nullcontext(in_sqlite(tx)))
            corpus.fill(tx, [{"role": "user", "content": each} for each in said[listed:]])
            judge = Judge(corpus.scan(tx))
            for needle in corpus.some_needles(judge.said, seed, 5):
                request = Request(f'"{needle}"', limit=100, relax=False, seconds=60)
                ids = {hit.message_id for hit in result_page.search(tx, request, words).hits}
                if not judge.must(needle) <= ids <= judge.may(needle):
                    wrong.append(f"{needle!r} finds {ids}")
            raise Undo
    except Undo:
        pass
    finally:
        words.close()
    return wrong


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    said=st.lists(contents, min_size=1, max_size=8),
    seed=st.integers(0, 2**32),
    listed=st.sampled_from((0, 4, 8, 8)),
)
@example(said=["a cafe\u0301s", "cafester"], seed=1, listed=8)
@example(said=["\x00前回の設定", [{"type": "text", "text": "\x00前回の設定"}]], seed=0, listed=0)
@example(said=["price 12345\u0660\u0661\u0662\u0663"], seed=2, listed=8)
def test_any_part_of_any_text_is_found(
    shared: Store, said: list[Any], seed: int, listed: int
) -> None:
    assert not complaints_in_trial(shared, said, seed, listed)
