"""The ways between chat and browser: Ctrl+C, new conversations, resuming."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.browse.api import Transcripts
from hermes_store.records.recap import Limits, Recap
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.cli.common import last_list
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import TroubleServer, stalls
from tests.tui import stock
from tests.tui.running import PATIENCE, drive, listed, main, press, settle, shown
from tests.tui.talking import (
    OLD,
    chat_app,
    enter,
    field,
    is_chatting,
    is_on_top,
    note,
    old_chat,
    say,
    screen,
    sessions,
    wait,
)


def test_ctrl_c_goes_one_step_at_a_time(path: Path) -> None:
    stock.several(path, "oldest", "newest")
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await press(pilot, "enter")
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await pilot.press(*"more")
            await pilot.press("ctrl+c")
            await settle(pilot)
            assert "Stopped" in note(pilot) and field(pilot).text == "more"
            await press(pilot, "ctrl+c")
            assert field(pilot).text == "" and "Ctrl+Z or Up" in note(pilot)
            assert is_on_top(pilot)
            await press(pilot, "ctrl+c")
            assert pilot.app.screen is main(pilot)
            await press(pilot, "ctrl+c")

        app = chat_app(path, server, chat_first=False)
        assert drive(app, script) is None
        assert app.return_code == 130


@pytest.mark.parametrize("stalled", [True, False])
def test_an_answer_is_seen_whenever_the_session_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, stalled: bool
) -> None:
    """Whoever types at once has sent a message before the recap is there."""
    old_chat(path)
    released, recap = threading.Event(), Transcripts.quick_recap

    def held(self: Transcripts, session_id: str, limits: Limits | None = None) -> Recap:
        assert released.wait(PATIENCE)
        return recap(self, session_id, limits)

    monkeypatch.setattr(Transcripts, "quick_recap", held)
    released.set()
    with TroubleServer(stalls, times=int(stalled)) as server:

        async def script(pilot: Pilot[Any]) -> None:
            released.clear()
            await pilot.press("enter")
            await wait(pilot, lambda: is_chatting(pilot), "the chat")
            await enter(pilot, "hello")
            answer = "Half an ans" if stalled else "demonstration assistant"
            await wait(pilot, lambda: answer in shown(pilot), "the answer")
            released.set()
            await wait(pilot, lambda: "Answer to" in shown(pilot), "what was said before")
            if stalled:
                await pilot.press("escape")
            await settle(pilot)
            for each in ("Answer to", "hello", answer):
                assert shown(pilot).count(each) == 1
            assert "Previous conversation" not in shown(pilot)

        drive(chat_app(path, server, OLD, chat_first=False), script)


def test_ctrl_c_in_a_browser_above_leads_back(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/search quokkas")
        assert isinstance(pilot.app.screen, BrowseScreen)
        await press(pilot, "ctrl+c")
        assert is_on_top(pilot)

    drive(chat_app(path, server, OLD), script)


def test_quitting_from_a_browser_above_ends_the_session(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")
        await say(pilot, "/sessions")
        await press(pilot, "ctrl+q")

    choice = drive(chat_app(path, server, OLD), script)
    assert choice is not None and (choice.session_id, choice.left) == (OLD, True)
    with SessionDB(path) as db:
        assert db.store.sessions.get(OLD).end_reason == "cli_close"


@pytest.mark.parametrize("where", ["search", "list", "reading"])
def test_a_new_conversation_from_the_browser(path: Path, server: DemoServer, where: str) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *["tab"] * ["search", "list", "reading"].index(where), "ctrl+n")
        assert screen(pilot).session_id is None
        assert "New conversation" in shown(pilot).splitlines()[0]
        await say(pilot, "how do I search?")
        begun = screen(pilot).session_id
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot)
        assert listed(pilot)[0] == begun and len(listed(pilot)) == 3
        assert main(pilot).list.sessions.current_id() == begun

    drive(chat_app(path, server, chat_first=False), script)


def test_a_new_conversation_in_a_browser_above_a_chat(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/sessions")
        await press(pilot, "ctrl+n")
        assert is_on_top(pilot) and screen(pilot).session_id is None

    drive(chat_app(path, server, OLD), script)


def test_the_agent_starts_new_conversations_where_there_is_one(
    path: Path, server: DemoServer
) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+n")

    app = chat_app(path, server, chat_first=False, starts_elsewhere=lambda: True)
    choice = drive(app, script)
    assert choice is not None and choice.session_id is None and not choice.left


@pytest.mark.parametrize(
    ("how", "why"), [("read_only", "--read-only"), ("print_id", "no id to print")]
)
def test_where_nothing_new_can_begin(path: Path, server: DemoServer, how: str, why: str) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+n")
        assert pilot.app.screen is main(pilot) and pilot.app.is_running
        assert why in shown(pilot)

    opening: dict[str, Any] = {how: True}
    drive(chat_app(path, server, chat_first=False, **opening), script)


def test_resuming_by_the_number_of_a_list(path: Path, server: DemoServer) -> None:
    stock.several(path, "oldest", "newest")
    last_list.keep(path, ["newest", "oldest"])

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/resume 2")
        assert screen(pilot).session_id == "oldest"
        await say(pilot, "/resume 7")
        assert "no number 7 in the last list" in note(pilot)
        assert screen(pilot).session_id == "oldest"

    find = lambda store, name: last_list.find(store, path, name)  # noqa: E731
    drive(chat_app(path, server, find_session=find), script)


def test_a_first_answer_that_is_left_can_be_resumed(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await pilot.press("ctrl+q")

        choice = drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert choice is not None and choice.left and choice.session_id == session["id"]
