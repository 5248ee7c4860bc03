"""Chats without a terminal, with servers of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.config.settings import Config
from hermes_tui.app import HermesApp
from hermes_tui.chat.input_field import Prompt
from hermes_tui.chat.screen import ChatScreen
from hermes_tui.cli.common.builtin_chat import conversation_maker
from hermes_tui.demo.model_server import DemoServer
from hermes_tui.opening.start_options import State
from hermes_tui.widgets.plain_text import PlainText
from tests.support import add
from tests.tui.running import NOW, PATIENCE, make_app, settle, text_of

OLD = "20260921_100000_0dd0ff"
HOUR = 3_600.0


def settings(server: DemoServer | None, **model: Any) -> Config:
    """Return settings for a server; without one, for a service that wants a key."""
    config = Config()
    base_url = server.base_url if server else ""
    wanted: dict[str, Any] = {"default": "demo", "base_url": base_url, "retries": 0}
    return replace(config, model=replace(config.model, **(wanted | model)))


def chat_app(
    path: Path,
    server: DemoServer | None,
    session_id: str | None = None,
    *,
    chat_first: bool = True,
    config: Config | None = None,
    **opening: Any,
) -> HermesApp:
    """Return the program, open at a chat; without a server, without a key."""
    variables = {"HERMES_API_KEY" if server else "NOTHING": "test"}
    make = conversation_maker(path, config or settings(server), variables, lambda: NOW)
    return make_app(
        path, open_chat=make, chat_first=chat_first, state=State(session_id=session_id), **opening
    )


def old_chat(path: Path, *said: str, title: str | None = "an old chat") -> str:
    """Write a session that ended an hour ago, with an answer to each thing said."""
    with SessionDB(path) as db:
        add(db, OLD, at=NOW - 3 * HOUR, title=title)
        for place, text in enumerate(said or ("Where do quokkas live?",)):
            at = NOW - 2 * HOUR + place * 60
            db.append_message(OLD, "user", text, timestamp=at)
            db.append_message(OLD, "assistant", f"Answer to: {text}", timestamp=at + 5)
        with db._db.write() as tx:
            tx.run("UPDATE sessions SET ended_at = ?, end_reason = 'cli_close'", (NOW - HOUR,))
    return OLD


def screen(pilot: Pilot[Any]) -> ChatScreen:
    """Return the chat, whatever lies above it."""
    return next(each for each in pilot.app.screen_stack if isinstance(each, ChatScreen))


def field(pilot: Pilot[Any]) -> Prompt:
    """Return the field of the chat."""
    return screen(pilot).prompt


def note(pilot: Pilot[Any]) -> str:
    """Return the remark above the field."""
    box = screen(pilot).note
    return text_of(box.query_one(PlainText)) if box.display else ""


async def wait(pilot: Pilot[Any], condition: Callable[[], object], what: str) -> None:
    """Wait for something while an answer may be under way."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        await pilot.pause(0.02)


async def enter(pilot: Pilot[Any], text: str) -> None:
    """Paste a text into the field and press Enter, without waiting for what follows."""
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()
    await pilot.press("enter")
    await pilot.pause()


async def say(pilot: Pilot[Any], text: str) -> None:
    """Say something, or give a command, and wait for its end."""
    await enter(pilot, text)
    await settle(pilot)


def said(path: Path, session_id: str) -> list[tuple[str, Any]]:
    """Return who said what in a session."""
    with SessionDB(path, read_only=True) as db:
        return [(row["role"], row["content"]) for row in db.get_messages(session_id)]


def sessions(path: Path) -> list[dict[str, Any]]:
    """Return all sessions, the newest first."""
    with SessionDB(path, read_only=True) as db:
        return db.search_sessions(limit=100)


def is_chatting(pilot: Pilot[Any]) -> bool:
    """Tell whether a chat is on the screen."""
    return isinstance(pilot.app.screen, ChatScreen)


def is_on_top(pilot: Pilot[Any]) -> bool:
    """Tell whether nothing lies above the chat."""
    return pilot.app.screen is screen(pilot)
