"""Answers as they come: pieces, tool calls, figures, and what servers leave out."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_tui.chat.provider import BadAnswer, ChatError, Delta, Provider, ToolCall, Usage
from hermes_tui.demo.model_server import DemoServer, Exchange
from tests.chat.misbehaving_servers import (
    KEY,
    WAIT,
    Talk,
    TroubleServer,
    chunk,
    endpoint_at,
    event_bytes,
    sends,
)

STOP = chunk({}, "stop")


def test_an_answer_comes_in_pieces_and_as_a_whole() -> None:
    with DemoServer(delay=0) as server:
        talk = Talk(server)
        reply = talk.ask("How do I search?")
    assert talk.shown == reply.text
    assert len(talk.deltas) > 20
    assert "docker compose" in reply.text
    assert (reply.finish_reason, reply.model, reply.stopped) == ("stop", "some-model", False)
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0
    [asked] = server.requests
    assert asked["model"] == "some-model"
    assert asked["stream_options"] == {"include_usage": True}
    assert "tools" not in asked


def test_the_key_is_sent_and_shown_nowhere() -> None:
    endpoint = endpoint_at("http://127.0.0.1:1/v1")
    assert endpoint.key == KEY
    assert KEY not in repr(endpoint)


def test_tool_calls_come_in_fragments() -> None:
    def part(index: int, text: str, call_id: str | None = None, name: str | None = None) -> Any:
        function = {"name": name, "arguments": text}
        return chunk({"tool_calls": [{"index": index, "id": call_id, "function": function}]})

    behaviour = sends(
        chunk({"role": "assistant", "content": None}),
        part(0, "", "a", "session_search"),
        part(0, '{"que'),
        part(1, '{"x":', "b", "other"),
        part(0, 'ry": "é"}'),
        part(1, "1}"),
        chunk({}, "tool_calls"),
    )
    with TroubleServer(behaviour) as server:
        reply = Talk(server).ask()
    assert reply.tool_calls == (
        ToolCall("a", "session_search", '{"query": "é"}'),
        ToolCall("b", "other", '{"x":1}'),
    )
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")


def test_tool_calls_of_servers_that_count_otherwise() -> None:
    def call(call_id: str | None, name: str | None, text: str | None, **more: object) -> object:
        function = {"name": name, "arguments": text}
        return chunk({"tool_calls": [{"id": call_id, "function": function, **more}]})

    behaviour = sends(
        call("a", "one", "{}", index=0),
        call("b", "two", '{"n":', index=0),  # another call under the same index
        call(None, "two", "2}", index=0),  # the name once more
        call("c", "three", None),  # no index at all
        call(None, None, None),
        call(None, "four", "{}", index=7),  # no id at all
        chunk({}, "tool_calls"),
    )
    with TroubleServer(behaviour) as server:
        calls = Talk(server).ask().tool_calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("one", "{}"),
        ("two", '{"n":2}'),
        ("three", "{}"),
        ("four", "{}"),
    ]
    assert [call.id for call in calls] == ["a", "b", "c", "call_4"]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_apart(name: str) -> None:
    behaviour = sends(
        chunk({name: "Hm, "}), chunk({name: "well."}), chunk({"content": "Yes"}), STOP
    )
    with TroubleServer(behaviour) as server:
        talk = Talk(server)
        reply = talk.ask()
    assert (reply.reasoning, reply.text) == ("Hm, well.", "Yes")
    assert talk.deltas == [Delta("", "Hm, "), Delta("", "well."), Delta("Yes", "")]


def test_figures_with_details_in_the_last_piece() -> None:
    figures = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    behaviour = sends(chunk({"content": "Yes"}), STOP, {"choices": [], "usage": figures})
    with TroubleServer(behaviour) as server:
        assert Talk(server).ask().usage == Usage(100, 20, 15, 64)


def test_what_servers_leave_out_is_not_missed() -> None:
    behaviour = sends(
        {"choices": []},
        {"choices": None},
        {},
        chunk(None),
        chunk({"role": "assistant"}),
        chunk({"content": None}),
        b": a comment to keep the connection open\n\n",
        b"\n\n",
        chunk({"content": "Yes"}),
        chunk({"content": 5, "tool_calls": "none"}),
        STOP,
    )
    with TroubleServer(behaviour) as server:
        talk = Talk(server)
        reply = talk.ask()
    assert (reply.text, reply.usage, reply.model) == ("Yes", Usage(), "some-model")
    assert talk.deltas == [Delta("Yes", "")]


def test_an_empty_answer_is_an_answer() -> None:
    with TroubleServer(sends(STOP)) as server:
        reply = Talk(server).ask()
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("", (), "stop")


def test_an_answer_cut_by_its_length_says_so() -> None:
    with TroubleServer(sends(chunk({"content": "and then"}, "length"))) as server:
        assert Talk(server).ask().finish_reason == "length"


@pytest.mark.parametrize("size", [1, 3])
def test_letters_may_be_split_anywhere(size: int) -> None:
    text = "Grüße, 世界 👩‍💻!"
    payload = event_bytes(chunk({"content": text})) + event_bytes(STOP)
    cut = [payload[place : place + size] for place in range(0, len(payload), size)]
    with TroubleServer(sends(*cut)) as server:
        assert Talk(server).ask().text == text


def test_five_megabytes() -> None:
    piece = "0123456789abcdef" * 256
    number = 5 * 1024 * 1024 // len(piece)
    with TroubleServer(sends(*[chunk({"content": piece})] * number, STOP)) as server:
        talk = Talk(server)
        reply = talk.ask()
    assert len(reply.text) == 5 * 1024 * 1024
    assert len(talk.deltas) == number


def test_many_at_once() -> None:
    def behave(server: TroubleServer, exchange: Exchange) -> None:
        word = exchange.body["messages"][0]["content"]
        sends(*[chunk({"content": f"{word} "})] * 50, STOP)(server, exchange)

    with TroubleServer(behave) as server:
        provider = Provider(endpoint_at(server.base_url))
        together = threading.Barrier(12, timeout=WAIT)

        def ask(number: int) -> str:
            together.wait()
            messages = [{"role": "user", "content": f"w{number}"}]
            return provider.stream(messages, on_delta=lambda _: None, cancelled=lambda: False).text

        with ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(ask, range(12)))
    assert answers == [f"w{number} " * 50 for number in range(12)]


def test_halves_of_letters_can_be_sent() -> None:
    with DemoServer(delay=0) as server:
        Talk(server).ask("half \ud83d of it")
    assert server.requests[0]["messages"][0]["content"] == "half \ufffd of it"


def test_what_a_server_does_not_know_is_left_out() -> None:
    def behave(server: TroubleServer, exchange: Exchange) -> None:
        if "stream_options" in exchange.body:
            exchange.refuse(400, "Unknown parameter: 'stream_options'")
        else:
            sends(chunk({"content": "Yes"}), STOP)(server, exchange)

    with TroubleServer(behave) as server:
        assert Talk(server).ask().text == "Yes"
        assert server.asked == 2


def test_an_error_of_the_listener_is_its_own() -> None:
    def listen(_: Delta) -> None:
        raise KeyError("the screen is gone")

    with DemoServer(delay=0) as server:
        provider = Provider(endpoint_at(server.base_url))
        with pytest.raises(KeyError, match="the screen is gone"):
            provider.stream(
                [{"role": "user", "content": "hello"}], on_delta=listen, cancelled=lambda: False
            )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "usage",
                    "error",
                    "index",
                    "model",
                    "finish_reason",
                    "message",
                    "code",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
PIECES = st.lists(
    JSON.map(event_bytes) | st.binary(min_size=1, max_size=30).map(lambda raw: raw + b"\n\n"),
    max_size=6,
)


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PIECES)
def test_any_stream_is_an_answer_or_one_sentence(pieces: list[bytes]) -> None:
    with TroubleServer(sends(*pieces)) as server:
        talk = Talk(server, retries=0)
        try:
            reply = talk.ask()
        except ChatError as error:
            assert "\n" not in str(error)
            assert error.partial is None or error.partial.text == talk.shown
        else:
            assert reply.text == talk.shown
            assert reply.finish_reason


def test_arguments_are_what_the_model_wrote() -> None:
    with DemoServer(delay=0) as server:
        tool = {"type": "function", "function": {"name": "session_search", "parameters": {}}}
        talk = Talk(server)
        reply = talk.ask("What did we say about docker last week?", tools=[tool])
    [call] = reply.tool_calls
    assert call.name == "session_search"
    assert json.loads(call.arguments) == {"query": "docker"}
    assert reply.reasoning
    assert server.requests[0]["tools"] == [tool]


def test_a_stream_without_an_end_is_not_whole() -> None:
    with TroubleServer(sends(chunk({"content": "Half"}))) as server:
        with pytest.raises(BadAnswer, match="broke off") as caught:
            Talk(server).ask()
        assert server.asked == 1
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Half"
