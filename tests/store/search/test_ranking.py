"""Which hits come first, how pages follow each other, and what is counted."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hermes_store import SessionDB
from hermes_store.records.search import Order, Request
from hermes_store.search import in_sqlite, result_page
from hermes_store.sessions import messages
from tests.support import LONG_AGO, add, add_chain


def sessions_of(db: SessionDB, text: str, **more: object) -> list[str]:
    request = Request(text, **more)  # type: ignore[arg-type]
    return [hit.session_id for hit in db.store.search.run(request).hits]


def say(db: SessionDB, session_id: str, content: str, **more: object) -> int:
    with db._db.write() as tx:
        return messages.append(tx, session_id, {"role": "user", "content": content} | more)


# -- by time -----------------------------------------------------------------------------------


def test_the_newest_come_first_and_the_oldest_on_request(db: SessionDB) -> None:
    for number in range(3):
        add(db, f"s{number}", "deploy it", at=LONG_AGO + number)
    assert sessions_of(db, "deploy") == ["s2", "s1", "s0"]
    assert sessions_of(db, "deploy sort:oldest") == ["s0", "s1", "s2"]
    assert sessions_of(db, "deploy", order=Order.OLDEST) == ["s0", "s1", "s2"]


def test_the_order_shown_is_said(db: SessionDB) -> None:
    add(db, "s", "deploy")
    assert db.store.search.run("deploy").order is Order.NEWEST
    assert db.store.search.run("deploy sort:relevance").order is Order.RELEVANCE
    assert (
        db.store.search.run(Request("deploy sort:oldest", order=Order.NEWEST)).order is Order.NEWEST
    )


def test_whole_words_come_before_parts_of_words(db: SessionDB) -> None:
    add(db, "whole", "we deploy now")
    add(db, "part", "a redeployment", at=LONG_AGO + 100)
    add(db, "wholly newer", "deploy!", at=LONG_AGO + 200)
    db.store.search.prepare()
    assert sessions_of(db, "deploy") == ["wholly newer", "whole", "part"]


def test_while_typing_the_last_word_may_go_on(db: SessionDB) -> None:
    add(db, "went on", "deployment done")
    add(db, "elsewhere", "deployment", at=LONG_AGO + 100)
    request = Request("done deplo", typing=True, relax=False)
    assert [hit.session_id for hit in db.store.search.run(request).hits] == ["went on"]


# -- by relevance ------------------------------------------------------------------------------


def test_what_people_and_the_model_said_counts_for_more_than_tool_output(
    db: SessionDB,
) -> None:
    add(db, "s", "nothing")
    tool = say(db, "s", "deploy the thing", role="tool", tool_name="terminal")
    user = say(db, "s", "deploy the thing")
    model = say(db, "s", "deploy the thing", role="assistant")
    other = say(db, "s", "deploy the thing", role="tool", tool_name="terminal")
    result = db.store.search.run(Request("deploy", order=Order.RELEVANCE))
    ids = [hit.message_id for hit in result.hits]
    assert set(ids[:2]) == {user, model}
    assert set(ids[2:]) == {tool, other}


def test_conversations_with_a_person_count_for_more_than_jobs(db: SessionDB) -> None:
    for name, source in (("job", "cron"), ("person", "telegram"), ("agent", "subagent")):
        add(db, name, "deploy the thing", source=source)
    found = sessions_of(db, "deploy", order=Order.RELEVANCE)
    assert found[0] == "person"
    assert set(found[1:]) == {"job", "agent"}


def test_what_is_about_a_word_comes_before_what_mentions_it(db: SessionDB) -> None:
    add(db, "about", "deploy, deploy and deploy")
    add(db, "mentions", "deploy " + "among many other words " * 40, at=LONG_AGO + 100)
    assert sessions_of(db, "deploy", order=Order.RELEVANCE) == ["about", "mentions"]


def test_parts_of_words_follow_what_was_ranked(db: SessionDB) -> None:
    add(db, "part", "redeployment", at=LONG_AGO + 100)
    add(db, "whole", "deploy")
    db.store.search.prepare()
    assert sessions_of(db, "deploy", order=Order.RELEVANCE) == ["whole", "part"]


# -- pages and counts --------------------------------------------------------------------------


@pytest.fixture
def many(db: SessionDB) -> Iterator[SessionDB]:
    for number in range(30):
        words = "deploy " * (1 + number % 3) + "redeployed" * (number % 2)
        add(db, f"s{number:02}", words, "other", f"a redeployment {number}", at=LONG_AGO + number)
    db.store.search.prepare()
    yield db


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("text", ["deploy", "deploy OR role:assistant", "deploy -x"])
def test_pages_follow_each_other_without_gap_or_repetition(
    many: SessionDB, text: str, order: Order, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        monkeypatch.setattr(in_sqlite, "WINDOW", 8)
    everything = many.store.search.run(Request(text, order=order, limit=1_000))
    whole = [hit.message_id for hit in everything.hits]
    assert len(whole) == len(set(whole)) == 60
    pages = [
        [
            hit.message_id
            for hit in many.store.search.run(Request(text, order, limit=7, offset=at)).hits
        ]
        for at in range(0, 70, 7)
    ]
    assert [message_id for page in pages for message_id in page] == whole


@pytest.mark.parametrize("order", Order)
def test_pages_of_conversations_follow_each_other(many: SessionDB, order: Order) -> None:
    # One conversation of many sessions must not take the room of several.
    add_chain(many, [f"chain{number}" for number in range(5)], at=LONG_AGO + 10_000)
    with many._db.write() as tx:
        tx.run("UPDATE messages SET content = 'deploy' WHERE session_id LIKE 'chain%'")
    seen: list[str] = []
    for at in range(0, 40, 4):
        request = Request("deploy", order, limit=4, offset=at, grouped=True)
        groups = many.store.search.run(request).groups
        assert len(groups) == min(4, 31 - at) if at < 31 else not groups
        seen += [group.root_id for group in groups]
    assert len(seen) == len(set(seen)) == 31


def test_counts_are_exact_or_say_that_there_may_be_more(
    many: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = many.store.search.run(Request("deploy", limit=100))
    assert (str(every.messages), every.messages.exact) == ("60", True)
    few = many.store.search.run(Request("deploy", limit=5))
    assert 5 <= few.messages.number <= 60
    assert few.messages.number == 60 or not few.messages.exact
    uncounted = many.store.search.run(Request("deploy", limit=5, count=False))
    assert (str(uncounted.messages), uncounted.messages.number) == ("5+", 5)
    monkeypatch.setattr(result_page, "COUNT_UP_TO", 10)
    cut = many.store.search.run(Request("deploy", limit=5))
    assert (cut.messages.number, cut.messages.exact) == (10, False)


def test_none_is_an_exact_count(db: SessionDB) -> None:
    add(db, "s", "hello")
    nothing = db.store.search.run("absent")
    assert (nothing.messages.number, nothing.messages.exact) == (0, True)


# -- conversations -----------------------------------------------------------------------------


def test_a_chain_of_compressions_is_one_conversation(db: SessionDB) -> None:
    add(db, "alone", "also said in here", at=LONG_AGO - 1_000)
    add_chain(db, ["first", "second", "third"])
    result = db.store.search.run(Request("said", grouped=True))
    assert [(group.root_id, group.count) for group in result.groups] == [("first", 3), ("alone", 1)]
    assert [hit.session_id for hit in result.groups[0].hits] == ["third", "second", "first"]
    assert result.hits == tuple(hit for group in result.groups for hit in group.hits)
    assert (result.conversations.number, result.conversations.exact) == (2, True)


def test_matching_titles_come_first_in_every_order(db: SessionDB) -> None:
    add(db, "old", "nothing of it", title="Deploy to production", at=LONG_AGO)
    add(db, "new", "we deploy", at=LONG_AGO + 1_000)
    add(db, "older", "deploy", at=LONG_AGO - 1_000)

    def order(text: str) -> list[tuple[str, bool]]:
        groups = db.store.search.run(Request(text, grouped=True)).groups
        return [(group.root_id, group.title_matches) for group in groups]

    assert order("deploy sort:relevance")[0] == ("old", True)
    assert order("deploy") == [("old", True), ("new", False), ("older", False)]
    add(db, "last", "other", title="Deploy again", at=LONG_AGO + 2_000)
    assert order("deploy")[:2] == [("last", True), ("old", True)]
    assert order("deploy sort:oldest")[:2] == [("old", True), ("last", True)]
    assert order("deploy sort:oldest")[2:] == [("older", False), ("new", False)]


@pytest.mark.parametrize("typed", ["докер на", "Докер На", "ДОКЕР НА", "докер", "straße"])
def test_a_title_matches_in_whatever_case(db: SessionDB, typed: str) -> None:
    wanted = ["capital", "title", "upper", "lower"] if "ß" not in typed else ["street"]
    add(db, "capital", "x", title="Докер на сервере")
    add(db, "title", "x", title="Докер На Сервере")
    add(db, "upper", "x", title="ДОКЕР НА СЕРВЕРЕ")
    add(db, "lower", "x", title="мой докер на сервере")
    add(db, "street", "x", title="Straße")
    add(db, "other", "x", title="Кот на сервере")
    found = db.store.search.run(Request(typed, grouped=True, relax=False)).groups
    assert sorted(group.root_id for group in found) == sorted(wanted)
    assert {hit.session_id for hit in db.store.search.run(f'title:"{typed}"').hits} == set(wanted)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("zebra crossing", {"z"}),
        ("zebra OR walrus", {"z", "w"}),
        ("zebra -crossing", set()),
        ("zebra NOT lion", {"z"}),
        ("zebra role:tool", set()),
        ("zebra before:2001-01-01", set()),
        ("zebra source:cli", {"z"}),
        ("zebra OR -walrus", set()),
        ("-zebra", set()),
    ],
)
def test_a_title_answers_what_it_can(db: SessionDB, text: str, found: set[str]) -> None:
    add(db, "z", title="Zebra crossing")
    add(db, "w", title="Walrus")
    for request in (Request(text, grouped=True, relax=False), Request(text, titles=True)):
        result = db.store.search.run(request)
        assert {*result.titled, *(group.root_id for group in result.groups)} == found


def test_a_title_is_not_named_beside_its_own_hit(db: SessionDB) -> None:
    add_chain(db, ["root", "middle", "tip"])
    db.set_session_title("root", "said before")
    result = db.store.search.run(Request("said middle", titles=True))
    assert [hit.session_id for hit in result.hits] == ["middle"]
    assert db.store.search.run(Request("said", titles=True)).titled == ()
    assert db.store.search.run(Request("before", titles=True)).titled == ("root",)


def test_a_title_must_meet_the_conditions_too(db: SessionDB) -> None:
    add(db, "s", "nothing", title="Deploy", source="cron")
    assert [
        g.root_id for g in db.store.search.run(Request("deploy source:cron", grouped=True)).groups
    ] == ["s"]
    assert not db.store.search.run(Request("deploy source:cli", grouped=True, relax=False)).groups


def test_a_long_conversation_does_not_hide_the_others(db: SessionDB) -> None:
    add(db, "short", "deploy once")
    add(db, "long", *["deploy"] * (result_page.SEEN_FOR_GROUPS + 50))
    groups = db.store.search.run(Request("deploy", grouped=True)).groups
    assert [group.root_id for group in groups] == ["long", "short"]


def test_a_group_shows_the_best_hits_and_counts_all(db: SessionDB) -> None:
    add(db, "s", *[f"deploy {number}" for number in range(10)])
    (group,) = db.store.search.run(Request("deploy", grouped=True)).groups
    assert group.count == 10
    assert [hit.snippet.text.strip() for hit in group.hits] == ["deploy 9", "deploy 8", "deploy 7"]


# -- excerpts ----------------------------------------------------------------------------------


def test_excerpts_show_what_a_tool_said_not_its_json(db: SessionDB) -> None:
    add(db, "a", "please")
    call = {"id": "1", "function": {"name": "terminal", "arguments": '{"command": "make zebra"}'}}
    db.append_message("a", "assistant", "", tool_calls=[call])
    output = json.dumps({"output": "first line\nthe okapi ran", "exit_code": 0, "error": None})
    db.append_message("a", "tool", output, tool_name="terminal", tool_call_id="1")

    def excerpts(text: str) -> list[str]:
        return [hit.snippet.text for hit in db.store.search.run(Request(text, grouped=True)).hits]

    assert excerpts("okapi") == ["first line\nthe okapi ran"]
    assert excerpts("zebra") == ["make zebra"]
    assert '"exit_code": 0' in excerpts("exit_code")[0], "what is only in the JSON is found, too"


def test_the_most_relevant_page_on_and_say_that_there_are_more(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_page, "SEEN_FOR_GROUPS", 6)
    for number in range(9):
        add(db, f"s{number}", "docker")
    request = Request("docker", order=Order.RELEVANCE, grouped=True, limit=4)
    first = db.store.search.run(request)
    assert len(first.groups) == 4 and not first.conversations.exact
    assert first.next is not None
    second = db.store.search.run(replace(request, after=first.next))
    shown = {group.root_id for group in (*first.groups, *second.groups)}
    assert len(shown) == 6 and second.next is None
    few = db.store.search.run(replace(request, text="docker id:s1"))
    assert few.conversations.exact and few.next is None


def test_a_search_that_is_stopped_while_it_groups_has_a_partial_result(db: SessionDB) -> None:
    """The statements that group matches are stopped as well as those that find them."""
    for number in range(300):
        add(db, f"s{number}", "docker")
    stopped: list[bool] = []
    for limit in (*range(1, 40, 3), 10_000):
        looks = itertools.count()

        def is_time(looks: Iterator[int] = looks, limit: int = limit) -> bool:
            return next(looks) >= limit

        request = Request("docker", order=Order.RELEVANCE, grouped=True, cancelled=is_time)
        result = db.store.search.run(request)
        assert result.partial or result.groups
        stopped.append(result.partial)
    assert stopped[0] and not all(stopped)
