"""Walks as a new user takes them, in a large, a usual and a small terminal.

`make recordings` keeps each of them as a film.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.e2e.conftest import HERMES, NUMBAT, QUOKKA, Browse, Home, Open, eventually
from tests.e2e.terminal import Terminal

FIRST = re.compile(r"Filler number 0 |island, as /srv/quokka/map\.txt\s*$", re.MULTILINE)
LARGE, USUAL, SMALL = (120, 36), (80, 24), (40, 12)
SIZES = pytest.mark.parametrize("size", [LARGE, USUAL, SMALL], ids=["120x36", "80x24", "40x12"])


def leave(terminal: Terminal) -> None:
    """Quit, and find the terminal as it was: echo, lines, main screen, cursor, no mouse."""
    terminal.send("ctrl+q")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert "Traceback" not in ended.after


def search(terminal: Terminal, text: str) -> None:
    """Type a search that only the quokkas answer, and wait for it."""
    terminal.type(text)
    terminal.wait_gone("Numbats")
    terminal.wait_for("Quokka")


@SIZES
def test_find_and_read_at_the_match(place: Home, browse: Browse, size: tuple[int, int]) -> None:
    terminal = browse(place, size=size)
    search(terminal, "rottnest")
    terminal.send("tab")
    terminal.send("tab")  # from the results to the reading pane
    terminal.wait_until(
        # The end is sixty messages away; it was on screen before the search.
        lambda screen: bool(FIRST.search(screen.text)) and "eucalyptus" not in screen.text,
        "the match",
    )
    leave(terminal)


@SIZES
def test_rename_from_the_search(place: Home, browse: Browse, size: tuple[int, int]) -> None:
    terminal = browse(place, size=size)
    search(terminal, "rottnest")
    terminal.send("ctrl+r")
    terminal.wait_for("Rename")
    terminal.type("Small and happy")
    terminal.wait_for("Small and happy")
    terminal.send("enter")
    eventually(lambda: place.titles()[QUOKKA] == "Small and happy", "the new title")
    terminal.wait_gone("Rename ")
    terminal.send("ctrl+z")
    eventually(lambda: place.titles()[QUOKKA] == "Quokka habitat", "the old title")
    leave(terminal)


@SIZES
def test_delete_three_and_take_it_back(place: Home, browse: Browse, size: tuple[int, int]) -> None:
    before = place.titles()
    terminal = browse(place, size=size)
    terminal.send("tab")
    for _ in range(3):
        terminal.send("space")
    terminal.send("d")
    terminal.wait_for("Delete 3 conversations", "3 sessions")
    terminal.send("y")
    eventually(lambda: len(place.titles()) == len(before) - 3, "three fewer")
    assert not {QUOKKA, NUMBAT} & set(place.titles())
    terminal.send("u")
    eventually(lambda: place.titles() == before, "all three again")
    leave(terminal)


@SIZES
def test_delete_three_and_restore_one_from_the_trash(
    place: Home, browse: Browse, size: tuple[int, int]
) -> None:
    before = set(place.titles())
    terminal = browse(place, size=size)
    terminal.send("tab")
    for _ in range(3):
        terminal.send("space")
    terminal.send("d")
    terminal.wait_for("Delete 3 conversations", "3 sessions")
    terminal.send("y")
    eventually(lambda: len(place.titles()) == len(before) - 3, "three fewer")
    left = set(place.titles())
    terminal.wait_gone("Numbats")
    terminal.send("f4")
    terminal.wait_for("Trash", "Numbats")
    terminal.send("enter")  # the marked one of the three
    eventually(lambda: left < set(place.titles()), "one again")
    assert set(place.titles()) < before and len(place.titles()) == len(left) + 1
    leave(terminal)


def test_a_window_that_is_dragged(place: Home, browse: Browse) -> None:
    terminal = browse(place, size=LARGE)
    search(terminal, "rottnest")
    for _ in range(4):
        for columns, rows in (SMALL, (20, 5), USUAL, (200, 50), SMALL, LARGE):
            terminal.resize(columns, rows)
        terminal.wait_for("rottnest", "Quokka", "Recap", "Info", "F1 help")
    terminal.send("ctrl+r")
    terminal.wait_for("Rename")
    terminal.resize(*SMALL)
    terminal.wait_for("Rename")
    terminal.type("Smaller")
    terminal.wait_for("Smaller")
    terminal.resize(*USUAL)
    terminal.wait_for("Smaller")
    terminal.send("enter")
    eventually(lambda: place.titles()[QUOKKA] == "Smaller", "the new title")
    leave(terminal)


@SIZES
@pytest.mark.parametrize("way", ["q", "escape", "ctrl+q"])
def test_every_way_out_leaves_the_terminal_clean(
    place: Home, browse: Browse, size: tuple[int, int], way: str
) -> None:
    terminal = browse(place, size=size)
    if way == "escape":
        terminal.send("escape")
        terminal.wait_for("again quits")
    elif way == "q":
        terminal.send("tab")
    terminal.send(way)
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    with SessionDB(place.database, read_only=True) as db:
        assert db.get_session_title(QUOKKA) == "Quokka habitat"


def test_a_walk_can_be_recorded(
    place: Home, open_terminal: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "films"
    monkeypatch.setenv("HERMES_RECORD", str(folder))
    for _ in range(2):
        terminal = open_terminal(place, HERMES, "sessions", "browse", size=USUAL)
        terminal.wait_for("Quokka")
        terminal.resize(*LARGE)
        terminal.send("ctrl+q")
        terminal.finish()
        terminal.close()
    name = "test_walks-test_a_walk_can_be_recorded"
    assert {path.name for path in folder.iterdir()} == {f"{name}.cast", f"{name}-2.cast"}
    header, *steps = map(json.loads, (folder / f"{name}.cast").read_text().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, *USUAL)
    times = [step[0] for step in steps]
    assert times == sorted(times) and times[0] >= 0
    assert [step[2] for step in steps if step[1] == "r"] == ["120x36"]
    written = "".join(step[2] for step in steps if step[1] == "o")
    assert "Quokka" in written and "\x1b[?1049l" in written
