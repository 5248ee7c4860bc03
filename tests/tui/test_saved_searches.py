"""The dialog of saved searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from hermes_store.store import Store
from tests.tui.running import (
    Typed,
    drive,
    main,
    make_app,
    press,
    shown,
)


def test_searches_are_kept_and_forgotten(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("about"), "ctrl+s", Typed("mine"), "enter")
        with Store(three, read_only=True) as store:
            assert [(each.name, each.text) for each in store.saved_searches.list()] == [
                ("mine", "about")
            ]
        await press(pilot, "d")
        with Store(three, read_only=True) as store:
            assert store.saved_searches.list() == ()
        assert "No saved searches" in shown(pilot)
        await press(pilot, "escape", "ctrl+z")
        with Store(three, read_only=True) as store:
            assert [each.name for each in store.saved_searches.list()] == ["mine"]

    drive(make_app(three), script)


def test_saved_searches_are_moved_and_chosen(three: Path) -> None:
    with Store(three) as store:
        for name in ("one", "two"):
            store.saved_searches.save(name, f"about {name}")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+s", "down", "u")
        with Store(three, read_only=True) as store:
            assert [each.name for each in store.saved_searches.list()] == ["two", "one"]
        await press(pilot, "enter")
        assert pilot.app.screen is main(pilot)
        assert main(pilot).search.text == "about two"
        await press(pilot, "ctrl+s", "2")
        assert main(pilot).search.text == "about one"

    drive(make_app(three), script)
