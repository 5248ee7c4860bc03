"""Every dialog is usable in a small terminal: no button is cut off, every field can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from hermes_store.store import Store
from hermes_tui.opening.start_options import State
from hermes_tui.widgets.checkboxes import OneOf, Tick
from tests.tui import stock
from tests.tui.running import Keys, Typed, drive, main, make_app, press

DIALOGS: dict[str, tuple[Keys, ...]] = {
    "rename": ("ctrl+r",),
    "rename to a title that is taken": ("ctrl+r", Typed("title of one")),
    "delete several": ("tab", "A", "d"),
    "prune": ("f2",),
    "export": ("tab", "x", "e"),
    "tags": ("tab", "A", "t"),
    "trash": ("f4",),
    "purge": ("f4", "d"),
    "saved searches": ("ctrl+s",),
    "save a search": (Typed("about"), "ctrl+s"),
}


@pytest.fixture
def several(path: Path) -> Path:
    """A file with conversations, a trash, tags and saved searches."""
    names = [f"number {each}" for each in range(12)]
    stock.several(path, "gone", "gone as well", "one", *names)
    with Store(path) as store:
        store.trash.delete(["gone", "gone as well"])
        store.marks.tag("one", "a tag with a long name", "work", "next week")
        for name in names:
            store.saved_searches.save(name, "source:cli about")
    return path


def assert_whole(pilot: Pilot[Any]) -> None:
    """Look for every button where it says it is, with all of its label."""
    screen = pilot.app.screen
    buttons = [each for each in screen.query(Button) if each.display]
    assert buttons
    for button in buttons:
        region = button.region
        assert region.height == 1 and region.width >= len(str(button.label)) + 2, button
        for x in (region.x, region.right - 1):
            assert screen.get_widget_at(x, region.y)[0] is button, f"{button} is covered"


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 36)], ids=["tiny", "narrow", "wide"])
@pytest.mark.parametrize("name", DIALOGS)
def test_no_button_is_cut_off(several: Path, name: str, size: tuple[int, int]) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, *DIALOGS[name])
        screen = pilot.app.screen
        assert screen is not main(pilot)
        assert_whole(pilot)
        fields = [each for each in screen.query("Input, OneOf, Tick") if each.focusable]
        seen = set()
        for _ in range(len(screen.focus_chain)):
            await press(pilot, "tab")
            focused = pilot.app.focused
            assert focused is not None
            seen.add(focused)
            if isinstance(focused, Input | OneOf | Tick):
                middle = focused.region
                assert screen.get_widget_at(middle.x, middle.y)[0] in focused.walk_children(
                    with_self=True
                ), f"{focused} is out of sight"
        assert seen.issuperset(fields)
        await press(pilot, "escape")

    drive(make_app(several, state=State(session_id="one")), script, size)


def test_a_single_session_of_a_conversation(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "right", "down", "d")
        assert_whole(pilot)

    drive(make_app(sample, state=State(session_id=stock.CHAIN)), script, (40, 12))
