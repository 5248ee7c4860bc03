"""Ways out: resuming, printing an id, Ctrl+C, signals, a crash. The terminal is given back."""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.e2e.conftest import HERMES, NUMBAT, QUOKKA, Browse, Home, Open, go_to_list
from tests.e2e.screen import ALTERNATE

AGENT = """#!/bin/sh
printf 'agent:'
for each in "$@"; do printf ' <%s>' "$each"; done
echo
test -t 0 && echo 'stdin is a terminal'
case "$(stty -a)" in *-icanon*|*-echo\\ *|*-isig*) echo 'line mode is raw' ;;
*) echo 'line mode is cooked' ;; esac
read -r line && echo "read $line"
exit 7
"""


@pytest.fixture
def agent(place: Home, tmp_path: Path) -> Home:
    """A home beside which an agent is installed, after this program on PATH."""
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "hermes").write_text(AGENT)
    (folder / "hermes").chmod(0o755)
    place.more["PATH"] = f"{HERMES.parent}:{folder}:/usr/bin:/bin"
    return place


def test_enter_hands_the_terminal_over(agent: Home, browse: Browse) -> None:
    terminal = browse(agent)
    terminal.type("termites")
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("enter")
    terminal.wait_for(f"agent: <--resume> <{NUMBAT}>", "stdin is a terminal", "is cooked")
    assert terminal.text.index("Previous Conversation") < terminal.text.index("agent:")
    assert "● You: Numbats eat termites." in terminal.text
    assert f'↻ Resumed session {NUMBAT} "Numbats"' in terminal.text
    terminal.type("hello\n")
    ended = terminal.finish()
    assert ended.code == 7 and ended.clean, ended.why
    assert "read hello" in ended.after
    with SessionDB(agent.database, read_only=True) as db:
        assert db.store.sessions.get(NUMBAT).ended_at is None


def test_a_double_click_resumes(agent: Home, browse: Browse) -> None:
    terminal = browse(agent)
    row = next(place for place, line in enumerate(terminal.lines) if "Numbats" in line)
    terminal.click(10, row)
    terminal.click(10, row)
    terminal.wait_for(f"agent: <--resume> <{NUMBAT}>")


def test_nobody_to_take_over(place: Home, browse: Browse) -> None:
    place.configure("resume:\n  with: agent\n")
    terminal = browse(place)
    terminal.type("termites")
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("enter")
    terminal.wait_until(
        lambda screen: "no Hermes Agent" in " ".join(screen.text.split()), "the reason"
    )
    terminal.wait_until(lambda screen: ALTERNATE in screen.modes, "the browser")
    terminal.wait_for("1 message in 1 conversation", "termites")  # where the person was
    with SessionDB(place.database, read_only=True) as db:
        assert db.store.sessions.get(NUMBAT).ended_at is not None
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why


def test_without_an_agent_the_built_in_chat_goes_on(place: Home, browse: Browse) -> None:
    terminal = browse(place, "--query", "termites", shows="1 message in 1 conversation")
    terminal.send("enter")
    terminal.wait_for("Hermes chat", "Numbats eat termites.")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, (ended.why, ended.after)


def test_a_command_that_is_not_there(place: Home, browse: Browse) -> None:
    place.configure("resume:\n  command: [no-such-agent-here, '{session_id}']\n")
    terminal = browse(place)
    terminal.send("enter")
    terminal.wait_for("no-such-agent-here")
    terminal.wait_until(
        lambda screen: ALTERNATE in screen.modes and "Quokka habitat" in screen.text, "the browser"
    )
    terminal.wait_for("no-such-agent-here")
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    with SessionDB(place.database, read_only=True) as db:
        assert db.store.sessions.get(QUOKKA).ended_at is not None, "nobody took it over"


def test_the_id_can_be_caught(place: Home, open_terminal: Open) -> None:
    script = f'id=$("{HERMES}" sessions browse --print-id --query termites); echo "caught[$id]"'
    terminal = open_terminal(place, "sh", "-c", script)
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("enter")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert f"caught[{NUMBAT}]" in ended.after


def test_no_choice_prints_nothing(place: Home, open_terminal: Open) -> None:
    reading, writing = os.pipe()
    terminal = open_terminal(place, HERMES, "sessions", "browse", "--print-id", stdout=writing)
    os.close(writing)
    terminal.wait_for("Quokka")
    terminal.send("escape")
    terminal.wait_for("Esc again quits")
    terminal.send("escape")
    assert terminal.finish().code == 0
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b""


# -- Ctrl+C and signals ------------------------------------------------------------------------


# Python says each module that it has loaded, so that the moment is the same on every machine.
@pytest.mark.parametrize(
    "module",
    ["argparse", "hermes_tui.cli.common.context", "apsw", "textual.geometry", "textual.app"],
)
def test_ctrl_c_while_it_starts(place: Home, open_terminal: Open, module: str) -> None:
    place.more["PYTHONPROFILEIMPORTTIME"] = "1"
    terminal = open_terminal(place, HERMES, "sessions", "browse")
    terminal.wait_written(f" {module}\r\n".encode())
    terminal.send("ctrl+c")
    ended = terminal.finish()
    assert ended.code == 130 and ended.clean, (ended.why, ended.after)
    assert b"Traceback" not in ended.output


def test_ctrl_c_as_soon_as_the_screen_opens(place: Home, open_terminal: Open) -> None:
    terminal = open_terminal(place, HERMES, "sessions", "browse")
    terminal.wait_open()
    terminal.send("ctrl+c")
    ended = terminal.finish()
    assert ended.code == 130 and ended.clean, (ended.why, ended.after)
    assert b"Traceback" not in ended.output


@pytest.mark.parametrize("where", ["list", "search", "dialog", "help", "palette"])
def test_ctrl_c_leaves_from_anywhere(place: Home, browse: Browse, where: str) -> None:
    terminal = browse(place)
    if where == "search":
        terminal.type("quokka filler marsupials")  # and at once, while it runs
    elif where == "dialog":
        terminal.send("ctrl+r")
        terminal.wait_for("characters")
    elif where == "help":
        terminal.send("f1")
        terminal.wait_for("Anywhere")
    elif where == "palette":
        terminal.send("ctrl+p")
        terminal.wait_for("Search for commands")
    else:
        go_to_list(terminal)
    terminal.send("ctrl+c")
    ended = terminal.finish()
    assert ended.code == 130 and ended.clean, (ended.why, ended.after)
    assert b"Traceback" not in ended.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(place: Home, browse: Browse, number: signal.Signals) -> None:
    terminal = browse(place)
    terminal.type("quokka")
    terminal.wait_for("Results")
    terminal.signal(number)
    ended = terminal.finish()
    assert ended.code == 128 + number
    assert ended.clean, ended.why
    assert b"Traceback" not in ended.output


def test_a_closed_window_ends_it(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    # Python itself says 120 when its last words find nobody any more.
    assert terminal.hang_up() in (128 + signal.SIGHUP, 120)
    assert not list(place.folder.rglob("*crash*"))


def test_a_closed_window_ends_it_whoever_is_told(place: Home, open_terminal: Open) -> None:
    """Only the first program of a terminal is told, and some keep that to themselves."""
    told = place.folder / "code"
    script = f"trap '' HUP; '{HERMES}' sessions browse; echo $? > '{told}'"
    terminal = open_terminal(place, "/bin/sh", "-c", script)
    terminal.wait_for("Quokka")
    terminal.hang_up()
    assert int(told.read_text()) in (128 + signal.SIGHUP, 120)


# -- a crash -----------------------------------------------------------------------------------

CRASH = """
import sys
from itertools import count
from hermes_tui.browse.session_list_widget import SessionList
drawn, calls = SessionList.item_line, count()

def item_line(self, index, line, width):
    if next(calls) > 40:
        raise RuntimeError("made to fail: \\x1b]0;PWNED\\x07")
    return drawn(self, index, line, width)

SessionList.item_line = item_line
from hermes_tui.__main__ import main
main()
"""


def test_a_crash_gives_the_terminal_back(place: Home, open_terminal: Open, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    terminal = open_terminal(place, sys.executable, script, "sessions", "browse")
    ended_soon = False
    terminal.wait_open()
    while not ended_soon:
        terminal.send("down")
        ended_soon = terminal.has_ended(0.05)
    ended = terminal.finish()
    assert ended.code == 1 and ended.clean, (ended.why, ended.after)
    assert "Traceback" not in ended.after and b"PWNED" not in ended.output
    said = " ".join(ended.after.split())
    assert "your sessions are unharmed" in said
    logs = list(place.folder.rglob("hermes-sessions-crash-*.log"))
    assert len(logs) == 1 and logs[0].name in "".join(ended.after.split())
    assert stat.S_IMODE(logs[0].stat().st_mode) == 0o600
    assert "builtins.RuntimeError" in logs[0].read_text()


# -- where no screen opens ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("theme: hermes-drak", "Did you mean 'hermes-dark'?"),
        ("keys: {renaem: f7}", "Did you mean 'rename'?"),
        ("keys: {rename: ctrl+nonsense}", "'ctrl+nonsense'"),
        ("keys: {rename: d}", "which 'delete' already has"),
        ("show: [everything]", "allowed are"),
        ("sort: sideways", "browse.sort"),
    ],
)
def test_a_wrong_setting_is_said_and_nothing_opens(
    place: Home, open_terminal: Open, settings: str, said: str
) -> None:
    place.configure(f"browse:\n  {settings}\n")
    terminal = open_terminal(place, HERMES, "sessions", "browse")
    ended = terminal.finish()
    assert ended.code == 1 and ended.clean, ended.why
    assert said in " ".join(ended.after.split())
    assert b"\x1b" not in ended.output and b"Traceback" not in ended.output


def _is_plain(terminal_output: bytes) -> bool:
    return (
        b"Quokka habitat" in terminal_output
        and b"The browser needs a terminal" in terminal_output
        and b"\x1b[?1049h" not in terminal_output
    )


def test_a_dumb_terminal_gets_a_plain_list(place: Home, open_terminal: Open) -> None:
    place.more["TERM"] = "dumb"
    ended = open_terminal(place, HERMES, "sessions", "browse").finish()
    assert ended.code == 0 and _is_plain(ended.output)
    assert b"\x1b" not in ended.output


def test_without_a_keyboard_there_is_a_plain_list(place: Home, open_terminal: Open) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    ended = open_terminal(place, HERMES, "sessions", "browse", stdin=nothing).finish()
    os.close(nothing)
    assert ended.code == 0 and _is_plain(ended.output)


def test_into_a_pipe_goes_a_plain_list(place: Home, open_terminal: Open) -> None:
    reading, writing = os.pipe()
    terminal = open_terminal(place, HERMES, "sessions", "browse", stdout=writing)
    os.close(writing)
    ended = terminal.finish()
    with os.fdopen(reading, "rb") as file:
        piped = file.read()
    assert ended.code == 0 and b"Quokka habitat" in piped and b"\x1b" not in piped
    assert "The browser needs a terminal" in ended.after


def test_print_id_without_a_terminal_does_not_hang(place: Home, open_terminal: Open) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    terminal = open_terminal(place, HERMES, "sessions", "browse", "--print-id", stdin=nothing)
    os.close(nothing)
    assert terminal.finish().code in (0, 1)
