"""Titles and summaries: what is asked, what comes of the answer, and when there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hermes_store.config.settings import Config, ModelConfig
from hermes_store.errors import SummaryError
from hermes_tui.chat.provider import BadAnswer, Provider, TimedOut
from hermes_tui.chat.summaries import compression_summary, summariser, title_for, title_in
from hermes_tui.demo.model_server import DemoServer, Exchange
from tests.chat.misbehaving_servers import Behaviour, TroubleServer, endpoint_at, hangs, refuses


def says(text: str | None) -> Behaviour:
    """Give this answer in one piece."""

    def behave(_: TroubleServer, exchange: Exchange) -> None:
        message = {"role": "assistant", "content": text}
        exchange.send_json(200, {"choices": [{"index": 0, "message": message}]})

    return behave


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Moving the Compose Stack", "Moving the Compose Stack"),
        ('"Moving the stack"', "Moving the stack"),
        ("“Moving the stack”.", "Moving the stack"),
        ("Title: Moving the stack", "Moving the stack"),
        ("**Title:** Moving the stack", "Moving the stack"),
        ("Title:\n\nMoving the stack", "Moving the stack"),
        ("# Moving the `stack`", "Moving the `stack"),
        ("Here is a title for it: Moving the stack\n\nI hope it fits!", "Moving the stack"),
        ("<think>Hm: title?</think>\nMoving the stack", "Moving the stack"),
        ("  Moving \t the\nstack", "Moving the"),
        ("「移动容器栈到新主机」", "移动容器栈到新主机"),
        ("Fix \x1b[31mred\x1b[0m text", "Fix ␛[31mred␛[0m text"),
        ("word " * 40, "word " * 15 + "word…"),
        ("x" * 500, "x" * 79 + "…"),
    ],
)
def test_a_title_is_taken_out_of_its_wrapping(answer: str, title: str) -> None:
    found = title_in(answer)
    assert found == title
    assert found is not None and len(found) <= 80


@pytest.mark.parametrize("answer", ["", " \n ", '""', "None", "Untitled", "***", "Title:", "…"])
def test_nothing_usable_is_no_title(answer: str) -> None:
    assert title_in(answer) is None


def test_a_title_is_asked_of_the_small_model() -> None:
    with DemoServer() as server:
        provider = Provider(endpoint_at(server.base_url))
        title = title_for(provider, "How do I move my compose stack? " + "x" * 9000, "So. " * 9000)
    assert title is not None and "compose" in title.lower()
    [asked] = server.requests
    assert asked["model"] == "small-model"
    assert len(asked["messages"][1]["content"]) < 2_100


def test_a_model_that_says_nothing_gives_no_title() -> None:
    with TroubleServer(says(None)) as server:
        assert title_for(Provider(endpoint_at(server.base_url)), "hello", "hi") is None


# -- summaries of what was found ---------------------------------------------------------------


def _config(server: DemoServer, **more: Any) -> Config:
    model = ModelConfig(default="big", auxiliary="small", base_url=server.base_url)
    return replace(Config(), model=replace(model, **more))


def test_without_a_model_nobody_summarises() -> None:
    assert summariser(Config()) is None
    assert summariser(replace(Config(), model=ModelConfig(default="m")), {}) is None


def test_a_summary_of_what_was_found() -> None:
    with DemoServer() as server:
        summarise = summariser(_config(server), {})
        assert summarise is not None
        summary = summarise("Which port?", "User: which port?\nAssistant: 8443, as decided.")
    assert "8443" in summary
    [asked] = server.requests
    assert asked["model"] == "small"
    assert "Which port?" in asked["messages"][1]["content"]


def test_a_long_text_is_cut_in_its_middle() -> None:
    with DemoServer() as server:
        summarise = summariser(_config(server, context_length=1_000), {})
        assert summarise is not None
        summarise("?", "begin " + "x" * 1_000_000 + " end")
    sent = server.requests[0]["messages"][1]["content"]
    assert len(sent) < 2_200
    assert "begin" in sent and sent.endswith("end") and "left out" in sent


def test_a_summary_that_fails_says_so() -> None:
    with TroubleServer(refuses(401)) as server:
        summarise = summariser(_config(server), {})
        assert summarise is not None
        with pytest.raises(SummaryError, match="rejected the key"):
            summarise("?", "text")


# -- summaries to go on from -------------------------------------------------------------------

CALL = {"id": "1", "function": {"name": "terminal", "arguments": '{"command": "make deploy"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Deploy to port 8443"},
    {"role": "assistant", "content": "<think>secret thought</think>", "tool_calls": [CALL]},
    {"role": "tool", "content": "start " + "log " * 5_000 + " exit 0", "tool_call_id": "1"},
    {"role": "assistant", "content": [{"type": "text", "text": "It runs."}]},
    {"role": "session_meta", "content": "inner matters"},
    {"role": "user", "content": None},
]


def test_a_compression_is_told_what_matters() -> None:
    with DemoServer() as server:
        summary = compression_summary(Provider(endpoint_at(server.base_url)), MESSAGES)
    assert "8443" in summary
    sent = server.requests[0]["messages"][1]["content"]
    for kept in (
        "Deploy to port 8443",
        "terminal",
        "make deploy",
        "start log",
        "exit 0",
        "It runs",
    ):
        assert kept in sent
    for left_out in ("secret thought", "inner matters"):
        assert left_out not in sent
    assert len(sent) < 2_000


def test_a_compression_is_bounded() -> None:
    long = [
        {"role": "user", "content": f"message {number} " + "y" * 3_000} for number in range(500)
    ]
    with DemoServer() as server:
        compression_summary(Provider(endpoint_at(server.base_url)), long)
    sent = server.requests[0]["messages"][1]["content"]
    assert len(sent) < 17_000
    assert "message 0 " in sent and "y" * 100 in sent[-200:]


def test_an_empty_summary_is_none() -> None:
    with (
        TroubleServer(says("<think>Hm.</think>")) as server,
        pytest.raises(BadAnswer, match=r"small-model gave no summary.*model\.auxiliary"),
    ):
        compression_summary(Provider(endpoint_at(server.base_url)), MESSAGES)


def test_a_summary_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_tui.chat import summaries

    monkeypatch.setattr(summaries, "SUMMARY_SECONDS", 0.2)
    with TroubleServer(hangs) as server, pytest.raises(TimedOut):
        compression_summary(Provider(endpoint_at(server.base_url)), MESSAGES)
