"""The slash menu of the chat, and notes beside the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_tui.demo.model_server import DemoServer
from tests.tui.running import drive, press, settle, shown
from tests.tui.talking import (
    OLD,
    chat_app,
    field,
    note,
    old_chat,
    say,
    screen,
)


def test_the_menu_takes_arrows(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "/", "r", "e")  # resume, retry
        await press(pilot, "down", "enter")
        assert field(pilot).text == "/retry"
        await press(pilot, "enter")
        assert "nothing to retry" in note(pilot) and field(pilot).text == ""
        await press(pilot, "/", "up", "tab")
        assert field(pilot).text == "/quit"

    drive(chat_app(path, server), script)
    assert server.requests == []


def test_a_whole_command_runs_at_once(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *"/help", "enter")
        assert "/compress" in note(pilot)
        await press(pilot, *"/ex", "enter")
        assert field(pilot).text == "/export "

    drive(chat_app(path, server), script)


def test_escape_closes_the_menu_and_keeps_the_text(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "/", "e", "escape")
        assert not screen(pilot).menu.display and field(pilot).text == "/e"
        assert pilot.app.is_running
        await press(pilot, "x")
        assert screen(pilot).menu.display

    drive(chat_app(path, server), script)


def test_a_recalled_command_does_not_trap_the_arrows(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/help")
        await press(pilot, "up")
        assert field(pilot).text == "/help" and not screen(pilot).menu.display
        await press(pilot, "up")
        assert field(pilot).text == "Where do quokkas live?"

    drive(chat_app(path, server, OLD), script)


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (20, 8)])
def test_menu_and_notes_leave_the_field_visible(
    path: Path, server: DemoServer, size: tuple[int, int]
) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        columns, rows = size
        for text in ("/help", "/"):
            if text == "/":
                await press(pilot, "/", *["down"] * 11)
                assert "/quit" in shown(pilot)
            else:
                await say(pilot, text)
            region = field(pilot).region
            assert region.height >= 1 and region.bottom < rows, (text, region)
            assert screen(pilot).status.region.bottom == rows
            assert region.right <= columns
        field(pilot).replace_text("\n".join("abcdefghijklm"))
        screen(pilot).say("a note of some length " * 20, "$error")
        await settle(pilot)
        assert field(pilot).region.bottom < rows
        assert screen(pilot).note.region.bottom <= field(pilot).region.y

    drive(chat_app(path, server, OLD), script, size=size)


def test_help_scrolls_where_it_does_not_fit(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/help")
        assert "Enter sends" in shown(pilot) and "/quit" not in shown(pilot)
        await press(pilot, *["pagedown"] * 12)
        assert "/quit" in shown(pilot)
        await press(pilot, "escape")
        assert note(pilot) == "" and pilot.app.is_running

    drive(chat_app(path, server), script, size=(40, 12))
