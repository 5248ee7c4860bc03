"""The built-in chat in a real terminal and in pipes, with servers of this machine."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.config.paths import drafts_file
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import (
    Behaviour,
    TroubleServer,
    breaks_off,
    falls_silent,
    hangs,
    refuses,
    speaks_gibberish,
    stalls,
)
from tests.e2e.conftest import HERMES, NUMBAT, Browse, Home, Open, eventually
from tests.e2e.terminal import PATIENCE, Ended, Terminal
from tests.support import is_whole

AGENT = '#!/bin/sh\necho "agent: $*"\nexit 7\n'


def talks_to(home: Home, server: DemoServer, **more: Any) -> None:
    """Let a home use a server, and nothing that answers differently from run to run."""
    settings = {"default": "demo", "base_url": server.base_url, "retries": 0} | more
    lines = "".join(f"  {name}: {value}\n" for name, value in settings.items())
    home.configure(f"model:\n{lines}")


@pytest.fixture
def server() -> Iterator[DemoServer]:
    """A server that answers at once."""
    with DemoServer(delay=0) as demo:
        yield demo


@pytest.fixture
def chat(open_terminal: Open) -> Callable[..., Terminal]:
    """Start a chat in a terminal and wait until it can be typed into."""

    def start(home: Home, *arguments: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        terminal = open_terminal(home, HERMES, *arguments, size=size)
        terminal.wait_open()
        terminal.wait_for("Hermes chat")
        return terminal

    return start


def left(terminal: Terminal, *, code: int = 0) -> Ended:
    """Return how a chat ended, which it does in good order."""
    ended = terminal.finish()
    assert ended.code == code and ended.clean, (ended.why, ended.after)
    assert b"Traceback" not in ended.output
    return ended


def said(home: Home, session_id: str) -> list[tuple[str, Any]]:
    """Return who said what in a session."""
    with SessionDB(home.database, read_only=True) as db:
        return [(row["role"], row["content"]) for row in db.get_messages(session_id)]


def newest(home: Home) -> dict[str, Any]:
    """Return the session that was used last."""
    with SessionDB(home.database, read_only=True) as db:
        return db.search_sessions(limit=1)[0]


def piped(home: Home, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program without a terminal."""
    return subprocess.run(
        [str(HERMES), *arguments],
        input=text,
        capture_output=True,
        text=True,
        env=home.environment(),
        timeout=PATIENCE * 2,
        check=False,
    )


# -- the whole way -----------------------------------------------------------------------------


def test_from_the_first_word_to_the_second_part(
    bare: Home, server: DemoServer, chat: Callable[..., Terminal], browse: Browse
) -> None:
    talks_to(bare, server)
    terminal = chat(bare)
    terminal.wait_for("New conversation", "Type a message")
    terminal.type("How do I export quokkas as Markdown?\r")
    terminal.wait_for("Add --redact to mask keys", "Esc leave")
    terminal.wait_until(
        lambda screen: "quokkas" in screen.lines[0] and "?" not in screen.lines[0],
        "a title in the first line, not the first words",
    )
    terminal.send("escape")
    ended = left(terminal)
    first = newest(bare)
    assert f"Session {first['id']} “{first['title']}”" in ended.after
    assert f"Resume with: hermes --resume {first['id']}" in ended.after
    assert "quokkas" in first["title"]
    assert first["end_reason"] == "cli_close"

    terminal = chat(bare, "-c")
    terminal.wait_for("Previous conversation", "You: How do I export quokkas", first["title"])
    terminal.type("And how do I search?\r")
    terminal.wait_for("Matches are highlighted in the transcript", "Esc leave")
    terminal.type("/compress\r")
    terminal.wait_for("Conversation compressed", f"{first['title']} #2")
    terminal.send("escape")
    left(terminal)
    second = newest(bare)
    assert second["title"] == f"{first['title']} #2"
    assert second["parent_session_id"] == first["id"]

    terminal = browse(bare, shows=second["title"])
    terminal.send("enter")
    terminal.wait_for("Hermes chat", "Previous conversation")
    terminal.type("How do I prune?\r")
    terminal.wait_for("Nothing is permanently deleted", "Esc leave")
    terminal.send("escape")
    terminal.wait_gone("Hermes chat")
    terminal.wait_for(second["title"], "1 conversation")
    terminal.send("ctrl+q")
    left(terminal)
    assert said(bare, second["id"])[-2] == ("user", "How do I prune?")
    assert is_whole(bare.database)


def test_coming_back_by_the_name_of_the_first_part(
    place: Home, server: DemoServer, chat: Callable[..., Terminal]
) -> None:
    talks_to(place, server)
    with SessionDB(place.database) as db:
        continued = db.store.lineage.compress(
            NUMBAT, summary="Numbats, termites.", keep_last=0, now=2e9
        )
    terminal = chat(place, "-c", "Numbats")
    terminal.wait_for("Numbats #2", "Numbats, termites.")
    terminal.type("hello\r")
    terminal.wait_for("demonstration assistant", "Esc leave")
    terminal.type("/quit\r")
    assert continued.id in left(terminal).after


# -- trouble -----------------------------------------------------------------------------------


def _patience_with(trouble: Behaviour) -> int:
    """Return the seconds after which a server counts as silent; a busy one must not."""
    return 5 if trouble in (falls_silent, hangs) else 60


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        (breaks_off, "broke"),
        (refuses(429, "slow down"), "429"),
        (refuses(401, "bad key"), "key"),
        (refuses(404, "no such model", "model_not_found"), "demo"),
        (speaks_gibberish, "127.0.0.1"),
        (falls_silent, "did not respond"),
        (hangs, "did not respond"),
    ],
    ids=["drops", "429", "401", "404", "garbage", "falls silent", "never"],
)
def test_trouble_is_a_sentence_and_loses_nothing(
    bare: Home, chat: Callable[..., Terminal], trouble: Behaviour, sentence: str
) -> None:
    with TroubleServer(trouble, times=1) as server:
        talks_to(bare, server, timeout=_patience_with(trouble))
        terminal = chat(bare)
        terminal.type("How do I search?\r")
        terminal.wait_for("/retry", sentence, "How do I search?")
        session = newest(bare)
        assert said(bare, session["id"])[0] == ("user", "How do I search?")
        terminal.type("/retry\r")
        terminal.wait_for("Matches are highlighted in the transcript", "Esc leave")
        terminal.send("escape")
        left(terminal)
    assert [role for role, _ in said(bare, session["id"])] == ["user", "assistant"]


def test_nobody_is_there(bare: Home, chat: Callable[..., Terminal]) -> None:
    with DemoServer() as gone:
        pass
    talks_to(bare, gone)
    terminal = chat(bare)
    terminal.type("hello\r")
    terminal.wait_for("/retry sends it again.", "127.0.0.1")
    terminal.send("escape")
    left(terminal)


def test_without_a_key_the_text_stays(bare: Home, chat: Callable[..., Terminal]) -> None:
    bare.configure("model: some/model\n")
    terminal = chat(bare)
    terminal.type("a long question\r")
    terminal.wait_for("There is no key", "a long question")
    terminal.send("ctrl+q")
    left(terminal)


# -- stopping and leaving ----------------------------------------------------------------------


def test_ctrl_c_stops_the_answer_and_then_leaves(bare: Home, chat: Callable[..., Terminal]) -> None:
    with TroubleServer(stalls, times=1) as server:
        talks_to(bare, server)
        terminal = chat(bare)
        terminal.type("hello\r")
        terminal.wait_for("Half an ans")
        terminal.send("ctrl+c")
        terminal.wait_for("Stopped. The partial answer is saved")
        terminal.send("ctrl+c")
        ended = left(terminal, code=130)
    session = newest(bare)
    assert f"hermes --resume {session['id']}" in ended.after
    assert said(bare, session["id"]) == [("user", "hello"), ("assistant", "Half an ans")]
    assert session["ended_at"] is not None


def test_kill_9_loses_only_the_answer_in_flight(
    bare: Home, chat: Callable[..., Terminal], server: DemoServer
) -> None:
    with TroubleServer(stalls) as stalling:
        talks_to(bare, stalling)
        terminal = chat(bare)
        terminal.type("an important thought\r")
        terminal.wait_for("Half an ans")
        terminal.signal(signal.SIGKILL)
        assert terminal.has_ended(PATIENCE)
    assert is_whole(bare.database)
    assert said(bare, newest(bare)["id"]) == [("user", "an important thought")]
    talks_to(bare, server)
    terminal = chat(bare, "-c")
    terminal.wait_for("an important thought")
    terminal.type("/retry\r")
    terminal.wait_for("demonstration assistant")


def test_nothing_said_leaves_nothing_behind(
    bare: Home, server: DemoServer, chat: Callable[..., Terminal]
) -> None:
    talks_to(bare, server)
    terminal = chat(bare)
    terminal.send("escape")
    assert "Resume with" not in left(terminal).after
    assert not bare.database.exists() or bare.titles() == {}


def test_two_terminals_on_one_file(
    bare: Home, server: DemoServer, chat: Callable[..., Terminal]
) -> None:
    talks_to(bare, server)
    one, two = chat(bare), chat(bare)
    one.type("How do I search?\r")
    two.type("How do I export?\r")
    one.wait_for("Matches are highlighted")
    two.wait_for("Add --redact")
    for terminal in (one, two):
        terminal.send("escape")
        left(terminal)
    assert len(bare.titles()) == 2
    assert is_whole(bare.database)


# -- drafts, and one step back at a time -------------------------------------------------------


def test_a_draft_survives_kill_9(
    place: Home, server: DemoServer, chat: Callable[..., Terminal]
) -> None:
    talks_to(place, server)
    terminal = chat(place, "-r", NUMBAT)
    terminal.wait_for("Numbats eat termites", "Esc leave")
    terminal.type("why only at night")
    terminal.wait_for("why only at night")
    file = drafts_file(place.database)
    eventually(
        lambda: file.exists() and "why only at night" in file.read_text(), "the draft in its file"
    )
    terminal.signal(signal.SIGKILL)
    assert terminal.has_ended(PATIENCE)

    terminal = chat(place, "-r", NUMBAT)
    terminal.wait_for("Draft restored", "why only at night")
    terminal.type("?\r")
    terminal.wait_for("demonstration assistant", "Esc leave")
    eventually(lambda: "night" not in file.read_text(), "no draft of what was sent")
    terminal.send("escape")
    left(terminal)
    assert said(place, NUMBAT)[1] == ("user", "why only at night?")


def test_ctrl_c_walks_from_the_answer_to_the_shell(place: Home, browse: Browse) -> None:
    with TroubleServer(stalls, times=1) as server:
        talks_to(place, server)
        terminal = browse(place)
        terminal.type("Numbats")
        terminal.wait_gone("Quokka habitat")
        terminal.send("enter")
        terminal.wait_for("Hermes chat", "Numbats eat termites")
        terminal.type("hello\r")
        terminal.wait_for("Half an ans", "Esc stops")
        terminal.type("one more thing")
        terminal.wait_for("one more thing")
        terminal.send("ctrl+c")
        terminal.wait_for("Stopped. The partial answer is saved", "one more thing")
        terminal.send("ctrl+c")
        terminal.wait_for("Cleared. Ctrl+Z or Up brings it back.")
        terminal.wait_gone("one more thing")
        terminal.send("ctrl+c")
        terminal.wait_gone("Hermes chat")
        terminal.send("ctrl+c")
        left(terminal, code=130)


def test_quitting_a_chat_of_the_browser_says_how_to_come_back(
    place: Home, server: DemoServer, browse: Browse
) -> None:
    talks_to(place, server)
    terminal = browse(place)
    terminal.send("ctrl+n")
    terminal.wait_for("Hermes chat", "New conversation")
    terminal.type("hello\r")
    terminal.wait_for("demonstration assistant", "Esc leave")
    terminal.send("escape")
    terminal.wait_gone("Hermes chat")
    terminal.wait_for("hello")
    terminal.send("enter")
    terminal.wait_for("Hermes chat", "Previous conversation", "demonstration assistant")
    terminal.type("/quit\r")
    assert f"Resume with: hermes --resume {newest(place)['id']}" in left(terminal).after


def test_the_agent_starts_a_new_conversation(place: Home, browse: Browse, tmp_path: Path) -> None:
    _install_agent(place, tmp_path)
    terminal = browse(place)
    terminal.send("ctrl+n")
    ended = terminal.finish()
    assert ended.code == 7 and "agent:" in ended.after and "--resume" not in ended.after


# -- in a pipe ---------------------------------------------------------------------------------


def test_a_question_through_a_pipe(bare: Home, server: DemoServer) -> None:
    talks_to(bare, server)
    done = piped(bare, "chat", text="How do I search?\n")
    session = newest(bare)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Press `/` in the browser")
    assert session["id"] in done.stderr and f"hermes -r {session['id']}" in done.stderr
    assert done.stderr.count("\n") == 1 and session["id"] not in done.stdout
    assert session["end_reason"] == "cli_close"

    done = piped(bare, "-r", session["id"], text="How do I export?")
    assert done.returncode == 0 and "--redact" in done.stdout, done.stderr
    assert [role for role, _ in said(bare, session["id"])] == ["user", "assistant"] * 2

    done = piped(bare, "chat", "-q", "How do I prune?", "--model", "other")
    assert done.returncode == 0 and "Nothing is permanently deleted" in done.stdout
    assert server.requests[-1]["model"] in ("other", "demo")
    assert newest(bare)["model"] == "other"


def test_looking_up_is_said_beside_the_answer(place: Home, server: DemoServer) -> None:
    talks_to(place, server)
    done = piped(place, "chat", text="What did we say earlier about numbats?")
    assert "searching earlier conversations for 'numbats'" in done.stderr
    assert "**Numbats**" in done.stdout and "searching earlier conversations" not in done.stdout


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [(refuses(401, "bad key"), "key"), (breaks_off, "broke"), (hangs, "did not respond")],
)
def test_trouble_in_a_pipe(bare: Home, trouble: Behaviour, sentence: str) -> None:
    with TroubleServer(trouble) as server:
        talks_to(bare, server, timeout=_patience_with(trouble))
        done = piped(bare, "chat", text="hello")
    assert done.returncode == 1
    assert done.stdout.strip() in ("", "Half an ans")
    assert sentence in done.stderr and "Traceback" not in done.stderr
    session = newest(bare)
    assert f"hermes -r {session['id']}" in done.stderr
    assert said(bare, session["id"])[0] == ("user", "hello")
    assert session["ended_at"] is not None


def test_nothing_comes_through_the_pipe(bare: Home, server: DemoServer) -> None:
    talks_to(bare, server)
    done = piped(bare, "chat", text=" \n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing to send" in done.stderr
    done = piped(bare, "chat", "--colour", "red", text="hello")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Unknown argument '--colour'" in done.stderr
    assert server.requests == []


def test_no_key_in_a_pipe(bare: Home) -> None:
    bare.configure("model: some/model\n")
    done = piped(bare, "chat", text="hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no key" in done.stderr


# -- who takes over ----------------------------------------------------------------------------


def test_the_demonstration(bare: Home, chat: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = chat(bare, "chat", "--demo")
    terminal.type("hello\r")
    terminal.wait_for("demonstration assistant")
    terminal.wait_gone("New conversation")  # the first line names the session
    terminal.wait_for("Esc leave")
    terminal.send("escape")
    assert "Resume with" not in left(terminal).after
    assert not bare.database.exists()
    assert not list(tmp_path.glob("hermes-demo-*"))


def test_a_demonstration_of_the_browser_can_be_talked_to(
    bare: Home, browse: Browse, tmp_path: Path
) -> None:
    """Without a key, and also where an agent is installed, which knows nothing of its sessions."""
    _install_agent(bare, tmp_path)
    terminal = browse(bare, "--demo", shows="demo")
    terminal.wait_for("conversations", "● You")
    terminal.send("enter")
    terminal.wait_for("Hermes chat", "Previous conversation")
    terminal.type("how do I export?\r")
    terminal.wait_for("can be imported again", "Esc leave")
    terminal.send("ctrl+q")
    assert left(terminal).code == 0
    assert not bare.database.exists()
    assert not list(tmp_path.glob("hermes-demo-*"))


def _install_agent(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "hermes").write_text(AGENT)
    (folder / "hermes").chmod(0o755)
    home.more["PATH"] = f"{HERMES.parent}:{folder}:/usr/bin:/bin"


def test_an_agent_takes_over_unless_told_otherwise(
    place: Home, server: DemoServer, tmp_path: Path
) -> None:
    talks_to(place, server)
    _install_agent(place, tmp_path)
    done = piped(place, "chat", "-q", "hello")
    assert (done.returncode, done.stdout) == (7, "agent: chat -q hello\n")
    done = piped(place, "-r", NUMBAT)
    assert done.returncode == 7 and f"agent: --resume {NUMBAT}" in done.stdout
    assert server.requests == []

    done = piped(place, "chat", "--builtin", text="How do I search?")
    assert done.returncode == 0 and "in the browser and type" in done.stdout
    done = piped(place, "-r", NUMBAT, "--builtin", text="How do I search?")
    assert done.returncode == 0 and "in the browser and type" in done.stdout

    config = (place.folder / "config.yaml").read_text()
    place.configure(f"{config}resume:\n  with: builtin\n")
    done = piped(place, "chat", text="How do I search?")
    assert done.returncode == 0 and "in the browser and type" in done.stdout
    place.configure(f"{config}resume:\n  with: agent\n")
    done = piped(place, "chat", text="How do I search?")
    assert re.match("agent: chat", done.stdout)
