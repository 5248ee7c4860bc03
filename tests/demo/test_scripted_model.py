"""The demo's model: the chat works without the client library, and can be stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_tui.chat.streamed_reply import Delta
from hermes_tui.demo.scripted_model import ScriptedModel

HELLO = [{"role": "user", "content": "hello"}]


def test_it_answers_in_pieces() -> None:
    heard: list[Delta] = []
    model = ScriptedModel("demo", delay=0)
    reply = model.stream(HELLO, on_delta=heard.append, cancelled=lambda: False)
    assert "demonstration assistant" in reply.text
    assert "".join(delta.text for delta in heard) == reply.text
    assert len(heard) > 20
    assert (reply.finish_reason, reply.model, reply.stopped) == ("stop", "demo", False)
    assert reply.usage.input_tokens and reply.usage.output_tokens


def test_it_stops_when_asked() -> None:
    heard: list[Delta] = []
    model = ScriptedModel("demo", delay=0)
    reply = model.stream(HELLO, on_delta=heard.append, cancelled=lambda: len(heard) >= 3)
    assert reply.stopped and len(heard) == 3
    assert reply.text == "".join(delta.text for delta in heard)


def test_closing_ends_an_answer() -> None:
    model = ScriptedModel("demo", delay=60)
    model.close()
    reply = model.stream(HELLO, on_delta=lambda _: None, cancelled=lambda: False)
    assert reply.stopped and not reply.text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what about the memory?", ("**memory** came up in 2 messages", "> It ran out of memory.")),
        ("zzz", ("demonstration assistant",)),
        ("thanks!", ("welcome",)),
    ],
)
def test_it_reacts_to_what_is_typed(question: str, words: tuple[str, ...]) -> None:
    before = [
        {"role": "user", "content": "Why did it fail?"},
        {"role": "assistant", "content": "A guess:\nIt ran out of memory."},
        {"role": "user", "content": "Is memory expensive?"},
    ]
    asked = [*before, {"role": "user", "content": question}]
    reply = ScriptedModel("demo", delay=0).stream(
        asked, on_delta=lambda _: None, cancelled=lambda: False
    )
    for each in words:
        assert each in reply.text


def test_the_demo_chats_without_the_client_library(tmp_path: Path) -> None:
    """In a process where the package openai cannot be found or imported."""
    program = (
        "import sys; sys.modules['openai'] = None\n"
        "from hermes_tui.__main__ import main\n"
        "sys.argv = ['hermes', 'chat', '--demo', '-q', 'hello']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "demonstration assistant" in done.stdout
