"""What a person does all day: search, read, rename, delete, undo, clean up."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from tests.e2e.conftest import (
    HERMES,
    NUMBAT,
    POTOROO,
    QUOKKA,
    Browse,
    Home,
    Open,
    eventually,
    go_to_list,
)
from tests.e2e.terminal import Terminal


def test_typing_searches_and_escape_clears(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.type("quokka rottnest")
    terminal.wait_for("Results", "1 message in 1 conversation", "On Rottnest island")
    terminal.wait_gone("Numbats")
    terminal.send("escape")
    terminal.wait_for("Conversations", "Numbats")
    terminal.wait_gone("Results", "rottnest")


SLOW_TERMINAL = """
import termios, time
change = termios.tcsetattr
termios.tcsetattr = lambda *arguments: (time.sleep(0.4), change(*arguments))
"""
SLOW_DISK = """
import time
from hermes_tui.opening import first_list_rows as first_page
read = first_page.read_head
first_page.read_head = lambda *arguments: (time.sleep(1), read(*arguments))[1]
from hermes_tui.browse import list_pane
list_pane.read_head = first_page.read_head
"""
BROWSE = """
import sys
from hermes_tui.__main__ import main
sys.argv = ["hermes", "sessions", "browse"]
main()
"""


@pytest.mark.parametrize("slow", [SLOW_TERMINAL, SLOW_DISK], ids=["terminal", "disk"])
def test_a_slow_machine_loses_no_key(place: Home, open_terminal: Open, slow: str) -> None:
    terminal = open_terminal(place, sys.executable, "-c", slow + BROWSE)
    terminal.wait_open()
    terminal.send("tab", "ctrl+r")
    terminal.wait_for("14 of 100 characters")
    terminal.send("escape")
    terminal.wait_gone("14 of 100 characters")
    terminal.send("ctrl+q")
    assert terminal.finish().clean


def test_what_is_typed_too_early_is_not_lost(place: Home, open_terminal: Open) -> None:
    terminal = open_terminal(place, HERMES, "sessions", "browse")
    terminal.type("termites")  # into a terminal that nobody reads yet
    terminal.wait_for("Results", "1 message in 1 conversation")
    terminal = open_terminal(place, HERMES, "sessions", "browse")
    terminal.wait_open()
    terminal.send("tab", "ctrl+r")  # onto a screen that is half made
    terminal.wait_for("14 of 100 characters")


def test_paths_are_found_and_a_typo_is_explained(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.type("/srv/quokka/map.txt")
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("escape")
    terminal.wait_for("Numbats")
    terminal.type("wombatological")
    terminal.wait_for("Nothing found")


def test_the_transcript_opens_at_the_match(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.type("rottnest")
    terminal.wait_for("1 message in 1 conversation")
    terminal.wait_for("● You", "Where do quokkas live?", "Filler number 0 ")
    terminal.wait_gone("eucalyptus")  # the end is sixty messages away


def test_a_transcript_opens_at_its_end_and_goes_to_its_beginning(
    place: Home, browse: Browse
) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.wait_read("the last word is eucalyptus")
    terminal.send("tab")
    terminal.wait_for("next turn")
    terminal.send("home")
    terminal.wait_for("Where do quokkas live?", "Filler number 0 ")


def test_every_page_shows_the_marked_conversation(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.send("ctrl+t", "ctrl+t")
    terminal.wait_for("newest, this one")
    terminal.send("ctrl+t")
    terminal.wait_for(f"hermes -r {QUOKKA}", "beside the database")
    terminal.send("ctrl+t")
    terminal.wait_read("And the last word is eucalyptus.")
    terminal.send("ctrl+t")
    terminal.wait_for("● You: And the last word is eucalyptus.")
    terminal.send("down")
    terminal.wait_for("● You: Numbats eat termites.")


def test_rename_changes_the_database(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.send("ctrl+r")
    terminal.wait_for("Rename", "14 of 100 characters")
    terminal.type("Numbats")
    terminal.wait_for("7 of 100 characters", "in use by session", NUMBAT)
    terminal.type(" and quokkas")
    terminal.wait_for("19 of 100 characters")
    terminal.send("enter")
    terminal.wait_for("Renamed to", "Numbats and quokkas")
    assert place.titles()[QUOKKA] == "Numbats and quokkas"
    assert place.titles()[NUMBAT] == "Numbats"


def _delete_first(terminal: Terminal) -> None:
    terminal.send("ctrl+d")
    terminal.wait_for("“Quokka habitat” moved to trash — ^z undo")


def test_delete_and_undo(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    _delete_first(terminal)
    assert QUOKKA not in place.titles()
    terminal.wait_read("Numbats eat termites.")  # the next one is marked
    terminal.send("ctrl+z")
    terminal.wait_for("restored", "Quokka habitat")
    with SessionDB(place.database, read_only=True) as db:
        assert db.get_session_title(QUOKKA) == "Quokka habitat"
        assert db.message_count(QUOKKA) == 62


def test_several_are_deleted_after_a_question(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.send("x", "x", "d")
    terminal.wait_for("Delete 2 conversations", "63 messages", "▸Delete◂")
    terminal.send("n")
    terminal.wait_gone("Delete 2 conversations")
    assert QUOKKA in place.titles()
    terminal.send("d")
    terminal.wait_for("Delete 2 conversations", "63 messages")
    terminal.send("left", "right", "enter")
    terminal.wait_for("2 conversations moved to trash — ^z undo")
    assert not {QUOKKA, NUMBAT} & set(place.titles())
    terminal.send("u")
    terminal.wait_for("Undone: 2 conversations restored", "Quokka habitat")
    assert {QUOKKA, NUMBAT} <= set(place.titles())


def test_what_was_deleted_can_be_brought_back_from_the_trash(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    _delete_first(terminal)
    terminal.send("f4")
    terminal.wait_for("Trash", "Quokka habitat", "Deleted just now · 1 conversation")
    terminal.send("enter")
    terminal.wait_for("Restored “Quokka habitat” — ^z undo")
    assert QUOKKA in place.titles()


def test_prune_takes_what_it_shows(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    before = set(place.titles())
    terminal.send("f2")
    terminal.wait_for("Delete old conversations", "Potoroo, very old", "can be undone")
    terminal.send("backspace")  # the 90 is selected
    terminal.wait_for("34 conversations")
    terminal.type("400")
    terminal.wait_for("1 conversation, 1 message")
    terminal.send("enter")
    terminal.wait_for("▸Delete◂")
    terminal.send("enter")
    terminal.wait_gone("Delete old conversations")
    terminal.wait_for("1 conversation moved to trash")
    assert before - set(place.titles()) == {POTOROO}
    terminal.send("ctrl+z")
    terminal.wait_for("restored")
    assert set(place.titles()) == before


def test_export_writes_a_file(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    terminal.send("e")
    terminal.wait_for("Export", "JSON lines")
    terminal.send("tab", "tab", "tab")
    terminal.send("enter")
    terminal.wait_for("1 session exported")
    written = place.folder.parent / f"{QUOKKA}.jsonl"
    assert "eucalyptus" in written.read_text()


def test_escape_steps_back_to_the_shell(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.type("marsupials")
    terminal.wait_for("Results")
    go_to_list(terminal)
    terminal.wait_for("● You  ")
    terminal.send("tab")
    terminal.wait_for("next turn")
    terminal.send("escape")  # leaves the page
    terminal.wait_for(" u undo")
    terminal.send("escape")  # clears the search
    terminal.wait_gone("Results")
    terminal.wait_for("^r rename")
    terminal.send("escape")  # one too many
    terminal.wait_for("Esc again quits")
    terminal.send("escape")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
def test_quitting(place: Home, browse: Browse, key: str) -> None:
    terminal = browse(place)
    if key == "q":
        terminal.send("q")  # in the search pane it is a letter like any other
        terminal.wait_for("Results")
        go_to_list(terminal)
    terminal.send(key)
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert "Traceback" not in ended.after


def test_read_only_refuses_every_change(place: Home, browse: Browse) -> None:
    before = place.titles()
    terminal = browse(place, "--read-only")
    terminal.wait_for("read-only")
    go_to_list(terminal)
    for key in ("ctrl+r", "ctrl+d", "ctrl+z", "f2"):
        terminal.send("o")
        terminal.wait_for("Sorted by")
        terminal.send(key)
        terminal.wait_for("opened with --read-only")
    assert place.titles() == before


def test_a_source_a_limit_and_a_search_to_begin_with(place: Home, browse: Browse) -> None:
    with SessionDB(place.database) as db:
        db.store.sessions.start("20260102_a", "telegram")
        db.append_message("20260102_a", "user", "A dingo on the telegraph")
    terminal = browse(place, "--source", "telegram", shows="A dingo")
    terminal.wait_for("Conversations · telegram")
    terminal.wait_gone("Quokka")
    terminal.send("ctrl+q")
    assert terminal.finish().code == 0
    terminal = browse(place, "--limit", "2", shows="2 conversations")
    terminal.wait_for("A dingo", "Quokka habitat")
    terminal.wait_gone("Numbats")
    terminal = browse(place, "--query", "termites", shows="1 message in 1 conversation")
    terminal.wait_for("Numbats")
    terminal.wait_gone("Quokka")


def _row_of(terminal: Terminal, text: str) -> int:
    return next(place for place, line in enumerate(terminal.lines) if text in line)


def test_a_click_marks_a_row_and_the_wheel_scrolls(place: Home, browse: Browse) -> None:
    terminal = browse(place, size=(120, 20))
    terminal.wait_read("Filler number")
    terminal.click(10, _row_of(terminal, "Numbats"))
    terminal.wait_read("Numbats eat termites.")
    row = _row_of(terminal, "Numbats  ")
    for _ in range(8):
        terminal.wheel(10, row)
    terminal.wait_gone("Quokka habitat", "Numbats  ")
    for _ in range(8):
        terminal.wheel(10, row, down=False)
    terminal.wait_for("Quokka habitat", "Numbats  ")


def test_the_palette_and_help_name_the_keys(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.send("ctrl+p")
    terminal.wait_for("Search for commands")
    terminal.type("trash")
    terminal.wait_for("Open the trash  (F4)")
    terminal.send("escape")
    terminal.wait_gone("Open the trash")
    terminal.send("f1")
    terminal.wait_for("Anywhere", "Resume the conversation.")


def test_no_colour_means_none(place: Home, browse: Browse) -> None:
    place.more["NO_COLOR"] = "1"
    terminal = browse(place)
    terminal.type("quokka")
    terminal.wait_for("Results")
    go_to_list(terminal)
    terminal.wait_for("● You")
    terminal.send("f2")
    terminal.wait_for("Delete old conversations", "can be undone")
    terminal.send("enter")
    terminal.wait_for("▸Delete◂")
    terminal.send("ctrl+q")
    assert coloured(terminal.finish().output) == []


_COLOURS = {*range(30, 39), *range(40, 49), *range(90, 108)}


def coloured(output: bytes) -> list[bytes]:
    """Return the sequences in some output that set a colour."""
    found = []
    for sequence in re.findall(rb"\x1b\[([0-9;:]*)m", output):
        numbers = [int(each) for each in re.split(rb"[;:]", sequence) if each]
        if any(
            (30 <= each <= 49 and each not in (39, 49)) or 90 <= each <= 107 for each in numbers
        ):
            found.append(sequence)
    return found


def test_keys_can_be_changed(place: Home, browse: Browse) -> None:
    place.configure("browse:\n  keys: {rename: f7}\n")
    terminal = browse(place)
    terminal.send("tab")
    terminal.wait_for("F7 rename")
    terminal.send_raw(b"\x1b[18~")
    terminal.wait_for("14 of 100 characters")


def test_the_search_is_remembered(place: Home, browse: Browse, tmp_path: Path) -> None:
    place.configure("resume:\n  command: ['true']\n")
    terminal = browse(place)
    terminal.type("termites")
    terminal.wait_for("1 message in 1 conversation")
    terminal.send("enter")
    assert terminal.finish().code == 0
    terminal = browse(place)
    eventually(lambda: _recalls(terminal), "the earlier search")


def _recalls(terminal: Terminal) -> bool:
    terminal.send("up")
    return "termites" in terminal.lines[1]
