"""Databases in which nothing is what its column promises: the browser shows them and stays up."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.store import Store
from hermes_tui.app import HermesApp
from hermes_tui.opening.start_options import State
from tests import odd_files
from tests.cli.test_odd_values import ODD
from tests.odd_files import ESCAPES, START, WORD
from tests.support import raw
from tests.tui import stock
from tests.tui.running import drive, main, make_app, page, press, said, settle, shown, text_of
from tests.tui.talking import chat_app, say, screen

ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
DIALOGS = ("r", "d", "e", "p", "t", "f1", "f3", "f4", "f6", "f9", "ctrl+p")
LISTS = ("O", "O", "O", "O", "o", "o", "o", "o", "H", "right", "space", "down", "right", "left")


def look(pilot: Pilot[Any]) -> None:
    """Look at all that is on the screen, in its texts and in its messages."""
    for line in page(pilot):
        found = ACTS.search(line)
        assert found is None, f"{found[0]!r} in {line!r}"
    for widget in pilot.app.screen.query(Static):
        shown = widget.render()
        text = shown.plain if isinstance(shown, Content) else str(shown)
        found = ACTS.search(text)
        assert found is None, f"{found[0]!r} in {widget}: {text!r}"
    for message in said(pilot):
        assert ACTS.search(message) is None, message


async def look_everywhere(pilot: Pilot[Any]) -> None:
    """Open every pane, page and dialog."""
    look(pilot)
    await press(pilot, "tab")
    for key in ["ctrl+t"] * 4:
        await press(pilot, key)
        look(pilot)
        await press(pilot, "down")
        look(pilot)
    await press(pilot, "tab", "2", "Z", "home", "end", "escape")
    look(pilot)
    for key in LISTS:
        await press(pilot, key)
        look(pilot)
    await press(pilot, "home")
    for key in DIALOGS:
        main(pilot).list.sessions.focus()
        if key == "d":
            await press(pilot, "A")  # several, because a single one goes without a question
        await press(pilot, key)
        look(pilot)
        await press(pilot, "escape")
        while pilot.app.screen is not main(pilot):
            await press(pilot, "escape")
    for key in ("P", "a", "y", "Y", "P", "a"):
        await press(pilot, key)
        look(pilot)
    main(pilot).search.text = WORD
    await settle(pilot)
    look(pilot)
    await press(pilot, "ctrl+o", "tab", "n", "n", "N")
    look(pilot)
    await press(pilot, "escape", "escape", "ctrl+up")
    look(pilot)


def browse(path: Path, **opening: Any) -> HermesApp:
    app = make_app(path, clock=START + 5_000, **opening)
    drive(app, look_everywhere)
    assert app.crash_log is None, app.crash_log.read_text(encoding="utf-8")
    assert not list(path.parent.rglob("*crash*")), "a job failed"
    return app


@pytest.fixture(scope="module")
def escapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("escapes")
    odd_files.with_escapes(folder / "state.db")
    return folder


@pytest.fixture
def place(escapes: Path, tmp_path: Path) -> Path:
    shutil.copytree(escapes, tmp_path / "home")
    return tmp_path / "home"


def test_escapes_everywhere(tmp_path: Path) -> None:
    odd_files.with_escapes(tmp_path / "home" / "state.db", choices=True)
    browse(tmp_path / "home" / "state.db")


def test_escapes_with_times(place: Path) -> None:
    with raw(place / "state.db") as con:
        con.execute("UPDATE sessions SET started_at = ?, ended_at = NULL", (START,))
        con.execute("UPDATE messages SET timestamp = ?", (START + 1,))
    browse(place / "state.db", notice=f"no {ESCAPES}")


def test_escapes_in_what_was_deleted(place: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")
        look(pilot)
        await press(pilot, "f4")
        look(pilot)
        await press(pilot, "enter")
        look(pilot)

    app = make_app(place / "state.db")
    drive(app, script)
    assert app.crash_log is None


def test_escapes_in_a_chat(place: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        look(pilot)
        for command in ("/help", "/title", "/resume", f"/resume no{ESCAPES}", "/history", "/x"):
            await say(pilot, command)
            look(pilot)
            while pilot.app.screen is not screen(pilot):
                await press(pilot, "escape")
        await say(pilot, f"hello {ESCAPES}")
        look(pilot)

    app = chat_app(place / "state.db", None, f"plain{ESCAPES}{WORD}")
    drive(app, script)
    assert app.crash_log is None, app.crash_log.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(2))
def test_any_value_anywhere(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "home" / "state.db"
    odd_files.make(path)
    chance = random.Random(seed)

    def some(table: str, column: str, old: Any) -> Any:
        return chance.choice(ODD) if chance.random() < 0.3 else old

    for each in (path, path_for(path)):
        odd_files.fill(each, some)
    browse(path, state=State(tab=("recap", "transcript")[seed]))


def test_a_start_in_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "home" / "state.db"
    odd_files.make(path)
    with raw(path) as con:
        con.execute("UPDATE sessions SET started_at = started_at * 1000 WHERE id = 'plain'")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "O", "f3")
        assert "All time" in shown(pilot) and "bug" not in shown(pilot)

    app = make_app(path, clock=START + 5_000)
    drive(app, script)
    assert app.crash_log is None and not list(path.parent.rglob("*crash*"))


@pytest.mark.parametrize("moment", [0.0, -1.0, -1e300, float("-inf")])
def test_a_time_that_is_none_is_unknown_in_list_and_info(path: Path, moment: float) -> None:
    stock.several(path, "odd")
    with Store(path) as store, store.database.write() as tx:
        tx.run("UPDATE sessions SET started_at = ?", (moment,))
        tx.run("UPDATE messages SET timestamp = ?", (moment,))

    async def script(pilot: Pilot[Any]) -> None:
        assert "1970" not in shown(pilot) and "Jan" not in shown(pilot)
        info = text_of(main(pilot).reading.info)
        assert re.search(r"Started +\?\n", info) and re.search(r"Last active +\?\n", info)

    drive(make_app(path, state=State(tab="info")), script)
