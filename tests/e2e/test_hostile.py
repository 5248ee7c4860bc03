"""Content is text: nothing that a database holds reaches the terminal as a command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import hostile
from tests.e2e.conftest import (
    HERMES,
    Browse,
    Home,
    Open,
    eventually,
    go_to_list,
    made_once,
)
from tests.e2e.terminal import Terminal

_TURN, _RECAP = re.compile(r"turn \d+ of \d"), re.compile("(● You|◆ Hermes):")


@pytest.fixture(scope="session")
def hostile_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hostile database."""
    return made_once(tmp_path_factory, "hostile", hostile.fill)


@pytest.fixture
def trap(home: Path, hostile_sample: Path) -> Iterator[Home]:
    """A home with the hostile database."""
    shutil.copytree(hostile_sample, home)
    yield Home(home)
    shutil.rmtree(home)


@pytest.fixture
def terminal(trap: Home, browse: Browse) -> Terminal:
    """The browser, with the hostile database in it."""
    return browse(trap, shows="hostile_")


def leave(terminal: Terminal) -> None:
    """Quit, which shows that the program still answers, and look at all that it wrote."""
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, (ended.why, ended.after)
    assert hostile.escaped(ended.output) == []
    assert hostile.MARK.encode() in ended.output, "it was never shown"


def wait_transcript(terminal: Terminal) -> None:
    """Wait for the transcript, which says which turn is shown."""
    terminal.wait_until(lambda screen: bool(_TURN.search(screen.text)), "a transcript")


def walk_tabs(terminal: Terminal) -> None:
    """Look at all four pages of the marked conversation, from the transcript on."""
    wait_transcript(terminal)
    terminal.send("ctrl+t")
    terminal.wait_until(lambda screen: bool(_RECAP.search(screen.text)), "a recap")
    terminal.send("ctrl+t")
    terminal.wait_until(lambda screen: not _RECAP.search(screen.text), "the lineage")
    terminal.send("ctrl+t")
    terminal.wait_for("Status       done")
    terminal.send("ctrl+t")
    wait_transcript(terminal)


def test_the_test_itself_sees_escapes() -> None:
    for name in ("title", "clipboard", "link", "c1", "erase", "query", "controls", "bidi"):
        assert hostile.escaped(hostile.PAYLOADS[name].encode()), name
    assert hostile.escaped(b"\xed\xa0\x80")
    assert not hostile.escaped("\x1b[1;31mfür [red] \x1b[3;4H👩\u200d👩\r\n\t".encode())


def test_the_list_and_all_pages(terminal: Terminal) -> None:
    go_to_list(terminal)
    for _ in range(hostile.SESSIONS + 1):
        walk_tabs(terminal)
        terminal.send("down")
    terminal.send("O")
    terminal.wait_for("Grouped by")
    leave(terminal)


def test_search_with_snippets(terminal: Terminal) -> None:
    terminal.type(hostile.WORD)
    terminal.wait_for("Results", "messages in ")
    go_to_list(terminal)
    walk_tabs(terminal)
    for key in ("n", "n", "N", "down", "n"):
        terminal.send(key)
    terminal.send("escape")
    terminal.wait_gone("Results")
    terminal.type(f"source:src {hostile.PAYLOADS['markup']} model:model")
    terminal.wait_for("[@click=app.quit]")
    leave(terminal)


def test_everything_open_in_the_transcript(terminal: Terminal) -> None:
    go_to_list(terminal)
    wait_transcript(terminal)
    terminal.send("tab")
    terminal.wait_for("next turn")
    terminal.send("Z")
    terminal.wait_for("▾ ")
    terminal.send("home")
    terminal.wait_for("● You")
    for _ in range(30):
        terminal.send("pagedown")
    terminal.wait_for("answered")
    leave(terminal)


def _page_to(terminal: Terminal, text: str) -> None:
    def look() -> bool:
        terminal.send("pagedown")
        return text in terminal.text

    eventually(look, text)


@pytest.mark.parametrize("name", ["hostile_long", "hostile_lines"])
def test_messages_without_end(trap: Home, browse: Browse, name: str) -> None:
    terminal = browse(trap, "--query", f"id:{name}", shows="1 conversation")
    go_to_list(terminal)
    terminal.send("tab", "1")
    wait_transcript(terminal)
    terminal.wait_for("next turn")
    _page_to(terminal, "Enter opens")
    terminal.send("enter")
    terminal.wait_gone("Enter opens")
    for key in ("pagedown", "end", "home", "pagedown", "pageup", "enter"):
        terminal.send(key)
    _page_to(terminal, "Enter opens")
    leave(terminal)


def test_rename_delete_trash_and_prune(terminal: Terminal) -> None:
    go_to_list(terminal)
    for step in ("home", "down", "down"):
        terminal.send(step)
        terminal.send("r")
        terminal.wait_for("of 100 characters")
        terminal.send("escape")
        terminal.wait_gone("of 100 characters")
    terminal.send("home")
    terminal.send("d")
    terminal.wait_for("moved to trash")
    terminal.send("f4")
    terminal.wait_for("· 1 conversation", "Restore all")
    terminal.send("escape")
    terminal.wait_gone("Restore all")
    terminal.send("f2")
    terminal.wait_for("Delete old conversations")
    terminal.send("backspace")
    terminal.wait_for("can be undone")
    terminal.send("escape")
    terminal.wait_gone("Delete old conversations")
    terminal.send("u")
    terminal.wait_for("restored")
    leave(terminal)


def test_export_stats_searches_palette_and_help(terminal: Terminal) -> None:
    go_to_list(terminal)
    for key, shows in (
        ("e", "JSON lines"),
        ("f3", "Figures"),
        ("f6", "Move up"),
        ("t", "Space-separated; empty clears"),
        ("f9", "Settings"),
        ("ctrl+p", "Search for commands"),
        ("f1", "Type to filter"),
    ):
        terminal.send(key)
        terminal.wait_for(shows)
        terminal.send("escape")
        terminal.wait_gone(shows)
    leave(terminal)


def test_unfolded_renamed_and_selected_rows(terminal: Terminal) -> None:
    go_to_list(terminal)
    terminal.send("H")
    terminal.wait_for("Showing all conversations")
    for key in ("right", "space", "down", "right", "space", "O", "O", "O", "o"):
        terminal.send(key)
    terminal.wait_for("selected")
    leave(terminal)


def test_the_recap_before_resuming(trap: Home, browse: Browse) -> None:
    trap.configure("resume:\n  command: [echo, mine]\n")
    terminal = browse(trap, shows="hostile_")
    terminal.send("enter")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert "Previous Conversation" in ended.after and "mine" in ended.after
    assert hostile.escaped(ended.output) == []


def test_the_plain_list(trap: Home, open_terminal: Open) -> None:
    trap.more["TERM"] = "dumb"
    ended = open_terminal(trap, HERMES, "sessions", "browse").finish()
    assert ended.code == 0 and hostile.escaped(ended.output) == []
    assert hostile.MARK.encode() in ended.output
