"""Pictures of the chat: new, resumed, answering, answered, stopped, in trouble, compressed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_tui.chat import drafts
from hermes_tui.chat.drafts import Draft
from hermes_tui.chat.endpoint_settings import Endpoint
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import (
    Behaviour,
    TroubleServer,
    breaks_off,
    chunk,
    refuses,
    stalls,
)
from tests.support import add
from tests.tui.conftest import Snap
from tests.tui.running import NOW, press, settle, shown
from tests.tui.talking import HOUR, OLD, chat_app, enter, field, old_chat, say, wait

SIZES = pytest.mark.parametrize(
    "size", [(120, 36), (80, 24), (40, 12)], ids=["wide", "narrow", "tiny"]
)
Size = tuple[int, int]


@pytest.fixture(autouse=True)
def one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every server the same name."""
    monkeypatch.setattr(Endpoint, "place", "127.0.0.1:8080")


def says(*texts: str) -> Any:
    """Return a script that says one thing after the other, in a session with a title."""

    async def script(pilot: Pilot[Any]) -> None:
        for text in ("/title About marsupials", *texts):
            await say(pilot, text)

    return script


# -- how it begins -----------------------------------------------------------------------------


@SIZES
def test_new(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    snap(chat_app(path, server), size=size)


@SIZES
def test_resumed(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    old_chat(path, "Where do quokkas live?", "And what do they eat?\nIn winter, I mean.")
    snap(chat_app(path, server, OLD), size=size)


def test_resumed_as_a_whole(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path, *(f"Question {place}?" for place in range(9)))
    snap(chat_app(path, server, OLD), "ctrl+t", "pageup")


def test_resumed_light(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path)
    snap(chat_app(path, server, OLD, theme="hermes-light"))


# -- answers -----------------------------------------------------------------------------------


@SIZES
def test_answered(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    snap(chat_app(path, server), script=says("How do I search?"), size=size)


def test_answered_light(path: Path, server: DemoServer, snap: Snap) -> None:
    app = chat_app(path, server, theme="hermes-light")
    snap(app, script=says("Show me a branch"))


def test_looked_up(path: Path, server: DemoServer, snap: Snap) -> None:
    with SessionDB(path) as db:
        add(db, "old", "Quokkas live on Rottnest", at=NOW - HOUR, ended=NOW - 60, title="Quokkas")
    snap(chat_app(path, server), script=says("What did we say earlier about quokkas?"))


def _under_way(path: Path, snap_compare: Any, behaviour: Behaviour, sign: str) -> None:
    """Take a picture while an answer is under way; `snap` would wait for its end."""
    with TroubleServer(behaviour) as server:
        app = chat_app(path, server)

        async def before(pilot: Pilot[Any]) -> None:
            await settle(pilot)
            await say(pilot, "/title About marsupials")
            await enter(pilot, "Where do quokkas live?")
            await wait(pilot, lambda: sign in shown(pilot), "the beginning of the answer")

        same = snap_compare(app, terminal_size=(80, 24), run_before=before)
        assert app.crash_log is None, app.crash_log.read_text()
        assert same


def test_answering(path: Path, snap_compare: Any) -> None:
    _under_way(path, snap_compare, stalls, "Half an ans")


def test_thinking(path: Path, snap_compare: Any) -> None:
    def thinks(server: TroubleServer, exchange: Any) -> None:
        exchange.begin_stream()
        exchange.event(chunk({"reasoning_content": "An island, I believe."}))
        while not server.closing.wait(0.05):
            exchange.write(b": still here\n\n")

    _under_way(path, snap_compare, thinks, "thinking")


def test_stopped(path: Path, snap: Snap) -> None:
    with TroubleServer(stalls) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await say(pilot, "/title About marsupials")
            await enter(pilot, "Where do quokkas live?")
            await wait(pilot, lambda: "Half an ans" in shown(pilot), "the beginning")
            await pilot.press("escape")

        snap(chat_app(path, server), script=script, size=(80, 24))


# -- trouble -----------------------------------------------------------------------------------


@SIZES
def test_no_key(path: Path, snap: Snap, size: Size) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "Where do quokkas live?")

    snap(chat_app(path, None), script=script, size=size)


@pytest.mark.parametrize(
    "trouble",
    [breaks_off, refuses(401, "bad key"), refuses(429, "slow down")],
    ids=["dropped", "401", "429"],
)
def test_trouble(path: Path, snap: Snap, trouble: Behaviour) -> None:
    with TroubleServer(trouble) as server:
        snap(chat_app(path, server), script=says("Where do quokkas live?"), size=(80, 24))


def test_unknown_command(path: Path, server: DemoServer, snap: Snap) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/titel x")

    snap(chat_app(path, server), script=script, size=(80, 24))


# -- commands ----------------------------------------------------------------------------------


@SIZES
def test_offers(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    old_chat(path)
    snap(chat_app(path, server, OLD), "/", size=size)


@SIZES
def test_menu(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    old_chat(path)
    snap(chat_app(path, server, OLD), "/", *["down"] * 9, size=size)


@SIZES
def test_draft_restored(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    old_chat(path)
    drafts.keep(path, Draft("before", OLD, "And what do they eat\nin winter?", NOW))
    snap(chat_app(path, server, OLD), size=size)


def test_cleared(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path)
    snap(chat_app(path, server, OLD), *"never mind", "ctrl+c", size=(80, 24))


def test_searching_from_the_chat(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path)
    snap(chat_app(path, server, OLD), script=says("/search quokkas"), size=(80, 24))


@SIZES
def test_help(path: Path, server: DemoServer, snap: Snap, size: Size) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/help")

    snap(chat_app(path, server), script=script, size=size)


def test_several_lines(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        field(pilot).replace_text("\n".join(f"line {place}" for place in range(12)))
        await press(pilot)

    snap(chat_app(path, server, OLD), script=script, size=(80, 24))


def test_compressed(path: Path, server: DemoServer, snap: Snap) -> None:
    old_chat(path, "Where do quokkas live?", "And what do they eat?")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/compress")
        await say(pilot, "How do I export?")

    snap(chat_app(path, server, OLD), script=script)
