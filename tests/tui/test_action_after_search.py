"""Keys that wait until the list shows what was typed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store.errors import StoreError
from hermes_store.records.search import Request, SearchResult
from hermes_store.search.api import MessageSearch
from hermes_store.store import Store
from tests.tui.running import (
    PATIENCE,
    Typed,
    drive,
    listed,
    main,
    make_app,
    press,
    shown,
    until,
)


def _hold_searches(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Keep every search waiting until the event that is returned is set."""
    released, search = threading.Event(), MessageSearch.stream

    def held(self: MessageSearch, request: Request) -> Iterator[SearchResult]:
        assert released.wait(PATIENCE)
        return search(self, request)

    monkeypatch.setattr(MessageSearch, "stream", held)
    return released


def test_enter_behind_the_last_letter_takes_what_is_found(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what still stands in the list while the search is under way."""
    released = _hold_searches(monkeypatch)
    chosen: list[str] = []

    async def script(pilot: Pilot[Any]) -> None:
        before = listed(pilot)[0]
        main(pilot).search.text = "docker"
        await pilot.press("enter")
        assert pilot.app.return_value is None and main(pilot).list.sessions.current_id() == before
        released.set()
        await until(pilot, lambda: pilot.app.return_value, "the choice")
        row = main(pilot).list.sessions.row(listed(pilot)[0])
        assert row is not None and row.id != before
        chosen.append(row.tip_id)

    choice = drive(make_app(sample), script)
    assert choice is not None and [choice.session_id] == chosen


def test_what_is_typed_further_takes_back_what_waited(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = _hold_searches(monkeypatch)

    async def script(pilot: Pilot[Any]) -> None:
        main(pilot).search.text = "docker"
        await pilot.press("ctrl+d")
        main(pilot).search.text = "docker deploy"
        released.set()
        await until(pilot, lambda: main(pilot).search.found, "results")
        assert pilot.app.screen is main(pilot)

    drive(make_app(sample), script)


def test_what_waited_is_not_done_later(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when the text comes back, and not below something that was opened meanwhile."""
    released = _hold_searches(monkeypatch)

    async def script(pilot: Pilot[Any]) -> None:
        bar = main(pilot).search
        bar.text = "docker"
        await pilot.press("ctrl+d")
        bar.text = "docker deploy"
        released.set()
        await until(pilot, lambda: main(pilot).search.found, "results")
        bar.text = "docker"
        await press(pilot)
        assert listed(pilot) and pilot.app.screen is main(pilot)
        released.clear()
        bar.text = "parser"
        await pilot.press("ctrl+d")
        await pilot.app.run_action("help")  # a key would wait for the results
        on_top = pilot.app.screen
        released.set()
        await until(pilot, lambda: main(pilot)._pending.answered == "parser", "results")
        assert pilot.app.screen is on_top is not main(pilot)

    drive(make_app(sample), script)


def test_escape_and_enter_take_the_first_of_all(sample: Path) -> None:
    chosen: list[str] = []

    async def script(pilot: Pilot[Any]) -> None:
        row = main(pilot).list.sessions.row(listed(pilot)[0])
        assert row is not None
        chosen.append(row.tip_id)
        await press(pilot, Typed("docker"), "down", "down", "down")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: pilot.app.return_value, "the choice")

    choice = drive(make_app(sample), script)
    assert choice is not None and [choice.session_id] == chosen


def test_a_search_that_fails_leaves_nothing_to_act_on(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stood in the list before has nothing to do with what was searched for."""
    pressed = threading.Event()

    def fail(self: Store, request: Request) -> Iterator[SearchResult]:
        assert pressed.wait(PATIENCE)
        raise StoreError("The disk is gone.")

    monkeypatch.setattr(MessageSearch, "stream", fail)

    async def script(pilot: Pilot[Any]) -> None:
        main(pilot).search.text = "docker"
        await pilot.press("enter")
        pressed.set()
        await until(pilot, lambda: "The search failed" in shown(pilot), "the reason")
        await press(pilot, "enter", "ctrl+d")
        assert pilot.app.return_value is None and pilot.app.screen is main(pilot)
        assert "The disk is gone." in shown(pilot) and listed(pilot) == []
        await press(pilot, "escape")
        assert listed(pilot)

    drive(make_app(sample), script)
