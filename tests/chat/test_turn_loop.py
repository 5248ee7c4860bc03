"""What a conversation leaves in the database, and what it sends to the model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.config.settings import Config
from hermes_store.errors import StoreError
from hermes_tui.chat import turn_loop
from hermes_tui.chat.provider import BadAnswer, NotAuthorised, RateLimited, TimedOut
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import (
    WAIT,
    TroubleServer,
    breaks_off,
    chunk,
    falls_silent,
    hangs,
    refuses,
    sends,
    speaks_gibberish,
    stalls,
)
from tests.chat.talking import START, Ears, asked_by_chat, is_valid, talk
from tests.support import add, add_chain, is_whole

USAGE = {
    "prompt_tokens": 30,
    "completion_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def eventually(test: Callable[[], object], what: str) -> None:
    """Wait for something that another thread or process does."""
    deadline = time.monotonic() + WAIT
    while not test():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.01)


# -- what is stored ----------------------------------------------------------------------------


def test_an_exchange_is_stored_with_all_its_details(path: Path) -> None:
    answer = sends(
        chunk({"role": "assistant", "reasoning_content": "Let me "}),
        chunk({"reasoning_content": "think."}),
        chunk({"content": "Blue "}),
        chunk({"content": "light."}, "length"),
        {**chunk(None), "choices": [], "usage": USAGE},
    )
    with TroubleServer(answer, times=1) as server, talk(path, server) as chat:
        ears = chat.tell("Why is the sky blue?")
        question, told = chat.rows()
        session = chat.store.sessions.get(chat.here)
    assert ears.text == "Blue light."
    assert ears.saved_in == [chat.here] * 2
    assert (question["role"], question["content"]) == ("user", "Why is the sky blue?")
    assert (told["role"], told["content"]) == ("assistant", "Blue light.")
    assert told["reasoning"] == "Let me think."
    assert told["finish_reason"] == "length"
    assert told["token_count"] == 12
    assert START < question["timestamp"] < told["timestamp"]
    assert (session.source, session.model, session.message_count) == ("cli", "some-model", 2)
    assert (session.input_tokens, session.output_tokens) == (30, 12)
    assert (session.cache_read_tokens, session.reasoning_tokens) == (8, 5)
    assert session.api_call_count == 1
    assert session.ended_at is None


def test_nothing_is_stored_before_something_is_said(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        assert chat.title() is None
        chat.end("cli_close")
    with SessionDB(path) as db:
        assert db.session_count() == 0


def test_what_was_said_is_there_before_it_is_sent(path: Path) -> None:
    seen: list[Any] = []

    def look(_: TroubleServer, exchange: Any) -> None:
        with SessionDB(path, read_only=True) as db:
            [session] = db.search_sessions(limit=10)
            seen.extend(db.get_messages(session["id"]))
        exchange.refuse(400, "seen enough")

    with (
        TroubleServer(look) as server,
        talk(path, server, retries=0) as chat,
        pytest.raises(StoreError),
    ):
        chat.tell("the first word")
    assert [row["content"] for row in seen] == ["the first word"]


def test_looking_something_up(db: SessionDB, path: Path) -> None:
    add(db, "old", "The quokka lives on Rottnest island", title="Quokkas", ended=START)
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        ears = chat.tell("What did we say earlier about the quokka?")
        user, call, found, told = chat.rows()
        session = chat.store.sessions.get(chat.here)
        requests = asked_by_chat(server)
    assert ears.questions == ["quokka"]
    assert user["role"] == "user"
    [asked] = call["tool_calls"]
    assert call["finish_reason"] == "tool_calls"
    assert call["reasoning"] == "This is about an earlier conversation, so I will search for it."
    assert asked["function"] == {"name": "session_search", "arguments": '{"query": "quokka"}'}
    assert (found["role"], found["tool_name"]) == ("tool", "session_search")
    assert found["tool_call_id"] == asked["id"]
    [old] = json.loads(found["content"])["results"]
    assert old["session_id"] == "old"
    assert old["summary"] == "- [user] The quokka lives on Rottnest island"
    assert "**Quokkas**" in told["content"]
    assert session.tool_call_count == 1
    assert all(is_valid(request["messages"]) for request in requests)


def test_every_request_of_a_turn_counts(path: Path) -> None:
    """Also those that only ask for a tool cost something."""
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.tell("Do you remember what we said about penguins?")
        rows, session = chat.rows(), chat.store.sessions.get(chat.here)
        assert len(asked_by_chat(server)) == session.api_call_count == 2
    assert session.output_tokens == sum(row["token_count"] or 0 for row in rows)
    assert session.output_tokens > rows[-1]["token_count"]


def test_what_goes_wrong_with_a_tool_is_told_to_the_model(path: Path) -> None:
    calls = [("no_such_tool", '{"query": "x"}'), ("session_search", "[1, 2]"),
             ("session_search", "not json"), ("session_search", "null")]  # fmt: skip
    fragments = [
        {"index": place, "id": f"c{place}", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    asking = sends(chunk({"tool_calls": fragments}, "tool_calls"))
    with TroubleServer(asking, times=1) as server, talk(path, server) as chat:
        chat.tell("hello")
        answers = [json.loads(row["content"]) for row in chat.rows() if row["role"] == "tool"]
        assert is_valid(asked_by_chat(server)[-1]["messages"])
    assert [set(answer) for answer in answers] == [{"success", "error"}] * 4
    assert not any(answer["success"] for answer in answers)
    assert "no_such_tool" in answers[0]["error"]
    assert "not a JSON object" in answers[3]["error"]


def test_what_a_model_asks_for_is_what_it_gets(db: SessionDB, path: Path) -> None:
    """The roles and the number of conversations, also as text, and the recent ones."""
    for number in range(7):
        add(db, f"old{number}", "about quokkas", at=START - 100 + number, ended=START)
    db.append_message("old3", "assistant", "quokkas smile")
    asked = [{"query": "quokkas", "limit": "50"}, {"query": "quokkas", "role_filter": "assistant"},
             {"query": None, "limit": "2"}, {}]  # fmt: skip
    fragments = [
        {"index": place, "id": f"c{place}",
         "function": {"name": "session_search", "arguments": json.dumps(arguments)}}
        for place, arguments in enumerate(asked)
    ]  # fmt: skip
    asking = sends(chunk({"tool_calls": fragments}, "tool_calls"))
    with TroubleServer(asking, times=1) as server, talk(path, server) as chat:
        ears = chat.tell("hello")
        many, said, two, recent = [
            json.loads(row["content"]) for row in chat.rows() if row["role"] == "tool"
        ]
    assert ears.questions == ["quokkas", "quokkas"]
    assert many["count"] == 5
    assert [each["session_id"] for each in said["results"]] == ["old3"]
    assert (two["mode"], two["count"], recent["count"]) == ("recent", 2, 3)


def test_a_model_that_only_asks_for_tools_comes_to_an_end(path: Path) -> None:
    function = {"name": "session_search", "arguments": '{"query": "again"}'}
    again = chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]}, "tool_calls")
    with TroubleServer(sends(again)) as server, talk(path, server) as chat:
        chat.tell("hello")
        requests = asked_by_chat(server)
        assert len(requests) == turn_loop.MAX_ROUNDS
        assert ["tools" in request for request in requests] == [True] * 5 + [False]
        assert all(is_valid(request["messages"]) for request in requests)


def test_its_own_lineage_is_not_looked_through(db: SessionDB, path: Path) -> None:
    add_chain(db, ["one", "two"], live=True)
    db.append_message("one", "user", "wombats are marsupials")
    add(db, "other", "wombats dig burrows", ended=START)
    with DemoServer(delay=0) as server, talk(path, server, "two") as chat:
        chat.tell("What did we say earlier about wombats?")
        [found] = [json.loads(row["content"]) for row in chat.rows() if row["role"] == "tool"]
    assert [session["session_id"] for session in found["results"]] == ["other"]


# -- answers that do not come to their end -----------------------------------------------------


def test_a_stopped_answer_is_kept_as_far_as_it_came(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server, talk(path, server) as chat:
        chat.tell("hello", Ears(stop_after=1))
        assert chat.turn.reply.stopped
        assert server.left.wait(WAIT), "the server still talks to nobody"
        assert chat.said() == [("user", "hello"), ("assistant", "Half an ans")]
        assert chat.rows()[-1]["finish_reason"] == "stopped"
        chat.tell("how do I search?")
        assert len(chat.said()) == 4
        assert is_valid(asked_by_chat(server)[-1]["messages"])


def test_stopped_before_anything_came(path: Path) -> None:
    with TroubleServer(hangs, times=1) as server, talk(path, server) as chat:
        chat.say("hello", Ears(), lambda: server.asked > 0)
        assert chat.said() == [("user", "hello")]
        chat.tell("are you there?")
        assert chat.said()[1] == ("user", "are you there?")
        assert len(chat.said()) == 3


def test_stopped_while_a_tool_was_asked_for(path: Path) -> None:
    function = {"name": "session_search", "arguments": '{"qu'}

    def asks(server: TroubleServer, exchange: Any) -> None:
        exchange.begin_stream()
        exchange.event(chunk({"reasoning_content": "I wonder"}))
        exchange.event(chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]}))
        while not server.closing.wait(0.02):
            exchange.event(chunk({"reasoning_content": "."}))

    with TroubleServer(asks, times=1) as server, talk(path, server) as chat:
        chat.tell("hello", Ears(stop_after=3))
        assert not any(row["tool_calls"] for row in chat.rows())
        chat.tell("never mind")
        assert is_valid(asked_by_chat(server)[-1]["messages"])


def test_what_came_before_the_connection_broke_is_kept(path: Path) -> None:
    with TroubleServer(breaks_off, times=1) as server, talk(path, server) as chat:
        with pytest.raises(BadAnswer):
            chat.tell("hello")
        assert chat.said() == [("user", "hello"), ("assistant", "Half an ans")]
        assert chat.rows()[-1]["finish_reason"] == "error"


def test_a_tool_call_that_broke_off_is_not_sent_again(path: Path) -> None:
    function = {"name": "session_search", "arguments": '{"query": "so'}

    def cut(_: TroubleServer, exchange: Any) -> None:
        exchange.begin_stream()
        exchange.event(chunk({"content": "I look it up."}))
        exchange.event(chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]}))
        exchange.raw(b"ff\r\nda")

    with TroubleServer(cut, times=1) as server, talk(path, server) as chat:
        with pytest.raises(BadAnswer):
            chat.tell("hello")
        assert not any(row["tool_calls"] for row in chat.rows())
        chat.tell("well?")
        assert is_valid(asked_by_chat(server)[-1]["messages"])


def test_an_empty_answer_does_not_spoil_the_next_request(path: Path) -> None:
    with TroubleServer(sends(chunk({}, "stop")), times=1) as server, talk(path, server) as chat:
        chat.tell("hello")
        chat.tell("and now?")
        assert is_valid(asked_by_chat(server)[-1]["messages"])
        assert chat.rows()[-1]["content"]


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (refuses(401, "bad key"), NotAuthorised),
        (refuses(429, "slow down", Retry_After="0"), RateLimited),
        (speaks_gibberish, StoreError),
        (falls_silent, TimedOut),
        (hangs, TimedOut),
    ],
)
def test_what_was_said_is_kept_and_can_be_asked_again(
    path: Path, trouble: Any, error: type[StoreError]
) -> None:
    quiet = trouble in (falls_silent, hangs)
    limits: dict[str, Any] = {"timeout": 0.3 if quiet else WAIT, "retries": 0}
    with TroubleServer(trouble, times=1) as server, talk(path, server, **limits) as chat:
        with pytest.raises(error):
            chat.tell("how do I search?")
        assert chat.said()[0] == ("user", "how do I search?")
        ears = Ears()
        chat.provider.endpoint = replace(chat.provider.endpoint, timeout=WAIT)
        chat.retry(ears, ears.stopped)
        assert [role for role, _ in chat.said()] == ["user", "assistant"]
        assert chat.said()[-1] == ("assistant", ears.text)
        assert asked_by_chat(server)[-1]["messages"][-1]["content"] == "how do I search?"


def test_an_answer_can_be_asked_for_again(path: Path) -> None:
    first, second = (sends(chunk({"content": word}, "stop")) for word in ("First.", "Second."))
    answers = iter([first, second])

    def behave(server: TroubleServer, exchange: Any) -> None:
        if exchange.body.get("stream"):
            next(answers)(server, exchange)
        else:
            exchange.refuse(400, "no title today")

    with TroubleServer(behave) as server, talk(path, server) as chat:
        chat.tell("a joke")
        chat.retry(Ears(), lambda: False)
        assert chat.said() == [("user", "a joke"), ("assistant", "Second.")]
        again = asked_by_chat(server)[-1]["messages"]
        assert [message["role"] for message in again] == ["system", "user"]


def test_a_session_is_titled_although_its_first_answer_failed(path: Path) -> None:
    with TroubleServer(refuses(401), times=1) as server, talk(path, server) as chat:
        with pytest.raises(NotAuthorised):
            chat.tell("How do I search for marsupials?")
        chat.retry(Ears(), lambda: False)
        eventually(lambda: chat.title(), "a title")


# -- titles ------------------------------------------------------------------------------------


def test_a_title_comes_by_itself(path: Path) -> None:
    heard: list[str] = []
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.on_title = heard.append
        chat.tell("How do I export marsupials to Markdown?")
        eventually(lambda: heard, "a title")
        assert heard == [chat.title()]
        asked = len(server.requests)
        chat.tell("Thank you")
        assert len(server.requests) == asked + 1


def test_no_title_is_sought_where_there_is_one(path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        assert chat.set_title("  mine  ") == "mine"
        assert chat.title() == "mine"
        chat.tell("hello")
        assert chat.store.sessions.get(chat.here).title == chat.title() == "mine"
        chat.tell("hello again")
        assert all(request.get("stream") for request in server.requests)


def test_the_queued_title_was_taken_meanwhile(db: SessionDB, path: Path) -> None:
    with DemoServer(delay=0) as server, talk(path, server) as chat:
        chat.set_title("mine")
        add(db, "faster", "hello", title="mine")
        chat.tell("hello")
        assert chat.title() == "mine #2"
    assert db.store.sessions.get("faster").title == "mine"


def test_titles_have_the_rules_and_words_of_renaming(db: SessionDB, path: Path) -> None:
    add(db, "other", "hello", title="taken")
    add(db, "here", "hello")
    for title in ("taken", "x" * 101):
        with pytest.raises(StoreError) as renaming:
            db.store.sessions.rename("here", title)
        with DemoServer(delay=0) as server:
            with talk(path, server) as new, pytest.raises(StoreError) as queued:
                new.set_title(title)
            with talk(path, server, "here") as resumed, pytest.raises(StoreError) as at_once:
                resumed.set_title(title)
        assert str(queued.value) == str(at_once.value) == str(renaming.value)
        assert new.title() is None if new.session_id else new.queued_title is None
    assert db.store.sessions.get("here").title is None


# -- near the end of what the model can take in ------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "enabled", "full"),
    [(3_900, True, False), (4_100, True, True), (9_000, False, False)],
)
def test_full(path: Path, tokens: int, enabled: bool, full: bool) -> None:
    usage = {"prompt_tokens": tokens, "completion_tokens": 10}
    answer = sends(chunk({"content": "ok"}, "stop"), {**chunk(None), "choices": [], "usage": usage})
    config = Config()
    config = replace(config, compression=replace(config.compression, enabled=enabled))
    with (
        TroubleServer(answer, times=1) as server,
        talk(path, server, config=config, context_length=8_000) as chat,
    ):
        chat.tell("hello")
        assert chat.turn.full is full


# -- kill -9 -----------------------------------------------------------------------------------

_CHILD = """
import sys, time
from pathlib import Path
from hermes_store.config.settings import Config
from hermes_store import Store
from hermes_tui.chat.turn_loop import Conversation
from hermes_tui.chat.provider import Provider
from tests.chat.talking import Ears
from tests.chat.misbehaving_servers import endpoint_at

class Loud(Ears):
    def piece(self, delta):
        print("piece", flush=True)

talk = Conversation(Store(Path(sys.argv[1])), Provider(endpoint_at(sys.argv[2])), Config(),
                    clock=time.time)
talk.say("hello", Loud(), lambda: False)
"""


def test_a_killed_program_loses_only_the_answer_in_flight(path: Path) -> None:
    with TroubleServer(stalls) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(path), server.base_url],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        with child.stdout:
            assert child.stdout.readline() == "piece\n"
            child.send_signal(signal.SIGKILL)
            child.wait(WAIT)
    assert is_whole(path)
    with SessionDB(path) as db:
        [session] = db.search_sessions(limit=10)
        assert [row["content"] for row in db.get_messages(session["id"])] == ["hello"]
    with DemoServer(delay=0) as demo, talk(path, demo, session["id"]) as chat:
        chat.tell("are you back?")
        assert len(chat.said()) == 3
