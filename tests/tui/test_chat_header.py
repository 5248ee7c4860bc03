"""The header of the chat, and its spinner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from hermes_tui.chat.spinner import Spinner
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import TroubleServer, stalls
from tests.tui.running import NOW, drive, settle, shown
from tests.tui.talking import (
    OLD,
    chat_app,
    enter,
    old_chat,
    say,
    screen,
    wait,
)


def test_a_spinner_counts_while_an_answer_comes(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            spinner = screen(pilot).query_one(Spinner)
            assert not spinner.display
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await wait(pilot, lambda: "⠋ 0 s · ≈" in shown(pilot), "the spinner")
            assert "tokens · Esc stops" in shown(pilot)
            spinner._clock = lambda: NOW + 72.5
            await wait(pilot, lambda: "⠴ 1 min 12 s · ≈" in shown(pilot), "the time")
            await pilot.press("escape")
            await settle(pilot)
            assert not spinner.display

        drive(chat_app(path, server), script)


def test_the_header_never_shows_an_id(path: Path, server: DemoServer) -> None:
    old_chat(path, "Where do quokkas live?\nOn which island?", title=None)

    async def script(pilot: Pilot[Any]) -> None:
        first = shown(pilot).splitlines()[0]
        assert "Where do quokkas live? On which island?" in first and OLD not in first
        await say(pilot, "/new")
        assert "New conversation" in shown(pilot).splitlines()[0]
        assert "demo" in shown(pilot).splitlines()[0]

    drive(chat_app(path, server, OLD), script)


def test_the_header_of_a_new_conversation_shows_its_first_words(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            assert "New conversation" in shown(pilot).splitlines()[0]
            await enter(pilot, "Where do quokkas live?")
            await wait(pilot, lambda: "quokkas" in shown(pilot).splitlines()[0], "the first words")
            await pilot.press("escape")
            await settle(pilot)

        drive(chat_app(path, server), script)
