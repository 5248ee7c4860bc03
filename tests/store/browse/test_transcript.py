"""A conversation as a long page: its outline, its messages, what matches in it, its recap."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB, Store
from hermes_store.browse import recap, transcript
from hermes_store.engines.sqlite import transaction
from hermes_store.errors import SessionNotFound
from hermes_store.records.message import SUMMARY_MARK
from hermes_store.records.recap import Limits
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.transcript import Outline
from hermes_store.search import walk_messages
from hermes_store.sessions import messages, session_rows
from tests.store import newer
from tests.store.newer import Newer
from tests.store.search import corpus
from tests.store.search.corpus import Judge
from tests.store.search.layouts import LAYOUTS, changing
from tests.support import LONG_AGO, Work, add, add_chain, is_table_scan

# -- outlines ----------------------------------------------------------------------------------


def texts(store: Store, page: Outline) -> list[str]:
    return [message.text for message in store.messages.by_id(page.message_ids)]


def test_a_chain_is_one_page_in_the_order_it_was_spoken(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    add(db, "branch", "elsewhere", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 500)
    add(db, "helper", "below", parent="a", at=LONG_AGO + 10)
    # Written later than what follows it on the page.
    db.append_message("a", "assistant", "late", timestamp=LONG_AGO + 9_000)
    db.append_message("b", "assistant", "later", timestamp=LONG_AGO + 1)
    db.store.sessions.rename("b", "middle")
    for member in "abc":
        page = db.store.transcripts.outline(member)
        assert (page.root_id, page.tip_id) == ("a", "c")
        assert texts(db.store, page) == ["said in a", "late", "said in b", "later", "said in c"]
        assert [(each.session_id, each.first) for each in page.segments] == [
            ("a", 0),
            ("b", 2),
            ("c", 4),
        ]
        assert [each.title for each in page.segments] == [None, "middle", None]
        assert [each.started_at - LONG_AGO for each in page.segments] == [0, 100, 200]
    assert texts(db.store, db.store.transcripts.outline("branch")) == ["elsewhere"]
    assert texts(db.store, db.store.transcripts.outline("helper")) == ["below"]


def test_a_page_says_who_speaks_and_when(db: SessionDB) -> None:
    said = [
        ("user", "question"),
        ("assistant", ""),
        ("tool", "result"),
        ("assistant", "answer"),
        ("session_meta", "a note"),
        ("user", f"{SUMMARY_MARK}\n\nIt was long."),
        ("assistant", "[CONTEXT COMPACTION - REFERENCE ONLY] Earlier turns ..."),
    ]
    with db._db.write() as tx:
        session_rows.create(tx, "a", "cli", started_at=LONG_AGO, model="lab/one")
        for place, (role, text) in enumerate(said):
            messages.append(tx, "a", {"role": role, "content": text}, LONG_AGO + place)
    page = db.store.transcripts.outline("a")
    assert page.speakers == "uataoss"
    assert list(page.times) == [LONG_AGO + place for place in range(len(said))]
    assert [segment.model for segment in page.segments] == ["lab/one"]


def test_segments_without_messages_have_their_place(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO + 9, reason="compression")
    add(db, "b", "x", "y", parent="a", at=LONG_AGO + 10, ended=LONG_AGO + 19, reason="compression")
    add(db, "c", parent="b", at=LONG_AGO + 20)
    page = db.store.transcripts.outline("a")
    assert [each.first for each in page.segments] == [0, 0, 2]
    assert len(page.message_ids) == 2


def test_an_empty_session_is_an_empty_page_and_a_missing_one_none(db: SessionDB) -> None:
    add(db, "a")
    page = db.store.transcripts.outline("a")
    assert (len(page.message_ids), len(page.segments), page.tip_id) == (0, 1, "a")
    with pytest.raises(SessionNotFound):
        db.store.transcripts.outline("gone")


def test_a_circle_of_segments_is_read_once(db: SessionDB) -> None:
    with db._db.write() as tx:
        for name in ("a", "b"):
            session_rows.create(tx, name, "cli", started_at=LONG_AGO)
            messages.append(tx, name, {"role": "user", "content": name}, LONG_AGO)
            session_rows.end(tx, name, "compression", LONG_AGO)
        tx.run("UPDATE sessions SET parent_session_id = CASE id WHEN 'a' THEN 'b' ELSE 'a' END")
    assert sorted(texts(db.store, db.store.transcripts.outline("a"))) == ["a", "b"]


def test_the_end_of_a_page_comes_with_what_is_new(db: SessionDB) -> None:
    add(db, "a", *(f"number {each}" for each in range(transcript.PAGE_END + 5)))
    before, end = db.store.transcripts.page_end("a")
    assert before == db.store.transcripts.outline("a")
    assert end == db.store.messages.of("a")[5:]
    db.append_message("a", "user", "late")
    after, new = db.store.transcripts.page_end("a", before)
    assert after == db.store.transcripts.outline("a")
    assert [each.text for each in new] == ["late"]
    assert db.store.transcripts.page_end("a", after) == (after, [])


def test_messages_come_in_the_order_asked_for_without_those_that_are_gone(db: SessionDB) -> None:
    add(db, "a", "one", [{"type": "text", "text": "two"}], "three")
    first, second, third = db.store.transcripts.outline("a").message_ids
    wanted = [third, 10**9, first, -1, second, third]
    assert [each.text for each in db.store.messages.by_id(wanted)] == [
        "three",
        "one",
        "two",
        "three",
    ]
    assert db.store.messages.by_id([first]) == db.store.messages.of("a")[:1]
    assert db.store.messages.by_id([]) == []
    with db._db.write() as tx:
        tx.run("DELETE FROM messages WHERE id = ?", (first,))
    assert [each.text for each in db.store.messages.by_id([first, second])] == ["two"]


@pytest.fixture
def hiding(path: Path) -> Iterator[SessionDB]:
    """A newer file whose messages all say 'word', some of them out of sight."""
    newer.make(path)
    program = Newer(path)
    program.session("a")
    program.message("a", "word rewound", active=0)
    program.message("a", "word summarised", active=0, compacted=1)
    program.message("a", "word unseen", display_kind="hidden")
    program.message("a", "word shown")
    program.message("a", "word unmarked", active=None)
    program.message("a", "word noted", display_kind="notice")
    program.close()
    with SessionDB(path) as db:
        yield db


def test_what_a_newer_file_hides_is_neither_on_the_page_nor_found(hiding: SessionDB) -> None:
    page = hiding.store.transcripts.outline("a")
    shown = ["word summarised", "word shown", "word unmarked", "word noted"]
    assert texts(hiding.store, page) == shown
    found, _ = hiding.store.transcripts.find(page, "word")
    assert found == page.message_ids
    assert hiding.store.transcripts.quick_recap("a") == hiding.store.transcripts.recap("a")
    assert [each.text for each in hiding.store.transcripts.quick_recap("a").entries] == shown
    assert hiding.store.transcripts.quick_recap("a").messages == 4


# -- matches -----------------------------------------------------------------------------------

SEED, NEEDLES = 5, 40
CHAIN = ("s1", "s2", "s3")

Case = tuple[Store, Outline, Judge]


@pytest.fixture(scope="module", params=["external", "inline", "no index", "rebuilding"])
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    """A chain of three among others, in one layout after the other, and a plain scan of it."""
    path = tmp_path_factory.mktemp("page") / "state.db"
    with LAYOUTS[request.param](path, corpus.some_messages(SEED, 120)) as store:
        with changing(path) as con:
            for place, name in enumerate(CHAIN):
                con.execute(
                    "UPDATE sessions SET ended_at = started_at, end_reason = 'compression', "
                    "parent_session_id = ? WHERE id = ?",
                    (CHAIN[place - 1] if place else None, name),
                )
        page = store.transcripts.outline("s2")
        assert [each.session_id for each in page.segments] == [*CHAIN]
        with store.database.read() as tx:
            said = [each for each in corpus.scan(tx) if each.message_id in page.message_ids]
        assert len(said) == 60
        yield store, page, Judge(said)


@pytest.fixture(params=["few", "many"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is read through; one of many messages is looked up in the index."""
    if request.param == "many":
        monkeypatch.setattr(walk_messages, "FEW_MESSAGES", -1)


@pytest.mark.usefixtures("amount")
def test_every_part_of_every_text_on_the_page_is_found(case: Case) -> None:
    store, page, judge = case
    wrong = []
    for needle in corpus.some_needles(judge.said, SEED, NEEDLES):
        found, _ = store.transcripts.find(page, f'"{needle}"')
        missed, extra = judge.must(needle) - set(found), set(found) - judge.may(needle)
        if missed or extra or found.tolist() != sorted(set(found)):
            wrong.append(f"{needle!r} misses {missed}, has too many: {extra}, {found}")
    assert not wrong


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize("joined", ["{} {}", "{} OR {}", "{} -{}"])
def test_combinations_are_found(case: Case, joined: str) -> None:
    store, page, judge = case
    rng = random.Random(joined)
    needles = corpus.some_needles(judge.said, SEED + 1, NEEDLES)
    for _ in range(10):
        one, other = rng.sample(needles, 2)
        found = set(store.transcripts.find(page, joined.format(f'"{one}"', f'"{other}"'))[0])
        if "OR" in joined:
            least, most = judge.must(one) | judge.must(other), judge.may(one) | judge.may(other)
        elif "-" in joined:
            banned = judge.kept_out(other)
            least, most = judge.must(one) - banned, judge.may(one) - banned
        else:
            least, most = judge.must(one) & judge.must(other), judge.may(one) & judge.may(other)
        assert least <= found <= most, (one, other)


@pytest.fixture
def page(db: SessionDB) -> Outline:
    """A conversation of two segments, and another one with the same words."""
    add(
        db, "a", "deploy the server", "前回の設定を確認", "server of the deploy",
        ended=LONG_AGO + 50, reason="compression",
    )  # fmt: skip
    add(db, "b", "undeployed", "設定", parent="a", at=LONG_AGO + 60)
    add(db, "other", "deploy the server", "設定", "undeployed", source="telegram")
    return db.store.transcripts.outline("b")


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("deploy", [0, 2, 3]),
        ("DEPLOY", [0, 2, 3]),
        ('"deploy the"', [0]),
        ("server deploy", [0, 2]),
        ("deploy -server", [3]),
        ("設定", [1, 4]),
        ("設", [1, 4]),
        ("回の設", [1]),
        ("設定 OR server", [0, 1, 2, 4]),
        ("absent", []),
        ("", []),
        ("   ", []),
        # What a field asks of sessions is true or false of the whole page.
        ("deploy source:telegram", [0, 2, 3]),
        ("source:telegram", []),
        ("-source:cli", []),
        ("server OR source:cli", [0, 2]),
        ("deploy -(source:telegram server)", [3]),
        ("deploy -(source:telegram OR server)", [3]),
        ("deploy -(source:telegram)", [0, 2, 3]),
        ("deploy before:nonsense tag:x", [0, 2, 3]),
    ],
)
def test_matches_are_those_of_the_page_in_its_order(
    db: SessionDB, page: Outline, text: str, places: list[int]
) -> None:
    found, _ = db.store.transcripts.find(page, text)
    assert [page.message_ids.index(each) for each in found] == places


def test_matches_follow_the_page_not_the_ids(db: SessionDB, page: Outline) -> None:
    db.append_message("a", "user", "deploy at last", timestamp=LONG_AGO + 9_000)
    page = db.store.transcripts.outline("a")
    found, _ = db.store.transcripts.find(page, "deploy")
    assert [page.message_ids.index(each) for each in found] == [0, 2, 3, 4]
    assert found.tolist() != sorted(found)


def test_what_came_after_the_outline_is_not_found(db: SessionDB, page: Outline) -> None:
    db.append_message("b", "user", "deploy once more")
    assert len(db.store.transcripts.find(page, "deploy")[0]) == 3
    assert len(db.store.transcripts.find(db.store.transcripts.outline("a"), "deploy")[0]) == 4


def test_the_last_word_goes_on_while_it_is_typed(db: SessionDB, page: Outline) -> None:
    with db._db.write() as tx:
        messages.append(tx, "b", {"role": "user", "content": "say serverless"}, LONG_AGO + 99)
    page = db.store.transcripts.outline("a")
    typed, _ = db.store.transcripts.find(page, '"serv"', typing=True)
    assert typed == db.store.transcripts.find(page, '"serv"')[0]
    found, marker = db.store.transcripts.find(page, "the serv", typing=True)
    assert [page.message_ids.index(each) for each in found] == [0, 2]
    assert marker.spans("the server")


def test_the_places_of_matches_are_marked(db: SessionDB, page: Outline) -> None:
    _, marker = db.store.transcripts.find(page, "deploy 設定 -absent source:cli")
    text = "deploy the 設定 here, absent cli"
    assert [text[start:end] for start, end in marker.spans(text)] == ["deploy", "設定"]
    _, nothing = db.store.transcripts.find(page, "source:cli")
    assert not nothing.spans(text)


@pytest.mark.usefixtures("amount")
def test_a_search_that_is_cancelled_ends(
    db: SessionDB, page: Outline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "CHECK_EVERY", 5)
    looks = 0

    def pulled() -> bool:
        nonlocal looks
        looks += 1
        return looks >= 2

    found, _ = db.store.transcripts.find(page, "deploy OR 設", cancelled=pulled)
    assert looks == 2, "asked again after it was pulled, or never"
    assert len(found) < 5
    found, _ = db.store.transcripts.find(page, "deploy OR 設", cancelled=lambda: False)
    assert len(found) == 5


# -- recaps ------------------------------------------------------------------------------------


def _turns(number: int, rng: random.Random, *, odd: bool) -> list[dict[str, Any]]:
    """Return a conversation with tools in it; an odd one has much that a recap leaves out."""
    calls = [{"id": "1", "function": {"name": "terminal", "arguments": "{}"}}]
    kinds: list[dict[str, Any]] = [
        {"role": "user", "content": "question {}\n" * 3},
        {"role": "assistant", "content": "answer {}\n" * 6},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "output {}", "tool_name": "terminal"},
    ]
    if odd:
        kinds = [
            *kinds[:2],
            *kinds[3:] * 40,
            {"role": "user", "content": " "},
            {"role": "assistant", "content": "<think>only {}</think>"},
            {"role": "system", "content": "rules {}"},
        ]
    found = []
    for place in range(number):
        turn = dict(rng.choice(kinds))
        if turn["content"]:
            turn["content"] = turn["content"].replace("{}", str(place))
        found.append(turn)
    return found


def _fill(db: Store, session_id: str, turns: list[dict[str, Any]]) -> None:
    with db.database.write() as tx:
        session_rows.create(tx, session_id, "cli", started_at=LONG_AGO)
        for place, turn in enumerate(turns):
            messages.append(tx, session_id, turn, LONG_AGO + place)


LIMITS = (
    None,
    Limits(exchanges=3),
    Limits(exchanges=60),
    Limits(exchanges=0),
    Limits(skip_tool_only=True),
)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("number", [0, 1, 30, recap.WHOLE_RECAP])
def test_a_recap_of_a_short_session_is_the_whole_one(
    db: SessionDB, number: int, limits: Limits | None
) -> None:
    _fill(db.store, "a", _turns(number, random.Random(number), odd=bool(number % 4)))
    assert db.store.transcripts.quick_recap("a", limits) == recap.build(
        db.store.messages.of("a"), limits
    )


@pytest.fixture(scope="module")
def long_ones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    with SessionDB(tmp_path_factory.mktemp("long") / "state.db", synchronous="NORMAL") as db:
        for number in (recap.WHOLE_RECAP + 1, 2_500):
            for odd in (False, True):
                turns = _turns(number, random.Random(number), odd=odd)
                _fill(db.store, f"{number} {'odd' if odd else 'even'}", turns)
        yield db


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", ["401 even", "401 odd", "2500 even", "2500 odd"])
def test_a_recap_of_a_long_session_says_the_same(
    long_ones: SessionDB, name: str, limits: Limits | None
) -> None:
    quick, whole = (
        long_ones.store.transcripts.quick_recap(name, limits),
        long_ones.store.transcripts.recap(name, limits),
    )
    assert quick.entries == whole.entries
    assert (quick.messages, quick.user_messages) == (whole.messages, whole.user_messages)
    said = sum(each.role in ("user", "assistant") for each in long_ones.store.messages.of(name))
    assert whole.earlier <= quick.earlier == said - len(whole.entries)
    if "even" in name and not (limits and limits.skip_tool_only):
        assert quick.earlier == whole.earlier


def _reads(db: Store, action: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many messages an action reads the text of."""
    number = 0
    message_of = messages._message

    def counted(row: tuple[Any, ...]) -> Any:
        nonlocal number
        number += 1
        return message_of(row)

    with monkeypatch.context() as patch:
        patch.setattr(messages, "_message", counted)
        action()
    return number


def test_a_recap_of_a_long_session_reads_few_messages(
    long_ones: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "2500 even"
    assert (
        _reads(long_ones.store, lambda: long_ones.store.transcripts.recap(name), monkeypatch)
        == 2_500
    )
    quick = _reads(
        long_ones.store, lambda: long_ones.store.transcripts.quick_recap(name), monkeypatch
    )
    assert 0 < quick <= recap.RECAP_STEP
    # Where the newest messages are all tool output, it looks further back.
    odd = _reads(
        long_ones.store, lambda: long_ones.store.transcripts.quick_recap("2500 odd"), monkeypatch
    )
    assert quick < odd


def test_a_recap_of_a_newer_file_counts_what_is_shown(path: Path) -> None:
    newer.make(path)
    program = Newer(path)
    program.session("a")
    for place in range(1_200):
        program.message("a", f"said {place}", active=place % 2)
    program.close()
    with SessionDB(path) as db:
        assert db.store.transcripts.quick_recap("a") == db.store.transcripts.recap("a")
        assert db.store.transcripts.quick_recap("a").messages == 600


def test_an_outline_is_read_from_indexes_alone(long_ones: SessionDB) -> None:
    for plan in Work(long_ones, lambda db: db.store.transcripts.outline("2500 even")).plans():
        assert not any(map(is_table_scan, plan))
