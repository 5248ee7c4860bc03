"""Slash commands on the chat screen: what they show, and what they leave in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_tui.demo.model_server import DemoServer
from tests.tui.running import drive, press, shown
from tests.tui.talking import (
    OLD,
    chat_app,
    field,
    note,
    old_chat,
    said,
    say,
    screen,
    sessions,
    settings,
)

# -- commands ----------------------------------------------------------------------------------


def test_a_slash_offers_and_tab_completes(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "/")
        assert screen(pilot).menu.display
        assert "/export [file]" in shown(pilot)
        await press(pilot, "c", "o", "tab")
        assert field(pilot).text == "/compress"
        await press(pilot, "escape")
        assert field(pilot).text == "/compress" and not screen(pilot).menu.display
        await press(pilot, "ctrl+c", *"/ti", "tab")
        assert field(pilot).text == "/title "
        assert not screen(pilot).menu.display
        assert isinstance(pilot.app.focused, type(field(pilot)))

    drive(chat_app(path, server), script)


def test_an_unknown_command_stays_in_the_field(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/titel my own")
        assert field(pilot).text == "/titel my own"
        assert "Did you mean /title?" in note(pilot)

    drive(chat_app(path, server), script)
    assert server.requests == []


def test_help_names_every_command(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/help")
        for name in ("/title", "/compress", "/retry", "/export", "/quit", "Ctrl+J"):
            assert name in note(pilot)

    drive(chat_app(path, server), script)


def test_a_title_waits_for_the_session(path: Path, server: DemoServer) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/title")
        assert "No title yet" in note(pilot)
        await say(pilot, "/title my own")
        assert "once the conversation starts" in note(pilot)
        await say(pilot, "/title")
        assert "“my own”" in note(pilot)
        await say(pilot, "hello")
        assert "my own" in shown(pilot).splitlines()[0]
        await say(pilot, "/title another")
        assert "another" in shown(pilot).splitlines()[0]
        assert "as soon as" not in note(pilot)

    drive(chat_app(path, server), script)
    assert [session["title"] for session in sessions(path)] == ["another"]


def test_a_taken_title_is_refused_like_in_renaming(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/title an old chat")
        assert f"in use by session {OLD}" in note(pilot)

    drive(chat_app(path, server), script)


def test_compressing_shows_the_continuation(path: Path, server: DemoServer) -> None:
    old_chat(path, *(f"question {place}" for place in range(15)))

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/compress")
        assert "an old chat #2" in shown(pilot).splitlines()[0]
        assert "Conversation compressed" in note(pilot)
        await say(pilot, "how do I search?")
        await press(pilot, "escape")

    choice = drive(chat_app(path, server, OLD), script)
    assert choice is not None
    by_title = {session["title"]: session for session in sessions(path)}
    continued = by_title["an old chat #2"]
    assert choice.session_id == continued["id"]
    assert by_title["an old chat"]["end_reason"] == "compression"
    assert continued["end_reason"] == "cli_close"
    assert said(path, continued["id"])[-2] == ("user", "how do I search?")


def test_a_full_conversation_is_compressed_by_itself(path: Path, server: DemoServer) -> None:
    old_chat(path, *(f"question {place} " + "word " * 200 for place in range(30)))

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")
        assert "an old chat #2" in shown(pilot).splitlines()[0]

    drive(chat_app(path, server, OLD, config=settings(server, context_length=8_000)), script)
    assert {session["title"] for session in sessions(path)} == {"an old chat", "an old chat #2"}


def test_branching_and_taking_back(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/branch try it")
        assert "try it" in shown(pilot).splitlines()[0]
        await say(pilot, "how do I search?")
        await say(pilot, "/undo")
        assert "2 messages undone" in note(pilot)
        assert "how do I search?" not in shown(pilot)

    drive(chat_app(path, server, OLD), script)
    by_title = {session["title"]: session["id"] for session in sessions(path)}
    assert said(path, by_title["try it"]) == said(path, OLD)


def test_new_ends_the_session_and_begins_another(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "how do I search?")
        await say(pilot, "/new")
        assert "New conversation" in shown(pilot).splitlines()[0]
        assert "quokkas" not in shown(pilot)
        await say(pilot, "how do I export?")
        assert "how do I export?" in shown(pilot) and "quokkas" not in shown(pilot)

    drive(chat_app(path, server, OLD), script)
    assert len(sessions(path)) == 2
    with SessionDB(path) as db:
        assert db.store.sessions.get(OLD).ended_at is not None
        assert len(db.get_messages(OLD)) == 4


def test_resuming_another_by_name(path: Path, server: DemoServer) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "hello")
        first = screen(pilot).session_id
        await say(pilot, "/resume no such thing")
        assert "no such thing" in note(pilot)
        assert screen(pilot).session_id == first
        await say(pilot, "/resume an old chat")
        assert screen(pilot).session_id == OLD
        assert "Answer to: Where do quokkas live?" in shown(pilot)

    drive(chat_app(path, server), script)
    assert all(session["ended_at"] for session in sessions(path)), "the one left behind is open"


def test_exporting(path: Path, server: DemoServer, tmp_path: Path) -> None:
    old_chat(path)
    target = tmp_path / "notes.md"

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, f"/export {target}")
        assert "Exported to" in note(pilot)

    drive(chat_app(path, server, OLD), script)
    assert "Where do quokkas live?" in target.read_text()


def test_exporting_where_it_cannot_go(path: Path, server: DemoServer) -> None:
    old_chat(path)
    (path.parent / "config.yaml").write_text("# mine")

    async def script(pilot: Pilot[Any]) -> None:
        for target, sentence in (
            ("a\0b.md", "cannot contain a null character"),
            ("~nosuch/notes.md", "home folder ~nosuch is unknown"),
            (str(path.parent / "config.yaml"), "a file that Hermes needs"),
        ):
            await say(pilot, f"/export {target}")
            assert sentence in note(pilot)

    drive(chat_app(path, server, OLD), script)
    assert (path.parent / "config.yaml").read_text() == "# mine"
