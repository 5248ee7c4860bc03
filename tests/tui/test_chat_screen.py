"""The chat screen: what keys and commands do, and that nothing typed is ever lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.errors import ConfigError
from hermes_store.records.message import Message
from hermes_store.records.session import Session
from hermes_store.sessions.api import Messages
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.chat.conversation_pane import ConversationPane
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import TroubleServer, breaks_off, refuses, stalls
from tests.chat.talking import asked_by_chat, talk
from tests.support import add
from tests.tui import stock
from tests.tui.running import NOW, drive, listed, main, make_app, press, settle, shown
from tests.tui.talking import (
    OLD,
    chat_app,
    enter,
    field,
    is_on_top,
    note,
    old_chat,
    said,
    say,
    screen,
    sessions,
    settings,
    wait,
)

# -- the field ---------------------------------------------------------------------------------


def test_enter_says_what_was_typed(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*"hello", "enter")
        await settle(pilot)
        assert field(pilot).text == ""
        assert "demonstration assistant" in shown(pilot)

    drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert said(path, session["id"])[0] == ("user", "hello")


def test_fast_typing_keeps_its_order(path: Path, server: DemoServer) -> None:
    text = "The quick brown fox jumps over the lazy dog, twice."

    async def script(pilot: Pilot[Any]) -> None:
        # All at once, as when somebody types faster than the screen draws.
        for letter in text:
            pilot.app.post_message(events.Key(letter, letter))
        pilot.app.post_message(events.Key("enter", "\r"))
        await settle(pilot)

    drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert said(path, session["id"])[0] == ("user", text)


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter"])
def test_a_new_line(path: Path, server: DemoServer, key: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("a", key, "b")
        assert field(pilot).text == "a\nb"
        await press(pilot, "enter")

    drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert said(path, session["id"])[0] == ("user", "a\nb")


def test_nothing_is_said_with_an_empty_field(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "enter", "space", "ctrl+j", "enter")

    drive(chat_app(path, server), script)
    assert server.requests == []
    assert not path.exists() or sessions(path) == []


def test_what_was_said_comes_back(path: Path, server: DemoServer) -> None:
    old_chat(path, "said long ago")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "said now")
        await press(pilot, *"half", "up")
        assert field(pilot).text == "said now"
        await press(pilot, "up")
        assert field(pilot).text == "said long ago"
        await press(pilot, "up")
        assert field(pilot).text == "said long ago"
        await press(pilot, "down", "down")
        assert field(pilot).text == "half"

    drive(chat_app(path, server, OLD), script)


def test_up_goes_through_lines_first(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "one")
        await press(pilot, "a", "ctrl+j", "b", "up")
        assert field(pilot).text == "a\nb"
        await press(pilot, "up")
        assert field(pilot).text == "one"

    drive(chat_app(path, server), script)


# -- stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("recap", [True, False])
def test_the_end_stays_in_sight_in_every_size(path: Path, server: DemoServer, recap: bool) -> None:
    old_chat(path, *(f"Question number {number}?" for number in range(30)))

    async def script(pilot: Pilot[Any]) -> None:
        if not recap:
            await press(pilot, "ctrl+t")
        for size in ((120, 36), (40, 12), (80, 24), (120, 36)):
            await pilot.resize_terminal(*size)
            await press(pilot)
            assert "29?" in shown(pilot), size

    drive(chat_app(path, server, OLD), script)
    drive(chat_app(path, server, OLD), script, (40, 12))


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
def test_stop_keeps_what_came(path: Path, key: str) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await pilot.press(key)
            await settle(pilot)
            assert "Stopped" in note(pilot)
            assert shown(pilot).count("Half an ans") == 1
            assert pilot.app.is_running
            await pilot.press(key)

        choice = drive(chat_app(path, server), script)
        assert server.left.wait(20), "nobody hung up"
    [session] = sessions(path)
    assert said(path, session["id"]) == [("user", "hello"), ("assistant", "Half an ans")]
    if key == "escape":
        assert choice is not None and choice.left and choice.session_id == session["id"]
        assert session["end_reason"] == "cli_close"


def test_a_late_remark_does_not_hide_how_an_answer_ended(path: Path) -> None:
    with TroubleServer(breaks_off, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await say(pilot, "hello")
            assert "/retry" in note(pilot)
            pane = screen(pilot).query_one(ConversationPane)
            pane.post_message(ConversationPane.Remark(""))
            await settle(pilot)
            assert "/retry" in note(pilot)

        drive(chat_app(path, server), script)


def test_answer_never_goes_blank(
    path: Path, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(
        ConversationPane,
        "on_transcript_messages_wanted",
        lambda screen, event: asked.append(event.ids),
    )

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "hello")
        await say(pilot, "and again")
        assert "and again" in shown(pilot)

    drive(chat_app(path, server), script)
    # What a page asks for once it is on screen is a blank place until then.
    assert asked == []


def test_quitting_keeps_what_came(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await pilot.press("ctrl+q")

        drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert said(path, session["id"]) == [("user", "hello"), ("assistant", "Half an ans")]
    assert session["end_reason"] == "cli_close"


def test_while_an_answer_comes_a_second_text_waits_in_the_field(path: Path) -> None:
    with TroubleServer(stalls, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await enter(pilot, "hello")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await enter(pilot, "one more thing")
            assert field(pilot).text == "one more thing"
            assert "still coming" in note(pilot)
            field(pilot).text = ""
            await enter(pilot, "/undo")
            assert "still coming" in note(pilot)
            assert field(pilot).text == "/undo"
            await pilot.press("escape")

        drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert len(said(path, session["id"])) == 2


# -- trouble -----------------------------------------------------------------------------------


def test_without_a_key_the_text_comes_back(path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "a long question")
        assert field(pilot).text == "a long question"
        assert "There is no key" in note(pilot)

    drive(chat_app(path, None), script)


def test_without_a_key_an_old_session_can_still_be_read(path: Path) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        assert "Answer to: Where do quokkas live?" in shown(pilot)
        await say(pilot, "a long question")
        assert field(pilot).text == "a long question"

    drive(chat_app(path, None, OLD), script)
    assert len(said(path, OLD)) == 2


def test_a_text_that_cannot_be_saved_comes_back(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")
        with SessionDB(path) as db:
            db.delete_session(OLD)
        await say(pilot, "a long question")
        assert field(pilot).text == "a long question"

    drive(chat_app(path, server, OLD), script)


def test_a_refused_question_is_saved_and_asked_again(path: Path) -> None:
    with TroubleServer(refuses(401, "bad key"), times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await say(pilot, "/title mine")
            await say(pilot, "how do I search?")
            assert "/retry" in note(pilot)
            assert "how do I search?" in shown(pilot)
            assert field(pilot).text == ""
            await say(pilot, "/retry")
            assert "Press" in shown(pilot) and "in the browser and type" in shown(pilot)
            assert note(pilot) == ""

        drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert [role for role, _ in said(path, session["id"])] == ["user", "assistant"]


def test_there_is_nothing_to_ask_again(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/retry")
        assert "nothing to retry" in note(pilot)

    drive(chat_app(path, server), script)


# -- browser and chat --------------------------------------------------------------------------


def test_from_the_browser_and_back(path: Path, server: DemoServer) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        assert listed(pilot) == ["newest", "oldest"]
        await press(pilot, "tab", "down", "enter")
        assert screen(pilot).session_id == "oldest"
        assert "about oldest" in shown(pilot)
        await say(pilot, "how do I search?")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, BrowseScreen)
        assert listed(pilot) == ["oldest", "newest"]
        await press(pilot, "ctrl+q")

    choice = drive(chat_app(path, server, chat_first=False), script)
    assert choice is None
    with SessionDB(path) as db:
        assert db.store.sessions.get("oldest").end_reason == "cli_close"
        assert len(db.get_messages("oldest")) == 3


def test_choosing_in_the_browser(path: Path, server: DemoServer) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/sessions")
        assert isinstance(pilot.app.screen, BrowseScreen)
        await press(pilot, "escape")
        assert is_on_top(pilot)
        assert screen(pilot).session_id is None
        await say(pilot, "/resume")
        await press(pilot, "tab", "down", "enter")
        assert is_on_top(pilot)
        assert screen(pilot).session_id == "oldest"
        await say(pilot, "how do I search?")

    drive(chat_app(path, server), script)
    assert said(path, "oldest")[1] == ("user", "how do I search?")


def test_searching_from_the_chat(sample: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/search docker")
        assert main(pilot).search.text == "docker"
        assert listed(pilot)
        await press(pilot, "enter")
        assert is_on_top(pilot)
        assert screen(pilot).session_id is not None

    drive(chat_app(sample, server), script)


def test_searching_from_a_chat_above_the_browser(path: Path, server: DemoServer) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "enter")
        assert screen(pilot).session_id == "newest"
        await say(pilot, "/search oldest")
        above = pilot.app.screen
        assert isinstance(above, BrowseScreen) and above is not main(pilot)
        assert above.search.text == "oldest"
        assert "back to chat" in shown(pilot)
        await press(pilot, "escape")
        assert is_on_top(pilot) and screen(pilot).session_id == "newest"
        await say(pilot, "/search oldest")
        await press(pilot, "enter")
        assert is_on_top(pilot) and screen(pilot).session_id == "oldest"
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot)
        assert main(pilot).list.sessions.current_id() == "oldest"

    drive(chat_app(path, server, chat_first=False), script)


# -- much, and many ----------------------------------------------------------------------------


def _long(path: Path, session_id: str, count: int) -> None:
    with SessionDB(path) as db:
        add(db, session_id, at=NOW - 900_000, title=session_id)
        db.replace_messages(
            session_id,
            [
                {"role": ("user", "assistant")[place % 2], "content": f"message {place} " * 20}
                for place in range(count)
            ],
        )


def test_a_long_conversation_is_not_read_to_open_it(
    path: Path, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _long(path, "long", 5_000)
    read: list[int] = []
    ask = Messages.by_id

    def counting(store: Messages, ids: Sequence[int]) -> list[Message]:
        read.append(len(ids))
        return ask(store, ids)

    monkeypatch.setattr(Messages, "by_id", counting)

    async def script(pilot: Pilot[Any]) -> None:
        assert "message 4999" in shown(pilot)
        await press(pilot, "ctrl+t")
        assert "message 4999" in shown(pilot)
        await press(pilot, "pageup", "pageup")
        assert "message 4999" not in shown(pilot)
        assert 0 < sum(read) < 200
        await say(pilot, "how do I search?")
        assert "how do I search?" in shown(pilot)
        assert len(asked_by_chat(server)[-1]["messages"]) == 5_002

    drive(chat_app(path, server, "long", config=settings(server, context_length=1_000_000)), script)
    assert len(said(path, "long")) == 5_002


def test_two_chats_on_one_session(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")

        def from_another_window() -> None:
            with talk(path, server, OLD) as other:
                other.tell("from the other window")

        await asyncio.to_thread(from_another_window)
        await say(pilot, "how do I export?")
        assert "from the other window" in shown(pilot)

    drive(chat_app(path, server, OLD), script)
    texts = [content for role, content in said(path, OLD) if role == "user"]
    assert texts[1:] == ["how do I search?", "from the other window", "how do I export?"]


def test_the_other_window_compressed_the_session(path: Path, server: DemoServer) -> None:
    old_chat(path, "one", "two", "three")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")

        def from_another_window() -> Session:
            with talk(path, server, OLD) as other:
                return other.compress()

        continued = await asyncio.to_thread(from_another_window)
        await say(pilot, "/compress")
        assert continued.id in note(pilot)

    drive(chat_app(path, server, OLD), script)
    assert len(sessions(path)) == 2


def test_a_chat_that_cannot_begin_can_be_left(path: Path) -> None:
    """Without a model nothing is ever answered, and nothing is under way."""
    stock.one(path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "enter")
        await say(pilot, "hello")
        assert "Esc stop" not in shown(pilot)
        await press(pilot, "ctrl+c", "escape")
        assert pilot.app.screen is main(pilot)

    def refuse(session_id: str | None) -> Any:
        raise ConfigError("No model is set.")

    drive(make_app(path, open_chat=refuse), script)
