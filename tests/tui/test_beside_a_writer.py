"""Another program holds the write lock: the screen goes on, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from textual.pilot import Pilot

from hermes_store.engines.sqlite import lock_waiting, sqlite_file
from hermes_store.errors import DatabaseError
from hermes_tui.demo.model_server import DemoServer
from tests.chat.misbehaving_servers import TroubleServer, hangs
from tests.store.processes import finish, heard, start
from tests.tui.off_the_loop import watched
from tests.tui.running import drive, main, make_app, press, settle
from tests.tui.talking import (
    OLD,
    chat_app,
    enter,
    field,
    note,
    old_chat,
    said,
    say,
    sessions,
    wait,
)

HOLD = """
import sys, apsw
con = apsw.Connection(sys.argv[1])
con.set_busy_timeout(60_000)
con.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
con.execute("ROLLBACK")
"""
MEANWHILE = "typed meanwhile"


@contextmanager
def held(path: Path) -> Iterator[Callable[[], None]]:
    """Have another process hold the write lock; yield what makes it let go."""
    process = start(HOLD, path)
    assert heard(process) == "held"
    released = False

    def release() -> None:
        nonlocal released
        if not released:
            released = True
            finish(process)

    try:
        yield release
    finally:
        release()


async def is_alive(pilot: Pilot[Any]) -> None:
    """See that what is typed appears."""
    await pilot.press(*MEANWHILE)
    await wait(pilot, lambda: field(pilot).text.endswith(MEANWHILE), "what was typed")


def texts(path: Path, session_id: str) -> list[Any]:
    """Return what the user said in a session."""
    return [content for role, content in said(path, session_id) if role == "user"]


# -- the guard ---------------------------------------------------------------------------------


def test_the_guard_sees_a_statement_on_the_event_loop(path: Path, server: DemoServer) -> None:
    old_chat(path)
    app = chat_app(path, server, OLD)

    async def script(pilot: Pilot[Any]) -> None:
        sessions(path)  # a script may
        with watched() as refused:
            app.access.reopen()
            with pytest.raises(DatabaseError):
                app.access._read()
            assert refused

    drive(app, script)


# -- the chat ----------------------------------------------------------------------------------


@pytest.mark.parametrize("session_id", [None, OLD], ids=["new", "old"])
@pytest.mark.parametrize("already", [True, False], ids=["before opening", "after opening"])
def test_a_message_waits_and_the_screen_does_not(
    path: Path, server: DemoServer, session_id: str | None, already: bool
) -> None:
    old_chat(path, "one")

    async def script(pilot: Pilot[Any]) -> None:
        async def go_on(release: Callable[[], None]) -> None:
            await enter(pilot, "two")
            await is_alive(pilot)
            assert server.requests == []
            assert texts(path, OLD) == ["one"]
            release()
            await settle(pilot)
            assert field(pilot).text == MEANWHILE

        if already:
            await go_on(releases[0])
        else:
            with held(path) as release:
                await go_on(release)
        field(pilot).text = ""
        await say(pilot, "three")

    with ExitStack() as locks:
        releases = [locks.enter_context(held(path))] if already else []
        drive(chat_app(path, server, session_id), script)
    newest = sessions(path)[0]["id"]
    if session_id is None:
        assert newest != OLD
        assert texts(path, OLD) == ["one"]
        assert texts(path, newest) == ["two", "three"]
        assert len(sessions(path)) == 2
    else:
        assert texts(path, OLD) == ["one", "two", "three"]
        assert len(sessions(path)) == 1
    roles = [role for role, _ in said(path, newest)]
    assert roles == ["user", "assistant"] * (len(roles) // 2)


def _after_title(path: Path) -> None:
    assert [each["title"] for each in sessions(path)] == ["a new name"]


def _after_undo(path: Path) -> None:
    assert texts(path, OLD) == ["one"]


def _after_branch(path: Path) -> None:
    [copy] = [each for each in sessions(path) if each["id"] != OLD]
    assert copy["title"] == "side road"
    assert texts(path, copy["id"]) == texts(path, OLD) == ["one", "two"]


def _after_compress(path: Path) -> None:
    [continued] = [each for each in sessions(path) if each["id"] != OLD]
    assert continued["parent_session_id"] == OLD


def _after_retry(path: Path) -> None:
    assert texts(path, OLD) == ["one", "two"]
    assert len(said(path, OLD)) == 4
    assert said(path, OLD)[-1][1] != "Answer to: two"


@pytest.mark.parametrize(
    ("command", "check"),
    [
        ("/title a new name", _after_title),
        ("/undo", _after_undo),
        ("/branch side road", _after_branch),
        ("/compress", _after_compress),
        ("/retry", _after_retry),
    ],
)
def test_a_command_waits_and_the_screen_does_not(
    path: Path, server: DemoServer, command: str, check: Callable[[Path], None]
) -> None:
    old_chat(path, "one", "two")
    before = said(path, OLD)

    async def script(pilot: Pilot[Any]) -> None:
        with held(path) as release:
            await enter(pilot, command)
            await is_alive(pilot)
            assert said(path, OLD) == before
            assert len(sessions(path)) == 1
            release()
            await settle(pilot)
        assert field(pilot).text == MEANWHILE

    drive(chat_app(path, server, OLD), script)
    check(path)


def test_commands_and_messages_keep_their_order(path: Path, server: DemoServer) -> None:
    old_chat(path, "one", "two")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "three")
        with held(path) as release:
            for text in ("/undo", "/branch side road", "/new", "four"):
                await enter(pilot, text)
            await is_alive(pilot)
            release()
            await settle(pilot)

    drive(chat_app(path, server, OLD), script)
    assert texts(path, OLD) == ["one", "two"]
    by_text = sorted(texts(path, each["id"]) for each in sessions(path))
    assert by_text == [["four"], ["one", "two"], ["one", "two"]]


@pytest.mark.parametrize("key", ["escape", "ctrl+q"])
def test_leaving_ends_what_was_begun_under_the_lock(
    path: Path, server: DemoServer, key: str
) -> None:
    old_chat(path, "one")

    with held(path) as release:

        async def script(pilot: Pilot[Any]) -> None:
            # Nothing is open yet: the message, the end and the closing all wait in line.
            await enter(pilot, "two")
            await is_alive(pilot)
            await pilot.press("escape")
            if key != "escape":
                await pilot.press(key)
            release()

        drive(chat_app(path, server, OLD), script)
    assert texts(path, OLD) == ["one", "two"]
    [session] = sessions(path)
    assert (session["end_reason"] == "cli_close") == (key != "escape")


def test_a_lock_that_stays_is_told_and_the_message_returns(
    path: Path, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_waiting, "TRY_SECONDS", 0.01)
    typed = threading.Event()
    typed.set()

    def retried(con: apsw.Connection, sql: str) -> None:
        typed.wait(60)
        lock_waiting.retried(con, sql)

    monkeypatch.setattr(sqlite_file, "retried", retried)
    old_chat(path, "one")

    async def script(pilot: Pilot[Any]) -> None:
        await say(pilot, "/title my plan")
        with held(path):
            typed.clear()
            await enter(pilot, "two")
            await pilot.press(*MEANWHILE)
            typed.set()
            await wait(pilot, lambda: "lock" in note(pilot).lower(), "the reason")
            await settle(pilot)
            assert field(pilot).text == f"two\n{MEANWHILE}"
        field(pilot).text = ""
        await say(pilot, "two")
        assert "demonstration" in str(said(path, sessions(path)[0]["id"]))

    drive(chat_app(path, server), script)
    [session] = [each for each in sessions(path) if each["id"] != OLD]
    assert texts(path, session["id"]) == ["two"]
    assert session["title"] == "my plan"


def test_stopping_before_anything_came_promises_nothing(path: Path) -> None:
    with TroubleServer(hangs, times=1) as server:

        async def script(pilot: Pilot[Any]) -> None:
            await enter(pilot, "hello")
            await wait(pilot, lambda: server.asked, "the question")
            await pilot.press("escape")
            await wait(pilot, lambda: "Stopped" in note(pilot), "the end")
            assert "saved" not in note(pilot)
            assert "/retry" in note(pilot)

        drive(chat_app(path, server), script)
    [session] = sessions(path)
    assert said(path, session["id"]) == [("user", "hello")]


# -- the browser -------------------------------------------------------------------------------


def test_the_browser_goes_on_while_a_change_waits(path: Path) -> None:
    old_chat(path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r")
        with held(path) as release:
            await pilot.press("end", *" renamed", "enter")
            await pilot.press(*"quokka")
            await wait(pilot, lambda: main(pilot).search.text == "quokka", "what was typed")
            assert [each["title"] for each in sessions(path)] == ["an old chat"]
            release()
            await settle(pilot)

    drive(make_app(path), script)
    assert [each["title"] for each in sessions(path)] == ["an old chat renamed"]


def test_reopening_waits_for_nobody(path: Path) -> None:
    old_chat(path)
    access = make_app(path).access
    asked = threading.Thread(target=access.reopen, daemon=True)
    # Held by a thread that opens the file, which takes as long as another program locks it.
    with access._lock:
        asked.start()
        asked.join(60)
        assert not asked.is_alive()
