"""Titles that come by themselves: once, unique, never over a person's own, never in the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_store import SessionDB, Store
from hermes_store.errors import DatabaseLocked
from hermes_tui.chat.auto_title import AutoTitle
from hermes_tui.chat.provider import Provider
from hermes_tui.chat.summaries import TITLE_CHARACTERS
from hermes_tui.demo.model_server import DemoServer, Exchange
from tests.chat.misbehaving_servers import (
    WAIT,
    Behaviour,
    TroubleServer,
    endpoint_at,
    hangs,
    refuses,
    speaks_gibberish,
)
from tests.chat.test_summaries import says
from tests.support import add

ID = "20260101_120000_abcdef"
FIRST = ("How do I move my compose stack?", "Copy the volumes first.")


class Titled:
    """Runs one attempt and keeps what was told."""

    def __init__(self, server: DemoServer, path: Path) -> None:
        self.heard: list[str] = []
        self.auto = AutoTitle(Provider(endpoint_at(server.base_url, retries=0)))
        self._factory: Callable[[], Store] = lambda: Store(path)

    def run(self, session_id: str = ID) -> list[str]:
        """Look for a title and wait until that has ended."""
        self.auto.start(self._factory, session_id, *FIRST, self.heard.append)
        assert self.auto.wait(WAIT)
        return self.heard


def test_a_title_comes_after_the_first_exchange(db: SessionDB, path: Path) -> None:
    add(db, ID, FIRST[0])
    with DemoServer() as server:
        [title] = Titled(server, path).run()
    assert db.store.sessions.get(ID).title == title
    assert 3 <= len(title.split()) <= 7
    assert len(title) <= TITLE_CHARACTERS


def test_once_for_each_session(db: SessionDB, path: Path) -> None:
    add(db, ID, "one")
    add(db, "other", "two")
    with TroubleServer(says("A fitting title")) as server:
        titled = Titled(server, path)
        titled.run()
        db.store.sessions.rename(ID, None)
        titled.run()
        assert server.asked == 1
        titled.run("other")
    assert titled.heard == ["A fitting title"] * 2
    assert db.store.sessions.get(ID).title is None


def test_a_person_was_there_before(db: SessionDB, path: Path) -> None:
    add(db, ID, "one", title="My own")
    with DemoServer() as server:
        assert Titled(server, path).run() == []
    assert server.requests == []
    assert db.store.sessions.get(ID).title == "My own"


def test_a_person_was_faster(db: SessionDB, path: Path) -> None:
    """The title is looked at again in the transaction that would write it."""
    add(db, ID, "one")

    def behave(server: TroubleServer, exchange: Exchange) -> None:
        db.store.sessions.rename(ID, "My own")
        says("Too late a title")(server, exchange)

    with TroubleServer(behave) as server:
        assert Titled(server, path).run() == []
    assert db.store.sessions.get(ID).title == "My own"


def test_a_title_that_another_has_is_numbered(db: SessionDB, path: Path) -> None:
    add(db, "first", "one", title="A fitting title")
    add(db, "second", "two", title="A fitting title #2")
    add(db, ID, "three")
    with TroubleServer(says("A fitting title")) as server:
        assert Titled(server, path).run() == ["A fitting title #3"]
    assert db.store.sessions.get(ID).title == "A fitting title #3"


def test_a_number_that_belongs_to_the_title_stays(db: SessionDB, path: Path) -> None:
    add(db, ID, "one")
    with TroubleServer(says("Mending issue #4711")) as server:
        assert Titled(server, path).run() == ["Mending issue #4711"]


@pytest.mark.parametrize("behaviour", [refuses(401), refuses(500), speaks_gibberish, says("")])
def test_failure_is_a_line_in_the_log(
    db: SessionDB, path: Path, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    add(db, ID, "one")
    with TroubleServer(behaviour) as server:
        assert Titled(server, path).run() == []
    assert db.store.sessions.get(ID).title is None
    [line] = [each for each in caplog.records if each.name == "hermes_tui.auto_title"]
    assert line.levelno == logging.INFO
    assert f"No title for {ID}" in line.getMessage()


def test_a_session_that_is_gone_is_no_trouble(db: SessionDB, path: Path) -> None:
    with DemoServer() as server:
        assert Titled(server, path).run() == []


def test_a_store_that_fails_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def locked() -> Store:
        raise DatabaseLocked("Somebody else writes.")

    with DemoServer() as server:
        auto = AutoTitle(Provider(endpoint_at(server.base_url)))
        assert auto.start(locked, ID, *FIRST, lambda _: None)
        assert not auto.start(locked, ID, *FIRST, lambda _: None)
        assert auto.wait(WAIT)
    assert "DatabaseLocked" in caplog.text


def test_a_listener_that_fails_is_no_trouble(
    db: SessionDB, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add(db, ID, "one")

    def listen(_: str) -> None:
        raise RuntimeError("the screen is gone")

    with DemoServer() as server:
        auto = AutoTitle(Provider(endpoint_at(server.base_url)))
        auto.start(lambda: Store(path), ID, *FIRST, listen)
        assert auto.wait(WAIT)
    assert db.store.sessions.get(ID).title
    assert "the screen is gone" in caplog.text


def test_nobody_waits_for_a_title(db: SessionDB, path: Path) -> None:
    add(db, ID, "one")
    with TroubleServer(hangs) as server:
        titled = Titled(server, path)
        titled.auto.start(lambda: Store(path), ID, *FIRST, titled.heard.append)
        [thread] = [each for each in threading.enumerate() if each.name == "hermes-title"]
        assert thread.daemon
        assert not titled.auto.wait(0)
        titled.auto._provider.close()
        assert titled.auto.wait(WAIT)
    assert titled.heard == []
