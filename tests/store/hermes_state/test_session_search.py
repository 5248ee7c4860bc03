"""The tool `session_search`, as chat models call it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_store import SessionDB, SummaryError
from hermes_store.hermes_state import session_search as tool
from hermes_store.records.relation_to_parent import Edge
from tests.support import LONG_AGO, add, add_chain

NOW = LONG_AGO + 1_000_000


def ask(db: SessionDB, current: str | None = None, **arguments: Any) -> dict[str, Any]:
    answer = tool.session_search(db.store, arguments, current_session_id=current, now=NOW)
    assert json.loads(json.dumps(answer)) == answer
    return answer


def ids(answer: dict[str, Any]) -> list[str]:
    assert answer["success"]
    assert answer["count"] == len(answer["results"])
    return [each["session_id"] for each in answer["results"]]


def test_it_is_described() -> None:
    function = tool.TOOL["function"]
    assert function["name"] == tool.NAME == "session_search"
    assert set(function["parameters"]["properties"]) == {"query", "limit", "role_filter"}
    assert function["parameters"]["required"] == []
    assert tool.NAME in tool.GUIDANCE


@pytest.mark.parametrize(
    ("given", "limit"),
    [(1, 1), (5, 5), (0, 1), (-3, 1), (50, 5), ("3", 3), (" 4 ", 4), ("many", 3), (None, 3),
     (2.9, 2), (float("inf"), 3), ([], 3), ({}, 3), (True, 1)],
)  # fmt: skip
def test_the_number_of_conversations(given: Any, limit: int) -> None:
    assert tool.limit_of({"limit": given}) == limit
    assert tool.limit_of({}) == 3


@pytest.mark.parametrize(
    ("given", "roles"),
    [("user", ("user",)), (" user, assistant ,", ("user", "assistant")), ("", ()), (None, ()),
     (["user", "tool"], ("user", "tool")), (7, ()), (" , ", ())],
)  # fmt: skip
def test_the_roles(given: Any, roles: tuple[str, ...]) -> None:
    assert tool.roles_of({"role_filter": given}) == roles


def test_only_messages_of_the_roles_count(db: SessionDB) -> None:
    add(db, "asked", "what about docker?")
    add(db, "told", "hello")
    db.append_message("told", "assistant", "docker it is")
    assert sorted(ids(ask(db, query="docker"))) == ["asked", "told"]
    assert ids(ask(db, query="docker", role_filter="assistant,tool")) == ["told"]
    assert ids(ask(db, query="docker", role_filter="tool")) == []


def test_at_most_five_conversations(db: SessionDB) -> None:
    for number in range(8):
        add(db, f"s{number}", "docker", at=LONG_AGO + number)
    assert len(ids(ask(db, query="docker", limit=50))) == 5
    assert len(ids(ask(db, query="docker", limit="2"))) == 2
    assert len(ids(ask(db, query="docker", limit=0))) == 1
    assert len(ids(ask(db, query="docker"))) == 3


def test_the_answer_to_a_query(db: SessionDB) -> None:
    add(db, "talk", "x " * 40_000 + "docker" + " y" * 40_000, title="All of it")
    answer = ask(db, query=" docker ")
    assert answer["query"] == "docker"
    assert answer["sessions_searched"] == 1
    assert "message" not in answer
    (told,) = answer["results"]
    assert list(told) == ["session_id", "title", "when", "source", "model", "summary"]
    assert (told["title"], told["source"]) == ("All of it", "cli")
    assert told["when"].startswith("September 1")
    assert told["summary"].startswith("[An excerpt. There is no model to summarize with.]\n")
    assert "docker" in told["summary"]
    assert len(told["summary"]) < 8_200


def test_summaries_and_what_becomes_of_failed_ones(db: SessionDB) -> None:
    for name in ("fine", "broken"):
        add(db, name, f"docker is {name}")

    def summarise(_question: str, text: str) -> str:
        if "broken" in text:
            raise SummaryError("The model is asleep.")
        return "short"

    answer = tool.session_search(db.store, {"query": "docker"}, summarise=summarise, now=NOW)
    told = {each["session_id"]: each["summary"] for each in answer["results"]}
    assert told["fine"] == "short"
    assert told["broken"].startswith("[An excerpt. The model is asleep.]\n[user] docker is broken")


def test_nothing_found(db: SessionDB) -> None:
    add(db, "talk", "hello")
    answer = ask(db, query="zymurgy")
    assert ids(answer) == []
    assert "try other words" in answer["message"]


def test_a_wider_search_is_said(db: SessionDB) -> None:
    add(db, "talk", "docker compose")
    answer = ask(db, query="docker zymurgy")
    assert ids(answer) == ["talk"]
    assert "showing 1 of 2" in answer["message"]


@pytest.mark.parametrize("query", ["", "   ", None, [], 0])
def test_without_a_query_the_recent_conversations(db: SessionDB, query: Any) -> None:
    for number in range(8):
        add(db, f"s{number}", f"about {number}", at=LONG_AGO + 10 * number)
    answer = ask(db, query=query, limit=2)
    assert answer["mode"] == "recent"
    assert ids(answer) == ["s7", "s6"]
    assert answer["results"][0] == {
        "session_id": "s7", "title": None, "source": "cli", "started_at": LONG_AGO + 70,
        "last_active": LONG_AGO + 71, "message_count": 1, "preview": "about 7",
    }  # fmt: skip


def test_the_current_conversation_is_not_recent(db: SessionDB) -> None:
    add(db, "other", "hello")
    add_chain(db, ["one", "two"], at=LONG_AGO + 100, live=True)
    for number in range(9):
        add(db, f"branch{number}", "hi", parent="two", edge=Edge.BRANCH, at=LONG_AGO + 400)
    assert ids(ask(db, "two")) == ["other"]
    assert len(ids(ask(db, "not stored yet", limit=5))) == 5


def test_tools_of_others_are_hidden(db: SessionDB) -> None:
    add(db, "theirs", "docker", source="tool", title="docker things")
    add(db, "mine", "docker")
    assert ids(ask(db, query="docker")) == ["mine"]
    assert ids(ask(db)) == ["mine"]


def test_a_chain_and_its_sub_agents_are_one_conversation(db: SessionDB) -> None:
    add_chain(db, ["one", "two"], live=True)
    add(db, "agent", "docker in the depths", parent="two", edge=Edge.AGENT, at=LONG_AGO + 200)
    assert ids(ask(db, query="said in two")) == ["one"]
    assert ids(ask(db, query="docker")) == ["one"]
    assert ids(ask(db)) == ["two"]


def test_a_store_that_fails_is_told_to_the_model(db: SessionDB) -> None:
    db.close()
    for query in ("docker", ""):
        answer = tool.session_search(db.store, {"query": query}, now=NOW)
        assert answer["success"] is False
        assert "closed" in answer["error"]
