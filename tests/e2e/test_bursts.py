"""Keys that arrive in one read, as from a slow line: each is applied in the order it was typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hermes_tui.demo.model_server import DemoServer
from tests.e2e.conftest import (
    HERMES,
    NUMBAT,
    QUOKKA,
    Browse,
    Home,
    Open,
    eventually,
    go_to_list,
)
from tests.e2e.terminal import KEYS, Terminal

PASTE = "\x1b[200~{}\x1b[201~"


def burst(terminal: Terminal, *keys: str) -> None:
    """Press keys by name, and type texts, all in one write."""
    terminal.send_raw(b"".join(KEYS.get(key, key.encode()) for key in keys))


def field(terminal: Terminal) -> str:
    """Return what stands in the search field, in a frame or without one."""
    lines = terminal.lines
    row = 2 if lines[1].startswith("╭") else 1
    return lines[row].strip("│❯ ").split("  ")[0]


def wait_field(terminal: Terminal, text: str) -> None:
    """Wait until the search field holds a text."""
    terminal.wait_until(lambda _: field(terminal) == text, repr(text))


EDITED = [
    pytest.param(["xyz", *["backspace"] * 3, "abc"], "abc", id="backspace"),
    pytest.param(["docker", "left", "left", "X"], "dockXer", id="arrows"),
    pytest.param(["ello", "home", "H", "end", "!"], "Hello!", id="home-and-end"),
    pytest.param(["one two", "ctrl+w", "three", "ctrl+u", "four"], "four", id="whole-words"),
    pytest.param(["ab", "home", "delete", "c", "right", "d"], "cbd", id="delete"),
    pytest.param(["日本", "backspace", "曜日é"], "日曜日é", id="wide-letters"),
    pytest.param(["a", PASTE.format("pasted"), "left", "X", "end", "z"], "apasteXdz", id="paste"),
]


@pytest.mark.parametrize(("keys", "expected"), EDITED)
def test_letters_do_not_overtake_editing_keys_in_the_search(
    place: Home, browse: Browse, keys: list[str], expected: str
) -> None:
    terminal = browse(place)
    burst(terminal, *keys)
    wait_field(terminal, expected)


@pytest.mark.parametrize(("keys", "expected"), EDITED)
def test_letters_do_not_overtake_editing_keys_in_a_dialog(
    place: Home, browse: Browse, keys: list[str], expected: str
) -> None:
    terminal = browse(place)
    burst(terminal, "ctrl+r", *keys, "enter")
    terminal.wait_for("Renamed to")
    assert place.titles()[QUOKKA] == expected


def test_what_follows_enter_edits_the_next_dialog(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    burst(terminal, "r", "First", "enter", "j", "r", "Second", "enter")
    eventually(lambda: place.titles()[NUMBAT] == "Second", "the second title")
    assert place.titles()[QUOKKA] == "First"


def test_a_text_and_enter_resume_what_the_text_finds(place: Home, open_terminal: Open) -> None:
    script = f'id=$("{HERMES}" sessions browse --print-id); echo "caught[$id]"'
    terminal = open_terminal(place, "sh", "-c", script)
    terminal.wait_for("Quokka")
    burst(terminal, "quokX", "backspace", "ka", *["backspace"] * 6, "termites", "enter")
    ended = terminal.finish()
    assert ended.code == 0 and ended.clean, ended.why
    assert f"caught[{NUMBAT}]" in ended.after


def test_a_key_waits_for_the_results_an_earlier_one_needs(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    burst(terminal, "termites", "ctrl+r", "Banded anteaters", "enter")
    terminal.wait_for("Renamed to")
    assert place.titles()[NUMBAT] == "Banded anteaters"
    assert place.titles()[QUOKKA] == "Quokka habitat"
    wait_field(terminal, "termites")


def test_tab_takes_the_keys_to_the_list(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    burst(terminal, "marsupials", "tab", "j", "k")
    terminal.wait_for("1 conversation", " u undo")
    wait_field(terminal, "marsupials")
    burst(terminal, "shift+tab", "!", "tab", "j", "/", "?")
    wait_field(terminal, "marsupials!?")


def test_a_slash_takes_the_keys_to_the_search(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    go_to_list(terminal)
    burst(terminal, "j", "/", "termites")
    terminal.wait_for("1 message in 1 conversation")
    wait_field(terminal, "termites")


def test_escape_comes_after_what_was_typed(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    terminal.type("t")
    terminal.wait_for("Results")
    burst(terminal, "ermitesX", "backspace", "escape")
    terminal.wait_gone("Results")
    terminal.wait_for("Type to search", "Quokka")
    terminal.type("q")
    wait_field(terminal, "q")


def test_nothing_overtakes_ctrl_c(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    burst(terminal, "ctrl+r", "Kept", "enter")
    eventually(lambda: place.titles()[QUOKKA] == "Kept", "the title")
    burst(terminal, "ctrl+r", "Not kept", "ctrl+c", "enter")
    ended = terminal.finish()
    assert ended.code == 130 and ended.clean, ended.why
    assert place.titles()[QUOKKA] == "Kept"


def test_keys_that_were_changed_keep_their_place(place: Home, browse: Browse) -> None:
    place.configure("browse:\n  keys: {rename-now: f9, settings: f12}\n")
    terminal = browse(place)
    burst(terminal, "termites", "f9", "Numb", "left", "left", "X", "enter")
    terminal.wait_for("Renamed to")
    assert place.titles()[NUMBAT] == "NuXmb"


def test_keys_of_the_kitty_protocol(place: Home, browse: Browse) -> None:
    place.more["TEXTUAL_DISABLE_KITTY_KEY"] = "0"
    terminal = browse(place)
    letters = {letter: f"\x1b[{ord(letter)};;{ord(letter)}u" for letter in "xyzabc"}
    keys = [*"xyz", *["\x1b[127u"] * 3, *"ab", "\x1b[D", "c"]
    burst(terminal, *(letters.get(key, key) for key in keys))
    wait_field(terminal, "acb")


def test_a_long_burst_arrives_whole(place: Home, browse: Browse) -> None:
    terminal = browse(place)
    for word in ("quokka", "numbat", "potoroo"):
        burst(terminal, *(each for _ in range(20) for each in (word, *["backspace"] * len(word))))
        burst(terminal, word, "ctrl+u")
    burst(terminal, "wombat")
    wait_field(terminal, "wombat")


# -- the chat ----------------------------------------------------------------------------------


@pytest.fixture
def talking(bare: Home, open_terminal: Open) -> Iterator[Callable[[], Terminal]]:
    """Start a chat that answers at once."""
    with DemoServer(delay=0) as server:
        bare.configure(f"model:\n  default: demo\n  base_url: {server.base_url}\n  retries: 0\n")

        def start() -> Terminal:
            terminal = open_terminal(bare, HERMES)
            terminal.wait_open()
            terminal.wait_for("Hermes chat", "Type a message")
            return terminal

        yield start


def test_a_message_is_edited_in_order_and_sent(talking: Callable[[], Terminal]) -> None:
    terminal = talking()
    burst(
        terminal, "xyz", *["backspace"] * 3, "How do I ex", "ctrl+j", "backspace", "rt?",
        "left", "left", "left", "po", "home", "So: ", "enter",
    )  # fmt: skip
    terminal.wait_for("So: How do I export?", "Add --redact to mask keys")


def test_a_message_of_two_lines_and_undo(talking: Callable[[], Terminal]) -> None:
    terminal = talking()
    burst(terminal, "first", "ctrl+j", "second", "up", "X", "down", "end", "Y")
    terminal.wait_for("firstX", "secondY")
    burst(terminal, "ctrl+u", "third", "left", "Z")
    terminal.wait_for("firstX", "thirZd")
    terminal.wait_gone("secondY")


def test_a_command_and_what_follows_it(talking: Callable[[], Terminal]) -> None:
    terminal = talking()
    burst(terminal, "/he", "tab", "enter", "more", "backspace", "X")
    terminal.wait_for("/export", "morX")
    assert "/help" not in terminal.lines[-3]


def test_a_search_that_is_resumed_gets_the_rest(place: Home, browse: Browse) -> None:
    with DemoServer(delay=0) as server:
        place.configure(f"model:\n  default: demo\n  base_url: {server.base_url}\n  retries: 0\n")
        terminal = browse(place)
        burst(terminal, "termites", "enter", "And what do they drunk", "backspace", "backspace")
        terminal.wait_for("Hermes chat", "Numbats", "And what do they dru")
        terminal.wait_gone("drunk")
        burst(terminal, *["backspace"] * 3, "eat?", "enter")
        terminal.wait_for("And what do they eat?")
