"""Drafts, Ctrl+C, the menu of commands and new conversations on the chat screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.config import paths
from hermes_tui.chat import drafts
from hermes_tui.chat.drafts import Draft
from hermes_tui.demo.model_server import DemoServer
from tests.rights import respected
from tests.support import add
from tests.tui import stock
from tests.tui.running import NOW, drive, press, settle
from tests.tui.talking import (
    OLD,
    chat_app,
    enter,
    field,
    note,
    old_chat,
    said,
    screen,
    wait,
)


def kept(path: Path, session_id: str = OLD) -> str | None:
    """Return the draft of a session in the file."""
    found = drafts.peek(path, session_id)
    return found.text if found is not None else None


# -- drafts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["escape", "ctrl+q"])
def test_a_draft_waits_until_it_is_sent(path: Path, server: DemoServer, key: str) -> None:
    old_chat(path)

    async def types(pilot: Pilot[Any]) -> None:
        await press(pilot, *"half a", key)

    async def sends(pilot: Pilot[Any]) -> None:
        assert field(pilot).text == "half a"
        assert "Draft restored" in note(pilot)
        await press(pilot, *" question", "enter")

    async def comes_back(pilot: Pilot[Any]) -> None:
        assert field(pilot).text == ""
        assert "Draft" not in note(pilot)

    drive(chat_app(path, server, OLD), types)
    drive(chat_app(path, server, OLD), sends)
    drive(chat_app(path, server, OLD), comes_back)
    assert said(path, OLD)[2] == ("user", "half a question")
    assert kept(path) is None


def test_a_draft_is_written_while_one_types(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press(*"half")
        await wait(pilot, lambda: kept(path) == "half", "the draft in the file")
        await pilot.press(*" a")
        await wait(pilot, lambda: kept(path) == "half a", "the longer draft")
        field(pilot).text = ""
        await wait(pilot, lambda: kept(path) is None, "no draft of an empty field")

    drive(chat_app(path, server, OLD), script)


def test_each_conversation_has_its_own_draft(path: Path, server: DemoServer) -> None:
    stock.several(path, "oldest", "newest")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "enter", *"about the newest", "escape")
        await press(pilot, "tab", "down", "enter")
        assert screen(pilot).session_id == "oldest"
        assert field(pilot).text == ""
        await press(pilot, *"about the oldest", "escape", "ctrl+n")
        assert field(pilot).text == ""
        await press(pilot, *"about nothing", "escape", "ctrl+n")
        assert field(pilot).text == "about nothing"
        await press(pilot, "escape", "enter")
        assert field(pilot).text == "about the oldest"
        await press(pilot, "escape", "up", "enter")
        assert field(pilot).text == "about the newest"

    drive(chat_app(path, server, chat_first=False), script)


def test_a_message_on_its_way_is_a_draft_until_it_is_stored(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        with SessionDB(path) as db, db._db.write():
            await enter(pilot, "a long question")
            await wait(pilot, lambda: kept(path) == "a long question", "the message as a draft")
        await wait(pilot, lambda: kept(path) is None, "no draft of what is stored")
        await settle(pilot)

    drive(chat_app(path, server, OLD), script)
    assert said(path, OLD)[2] == ("user", "a long question")


def test_a_draft_follows_into_a_branch(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *"half")
        await wait(pilot, lambda: kept(path) == "half", "the draft in the file")
        screen(pilot).commands.branch("try it")
        await settle(pilot)
        branched = screen(pilot).session_id
        assert branched not in (None, OLD)
        await wait(pilot, lambda: kept(path, str(branched)) == "half", "the draft of the branch")
        assert kept(path) is None and field(pilot).text == "half"

    drive(chat_app(path, server, OLD), script)


def test_what_was_typed_before_a_draft_came_stays(path: Path, server: DemoServer) -> None:
    old_chat(path)
    drafts.keep(path, Draft("before", OLD, "from before", NOW))

    async def script(pilot: Pilot[Any]) -> None:
        assert field(pilot).text == "from before"
        field(pilot).text = "typed"
        screen(pilot).drafts.post_message(screen(pilot).drafts.Restored("late", cleared=False))
        await settle(pilot)
        assert field(pilot).text == "late\ntyped"

    drive(chat_app(path, server, OLD), script)


def test_where_nothing_can_be_written_it_is_said_once(
    path: Path, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = drafts.keep

    def refused(database: Path, draft: Draft) -> None:
        with respected():
            keep(database, draft)

    monkeypatch.setattr(drafts, "keep", refused)
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        path.parent.chmod(0o500)
        await pilot.press("a")
        await wait(pilot, lambda: "Drafts cannot be saved" in note(pilot), "the reason")
        screen(pilot).say("")
        await pilot.press("b")
        screen(pilot).drafts.flush()
        await settle(pilot)
        assert note(pilot) == "" and field(pilot).text == "ab"

    try:
        drive(chat_app(path, server, OLD), script)
    finally:
        path.parent.chmod(0o700)
    assert not paths.drafts_file(path).exists()


def test_too_long_a_text_is_not_kept(
    path: Path, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST_CHARACTERS", 10)
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        field(pilot).text = "eleven chars"
        await settle(pilot)
        assert "not kept as a draft" in note(pilot)

    drive(chat_app(path, server, OLD), script)
    assert kept(path) is None


# -- Ctrl+C ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["ctrl+z", "up"])
def test_a_cleared_text_comes_back(path: Path, server: DemoServer, key: str) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *"one", "ctrl+j", *"two", "ctrl+c")
        assert field(pilot).text == ""
        await press(pilot, key)
        assert field(pilot).text == "one\ntwo"
        await wait(pilot, lambda: kept(path) == "one\ntwo", "the draft again")

    drive(chat_app(path, server, OLD), script)


def test_a_cleared_text_is_offered_next_time(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def clears(pilot: Pilot[Any]) -> None:
        await press(pilot, *"never mind", "ctrl+c", "ctrl+c")

    async def comes_back(pilot: Pilot[Any]) -> None:
        assert field(pilot).text == "" and "Up brings back" in note(pilot)
        await press(pilot, "up")
        assert field(pilot).text == "never mind"
        await press(pilot, "up")
        assert field(pilot).text == "Where do quokkas live?"

    drive(chat_app(path, server, OLD), clears)
    drive(chat_app(path, server, OLD), comes_back)


# -- recalling ---------------------------------------------------------------------------------


def test_long_messages_come_back_whole(path: Path, server: DemoServer) -> None:
    text = "word " * 400 + "end"
    old_chat(path, text)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "up")
        assert field(pilot).text == text

    drive(chat_app(path, server, OLD), script)


# -- the menu ----------------------------------------------------------------------------------


# -- the spinner -------------------------------------------------------------------------------


# -- the header --------------------------------------------------------------------------------


# -- new conversations, other conversations ----------------------------------------------------


def test_other_conversations_are_not_disturbed(path: Path, server: DemoServer) -> None:
    with SessionDB(path) as db:
        add(db, "other", "hello", at=NOW - 60, title="Other")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *"half", "escape")

    drive(chat_app(path, server, "other"), script)
    assert kept(path, "other") == "half" and kept(path, "") is None
