"""recall: a question on the command line."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.cli.command import hermes
from tests.support import LONG_AGO

TALK = "20250101_120000_cafe"


def _home(home: Path, *, words: int = 2_000) -> Path:
    with SessionDB(home / "state.db") as db:
        db.store.sessions.start(TALK, "cli", started_at=LONG_AGO)
        db.set_session_title(TALK, "Shipping \x1b[31mit")
        said = (
            "before " * words,
            "We decided: the docker deploy runs \x1b]0;pwned\x07 at night.",
            "after " * words,
        )
        for place, text in enumerate(said, 1):
            db.append_message(TALK, "user", text, timestamp=LONG_AGO + place)
    return home


def test_a_question_is_answered(tmp_path: Path) -> None:
    home = _home(tmp_path)
    question = ["what", "did", "we", "decide", "about", "the", "docker", "deploy?"]
    shown = hermes(home, "sessions", "recall", *question)
    assert shown.code == 0
    first, facts, *rest = shown.out.splitlines()
    assert first == "Shipping [31mit  20250101_120000_cafe"
    assert facts == "  Terminal · 2020-09-13 · 1 of 3 messages"
    assert "docker deploy runs ␛]0;pwned␇ at night." in " ".join(" ".join(rest).split())
    assert "\x1b" not in shown.out and "\x07" not in shown.out
    # Short enough for a screen, and no line is wider than one.
    assert len(rest) < 25 and max(map(len, rest)) <= 100
    assert "No model is configured" in shown.err


def test_raw_shows_all_of_it(tmp_path: Path) -> None:
    home = _home(tmp_path)
    shown = hermes(home, "sessions", "recall", "--raw", "docker")
    assert shown.out.count("before") == 2_000 and shown.out.count("after") == 2_000
    assert shown.err == "" and "\x1b" not in shown.out


def test_a_widened_question_says_so(tmp_path: Path) -> None:
    shown = hermes(_home(tmp_path), "sessions", "recall", "docker", "xyzzy")
    assert shown.code == 0 and "showing 1 of 2" in shown.err


def test_an_answer_for_scripts(tmp_path: Path) -> None:
    home = _home(tmp_path, words=20_000)
    answer = hermes(home, "sessions", "recall", "docker deploy", "--json").json()
    assert (answer["kind"], answer["summarised"], answer["relaxations"]) == ("recall", False, [])
    (session,) = answer["sessions"]
    assert (session["session_id"], session["matches"], session["messages"]) == (TALK, 1, 3)
    assert session["start_cut"] and session["end_cut"] and "at night" in session["text"]
    assert len(session["text"]) == 100_000 and session["summary"] is None


def test_nothing_found_is_an_exit_code(tmp_path: Path) -> None:
    home = _home(tmp_path)
    nothing = hermes(home, "sessions", "recall", "xyzzy")
    assert nothing.code == 1 and "Nothing matches." in nothing.err and nothing.out == ""
    answer = hermes(home, "sessions", "recall", "xyzzy", "--json")
    assert answer.code == 1 and answer.json()["sessions"] == []


def test_wrong_use_is_told(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert hermes(home, "sessions", "recall").code == 2
    few = hermes(home, "sessions", "recall", "x", "--limit", "0")
    assert few.code == 2 and "at least 1" in few.err
    empty = hermes(home, "sessions", "recall", " ")
    assert empty.code == 2 and "nothing to search for" in empty.err
    missing = hermes(tmp_path / "nowhere", "sessions", "recall", "x")
    assert missing.code == 1 and "no session database" in missing.err


def test_only_what_is_no_flag_is_asked(tmp_path: Path) -> None:
    shown = hermes(_home(tmp_path), "sessions", "recall", "docker", "-podman", "--limit", "1")
    assert shown.code == 0 and "docker" in shown.out


# -- with a model ------------------------------------------------------------------------------


class _Model(BaseHTTPRequestHandler):
    """Summarises everything in one sentence, and refuses to read about secrets."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        refused = "secret" in asked
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "small",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "It runs \x1b[1mat night."},
                }
            ],
        }
        error = {"error": {"message": "I would rather not.", "type": "error"}}
        body = json.dumps(error if refused else answer).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def _model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_model_summarises_and_one_failure_stays_alone(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    home = _home(tmp_path)
    with SessionDB(home / "state.db") as db:
        db.store.sessions.start("other", "cli", started_at=LONG_AGO)
        db.append_message("other", "user", "the secret docker deploy", timestamp=LONG_AGO + 1)
    with _model() as address:
        (home / "config.yaml").write_text(f"model:\n  default: small\n  base_url: {address}\n")
        shown = hermes(home, "sessions", "recall", "docker deploy")
        answer = hermes(home, "sessions", "recall", "docker deploy", "--json").json()
        raw = hermes(home, "sessions", "recall", "docker deploy", "--raw")
    assert shown.code == 0 and "  It runs ␛[1mat night." in shown.out
    assert "[user] the secret docker deploy" in shown.out and "other: " in shown.err
    assert "No model" not in shown.err
    told = {each["session_id"]: each for each in answer["sessions"]}
    assert told[TALK]["summary"] and not told[TALK]["trouble"]
    assert told["other"]["trouble"] and told["other"]["summary"] is None
    assert "It runs" not in raw.out and "at night" in raw.out
