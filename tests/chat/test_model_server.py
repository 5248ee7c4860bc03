"""The demonstration server: its answers, its tool, and what is loaded for a chat."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from hermes_tui.chat.provider import Provider
from hermes_tui.demo import answers
from hermes_tui.demo.model_server import MODEL, DemoServer
from tests.chat.misbehaving_servers import WAIT, Talk, endpoint_at

TOOL = {"type": "function", "function": {"name": "session_search", "parameters": {}}}


def _get(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=WAIT) as answer:
        return json.load(answer)


def test_it_lists_its_model() -> None:
    with DemoServer() as server:
        assert server.base_url.startswith("http://127.0.0.1:")
        assert _get(f"{server.base_url}/models")["data"][0]["id"] == MODEL
        with pytest.raises(urllib.error.HTTPError) as caught:
            _get(f"{server.base_url}/elsewhere")
        assert caught.value.code == 404
        caught.value.close()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("hello", "demonstration assistant"),
        ("How can I find an old chat?", "Press `/`"),
        ("how do I resume?", "hermes -c"),
        ("rename it", "/title"),
        ("what is a branch?", "/branch"),
        ("Export all of it", "--redact"),
        ("delete old ones", "trash"),
        ("what does compress do", "/compress"),
    ],
)
def test_it_answers_by_what_is_asked(question: str, words: str) -> None:
    with DemoServer(delay=0) as server:
        assert words in Talk(server).ask(question).text


def test_it_looks_up_earlier_conversations_and_answers_from_them() -> None:
    question = {"role": "user", "content": "What did we decide about the nginx port last week?"}
    with DemoServer(delay=0) as server:
        provider = Provider(endpoint_at(server.base_url))
        heard: list[Any] = []

        def ask(messages: list[dict[str, Any]]) -> Any:
            return provider.stream(
                messages, tools=[TOOL], on_delta=heard.append, cancelled=lambda: False
            )

        first = ask([question])
        [call] = first.tool_calls
        assert json.loads(call.arguments) == {"query": "decide nginx port"}
        results = {"count": 1, "sessions": [{"title": "Proxy setup", "excerpt": "Port 8443."}]}
        tool = {"role": "tool", "tool_call_id": call.id, "content": json.dumps(results)}
        asked = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
            ],
        }
        last = ask([question, asked, tool])
    assert "**Proxy setup**: Port 8443." in last.text
    assert last.finish_reason == "stop"


@pytest.mark.parametrize("result", ["", "words", "{}", "[]", "null", '{"sessions": []}', "[5]"])
def test_it_found_nothing(result: str) -> None:
    assert "found nothing" in answers.next_line([{"role": "tool", "content": result}], ()).text


def test_it_needs_no_tool_to_answer() -> None:
    with DemoServer(delay=0) as server:
        assert Talk(server).ask("What did we say last week?").text


def test_words_make_up_the_text() -> None:
    for text in ("", " ", "one", " one  two\n\nthree \n"):
        assert "".join(answers.pieces(text)).strip() == text.strip()
    assert "".join(answers.pieces(" one  two\n\nthree \n")) == " one  two\n\nthree \n"


def test_it_leaves_nothing_behind() -> None:
    before = threading.active_count()
    server = DemoServer()
    server.close()  # never started
    with DemoServer(delay=0) as server:
        Talk(server).ask()
        url = server.base_url
    with pytest.raises(urllib.error.URLError):
        _get(f"{url}/models")
    assert not [each for each in threading.enumerate() if each.name == "hermes-demo"]
    assert threading.active_count() <= before + 1


def test_the_client_is_loaded_when_a_chat_starts() -> None:
    code = (
        "import sys\n"
        "import hermes_tui.chat.provider, hermes_tui.chat.auto_title\n"
        "from hermes_tui.chat.provider import Endpoint, Provider\n"
        "Provider(Endpoint('http://localhost/v1', 'm', 'm', 'k', 1.0, 0, 1000))\n"
        "print(sorted({'openai', 'httpx2', 'pydantic', 'textual', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("How do I deploy the parser service?", "Deploy parser service"),
        ("What did we say about docker?", "A question about docker"),
        ("Hello there", "A short conversation"),
    ],
)
def test_the_demonstration_names_what_was_asked(asked: str, title: str) -> None:
    said = f"User: {asked}\n\nAssistant: Hello! I am the demonstration assistant."
    order = {"role": "system", "content": "Give the conversation a title."}
    assert answers.whole_answer([order, {"role": "user", "content": said}]) == title
