"""The settings dialog: what is chosen applies at once and is there after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from hermes_tui import actions
from hermes_tui.actions import ACTIONS, BY_ID
from hermes_tui.app import HermesApp
from hermes_tui.dialogs.rename import RenameDialog
from hermes_tui.dialogs.settings import ROWS, SettingsList
from hermes_tui.opening.kept_state import Kept, load, path_for
from tests.tui.running import drive, main, make_app, press, shown
from tests.tui.running import load as loaded

RENAME = ROWS.index(BY_ID["rename"])


def again(database: Path) -> HermesApp:
    """Return the browser as it opens the next time."""
    return make_app(database, kept=load(path_for(database)))


def rows(pilot: Pilot[Any]) -> SettingsList:
    return pilot.app.screen.query_one(SettingsList)


async def go_to(pilot: Pilot[Any], index: int) -> None:
    """Open the settings at a row."""
    await press(pilot, "f9")
    rows(pilot).cursor = index
    await press(pilot)


def test_a_key_is_pressed_kept_and_works_after_a_restart(sample: Path) -> None:
    async def rebind(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await go_to(pilot, RENAME)
        await press(pilot, "enter")
        assert "press a key … (Esc cancels)" in shown(pilot)
        await press(pilot, "R")
        assert "press a key" not in shown(pilot)
        assert "Saved in ~/browser-state.json" in shown(pilot)
        await press(pilot, "escape", "tab", "r")
        assert pilot.app.screen is main(pilot), "the old key does nothing any more"
        await press(pilot, "R")
        assert isinstance(pilot.app.screen, RenameDialog)

    async def use(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await press(pilot, "tab", "R")
        assert isinstance(pilot.app.screen, RenameDialog)

    drive(make_app(sample), rebind)
    assert load(path_for(sample)) == Kept(keys={"rename": "R"})
    drive(again(sample), use)


@pytest.mark.parametrize(
    ("pressed", "kept"),
    [("f7", "f7"), ("ctrl+w", "ctrl+w"), ("percent_sign", "%"), ("shift+f8", "shift+f8")],
)
def test_any_key_can_be_one(sample: Path, pressed: str, kept: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await go_to(pilot, RENAME)
        await press(pilot, "enter", pressed)
        assert "Saved in" in shown(pilot)

    drive(make_app(sample), script)
    found = load(path_for(sample)).keys
    assert found == {"rename": kept} == actions.checked(found)


@pytest.mark.parametrize(
    ("key", "about"),
    [
        ("d", BY_ID["delete"].about),
        ("slash", BY_ID["search"].about),
        ("question_mark", BY_ID["help-list"].about),
        ("j", BY_ID["down"].about),
        ("ctrl+t", BY_ID["next-tab"].about),
    ],
)
def test_a_key_that_is_taken_is_refused_by_name(sample: Path, key: str, about: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await go_to(pilot, RENAME)
        await press(pilot, "enter", key)
        assert f"is taken: {about}" in shown(pilot)

    app = make_app(sample)
    drive(app, script)
    assert app.kept == Kept() and not path_for(sample).exists()


def test_escape_and_leaving_the_row_cancel(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await go_to(pilot, RENAME)
        await press(pilot, "enter", "escape")
        assert rows(pilot).waiting is None, "and the dialog is still open"
        await press(pilot, "enter")
        rows(pilot).cursor += 1
        await press(pilot)
        assert rows(pilot).waiting is None
        await press(pilot, "up", "enter", "tab")
        assert rows(pilot).waiting is None and "Tab is taken" in shown(pilot)

    app = make_app(sample)
    drive(app, script)
    assert app.kept == Kept()


@pytest.mark.parametrize("key", ["backspace", "delete"])
def test_a_key_goes_back_to_its_default(sample: Path, key: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await go_to(pilot, RENAME)
        line = rows(pilot).item_line(RENAME, 0, 60)
        assert line[0][0].strip() and line[1][0].startswith("R")
        await press(pilot, key)
        line = rows(pilot).item_line(RENAME, 0, 60)
        assert not line[0][0].strip() and line[1][0].startswith("r")
        await press(pilot, "escape", "tab", "r")
        assert isinstance(pilot.app.screen, RenameDialog)

    drive(make_app(sample, kept=Kept(keys={"rename": "R", "tag": "T"})), script)
    assert load(path_for(sample)).keys == {"tag": "T"}


def test_a_default_that_is_taken_meanwhile_is_refused(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await go_to(pilot, RENAME)
        await press(pilot, "backspace")
        assert "'r', which" in shown(pilot)

    app = make_app(sample, kept=Kept(keys={"rename": "R", "tag": "r"}))
    drive(app, script)
    assert app.kept.keys == {"rename": "R", "tag": "r"}


def test_a_theme_is_shown_chosen_and_kept(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        before = pilot.app.theme
        await press(pilot, "f9", "enter", "down")
        assert pilot.app.theme != before, "it is shown at once"
        await press(pilot, "escape")
        assert pilot.app.theme == before, "and gone when it is not chosen"
        await press(pilot, "enter")
        themes = pilot.app.screen.query_one(OptionList)
        themes.highlighted = sorted(pilot.app.available_themes).index("nord")
        await press(pilot, "enter")
        assert pilot.app.theme == "nord" and "Saved in" in shown(pilot)
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot) and pilot.app.theme == "nord"

    drive(make_app(sample), script)
    assert load(path_for(sample)).theme == "nord"


@pytest.mark.parametrize("size", [(120, 36), (40, 12), (20, 5)])
def test_the_current_theme_is_in_sight(sample: Path, size: tuple[int, int]) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f9", "enter")
        assert "textual-light" in shown(pilot)

    drive(make_app(sample, theme="textual-light"), script, size)


def test_other_choices_are_turned_over_and_reset(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f9", "down", "enter")
        assert "two lines" in shown(pilot)
        await press(pilot, "left", "left")
        assert "table" in shown(pilot)
        await press(pilot, "down", "down", "right")
        await press(pilot, "down", "right", "backspace", "right")

    app = make_app(sample)
    drive(app, script)
    kept = load(path_for(sample))
    assert kept == app.kept == Kept(density="table", sort="start", search_order="relevance")


def test_for_reading_only_it_says_that_nothing_is_saved(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f9", "down", "enter")
        assert "nothing is saved" in shown(pilot)

    app = make_app(sample, keeps=False)
    drive(app, script)
    assert app.kept.density == "two" and not path_for(sample).exists()


def test_every_action_has_a_row_that_fits(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f9", "end")
        assert ROWS[rows(pilot).cursor] is ACTIONS[-1]
        assert "Close" in shown(pilot)

    drive(make_app(sample), script, (40, 12))
