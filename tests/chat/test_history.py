"""A session that is gone on with, and what of it is sent: always something a server takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_tui.chat.turn_loop import paired
from hermes_tui.demo.model_server import DemoServer
from tests.chat.talking import START, Ears, asked_by_chat, is_valid, talk
from tests.support import add, is_whole

# -- a resumed session -------------------------------------------------------------------------


def test_a_resumed_session_is_opened_with_the_first_word(db: SessionDB, path: Path) -> None:
    add(db, "old", "hello", ended=START)
    with DemoServer(delay=0) as server:
        with talk(path, server, "old") as chat:
            assert chat.title() is None
            assert chat.history()
            assert db.store.sessions.get("old").ended_at == START
            chat.tell("and again")
            assert db.store.sessions.get("old").ended_at is None
            chat.end("cli_close")
        ended = db.store.sessions.get("old")
    assert ended.ended_at is not None and ended.end_reason == "cli_close"
    assert [row["content"] for row in db.get_messages("old")][:2] == ["hello", "and again"]


def test_one_that_was_only_looked_at_stays_as_it_was(db: SessionDB, path: Path) -> None:
    add(db, "old", "hello", ended=START, reason="user_exit")
    before = db.get_session("old")
    with DemoServer(delay=0) as server, talk(path, server, "old") as chat:
        chat.end("cli_close")
    assert db.get_session("old") == before


def test_asking_again_opens_a_session_too(db: SessionDB, path: Path) -> None:
    add(db, "old", "hello", ended=START)
    with DemoServer(delay=0) as server, talk(path, server, "old") as chat:
        chat.retry(Ears(), lambda: False)
        assert db.store.sessions.get("old").ended_at is None
        chat.end("cli_close")
        assert db.store.sessions.get("old").end_reason == "cli_close"


def test_what_a_killed_agent_left_behind_can_be_gone_on_with(db: SessionDB, path: Path) -> None:
    add(db, "old", "hello")
    call = {"id": "c9", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    db.append_message("old", "assistant", None, tool_calls=[call])
    with DemoServer(delay=0) as server, talk(path, server, "old") as chat:
        chat.tell("go on")
        [request] = asked_by_chat(server)
    assert is_valid(request["messages"])
    assert [message["content"] for message in request["messages"]][1:] == ["hello", "go on"]


def test_two_at_once_both_keep_what_they_say(db: SessionDB, path: Path) -> None:
    add(db, "old", "hello", ended=START)
    with (
        DemoServer(delay=0) as server,
        talk(path, server, "old") as one,
        talk(path, server, "old") as two,
    ):
        one.tell("from one")
        two.tell("from two")
        one.tell("one again")
        said = [content for role, content in one.said() if role == "user"]
    assert said == ["hello", "from one", "from two", "one again"]
    assert is_whole(path)


# -- a valid history ---------------------------------------------------------------------------

_IDS = st.sampled_from(["a", "b", "c"])
_CALL: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"id": _IDS, "function": st.just({"name": "t", "arguments": "{}"})}
)
_MESSAGES: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": st.just("said")}),
        st.fixed_dictionaries(
            {"role": st.just("assistant"), "content": st.sampled_from([None, "", "told"])},
            optional={"tool_calls": st.lists(_CALL, max_size=3, unique_by=lambda c: c["id"])},
        ),
        st.fixed_dictionaries(
            {"role": st.just("tool"), "content": st.just("found")}, optional={"tool_call_id": _IDS}
        ),
        st.fixed_dictionaries(
            {"role": st.sampled_from(["system", "session_meta"]), "content": st.just("note")}
        ),
    ),
    max_size=12,
)


@given(_MESSAGES)
def test_whatever_is_stored_a_valid_history_is_sent(messages: list[dict[str, Any]]) -> None:
    kept = paired(messages)
    assert is_valid(list(kept))
    assert [m for m in kept if m["role"] == "user"] == [m for m in messages if m["role"] == "user"]
    told = [m["content"] for m in messages if m["role"] == "assistant" and m["content"]]
    assert [m["content"] for m in kept if m["role"] == "assistant" and m["content"]] == told
    assert paired(kept) == kept


@given(st.lists(st.lists(_IDS, unique=True, max_size=3), max_size=4))
def test_a_valid_history_is_sent_as_it_is(rounds: list[list[str]]) -> None:
    messages: list[dict[str, Any]] = []
    for ids in rounds:
        messages.append({"role": "user", "content": "said"})
        calls = [{"id": each, "function": {"name": "t", "arguments": "{}"}} for each in ids]
        messages.append(
            {"role": "assistant", "content": "told"} | ({"tool_calls": calls} if calls else {})
        )
        messages += [{"role": "tool", "content": "x", "tool_call_id": each} for each in ids]
    assert paired(messages) == messages
