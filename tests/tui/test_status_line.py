"""The status line: hints that can be clicked, and messages that cover nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_tui.dialogs.help import HelpScreen
from hermes_tui.dialogs.rename import RenameDialog
from tests.tui import stock
from tests.tui.running import drive, listed, main, make_app, page, press


@pytest.fixture
def two(path: Path) -> Path:
    """A file with two conversations."""
    stock.several(path, "one", "two")
    return path


async def click_word(pilot: Pilot[Any], word: str) -> None:
    """Click on a word of the last line."""
    last = page(pilot)[-1]
    assert word in last, last
    await pilot.click(offset=(last.index(word), pilot.app.size.height - 1))
    await press(pilot)


def test_a_message_stands_right_of_the_hints(two: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        hints = page(pilot)[-1].rstrip()
        assert "resume" in hints and "help" in hints
        main(pilot).say("Something happened.")
        await press(pilot)
        last = page(pilot)[-1]
        assert last.rstrip().endswith("Something happened.")
        assert "resume" in last and "help" in last
        assert not pilot.app._notifications
        main(pilot).status.clear()
        await press(pilot)
        assert page(pilot)[-1].rstrip() == hints

    drive(make_app(two), script)


def test_a_message_comes_before_the_hints_where_room_is_short(two: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        main(pilot).say("12 conversations moved to trash")
        await press(pilot)
        assert page(pilot)[-1].strip() == "12 conversations moved to trash"

    drive(make_app(two), script, size=(40, 12))


def test_a_long_message_takes_more_lines_and_covers_nothing(two: Path) -> None:
    sentence = "Session living has not ended and was active less than a minute ago. It stays."

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        main(pilot).say(sentence, error=True)
        await press(pilot)
        assert " ".join(" ".join(page(pilot)[-3:]).split()).endswith(sentence)
        assert main(pilot).list.region.bottom <= main(pilot).status.region.y
        main(pilot).say("Short again.")
        await press(pilot)
        assert main(pilot).status.region.height == 1

    drive(make_app(two), script, size=(40, 12))


def test_every_hint_can_be_clicked(two: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        await click_word(pilot, "select")
        assert [*main(pilot).list.sessions.selected] == ["two"]
        await press(pilot, "escape")
        await click_word(pilot, "rename")
        assert isinstance(pilot.app.screen, RenameDialog)
        await press(pilot, "escape")
        await click_word(pilot, "help")
        assert isinstance(pilot.app.screen, HelpScreen)

    drive(make_app(two), script)


def test_a_click_beside_the_hints_does_nothing(two: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        await pilot.click(offset=(118, 35))
        await press(pilot)
        assert pilot.app.screen is main(pilot)

    drive(make_app(two), script)


def test_a_click_on_the_message_undoes(two: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")
        assert listed(pilot) == ["one"]
        await click_word(pilot, "^z undo")
        assert listed(pilot) == ["two", "one"]

    drive(make_app(two), script, size=(80, 24))
