"""Deleting old conversations, and exporting, from the browser."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Input

from hermes_store import SessionDB
from hermes_store.records.prune import PrunePlan
from hermes_store.store import Store
from hermes_store.upkeep.api import Upkeep
from hermes_tui.dialogs.prune import PruneDialog
from hermes_tui.widgets.checkboxes import Option
from tests.support import add
from tests.tui.running import (
    PATIENCE,
    Typed,
    click,
    drive,
    listed,
    main,
    make_app,
    page,
    press,
    said,
    shown,
    text_of,
)
from tests.tui.stock import THREE, ids
from tests.tui.talking import wait


def test_prune_takes_what_it_showed(sample: Path) -> None:
    before = ids(sample)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2")
        pilot.app.screen.query_one("#older", Input).value = "200"
        pilot.app.screen.query_one("#title", Input).value = "docker"
        await press(pilot)
        assert "Moved to trash; can be undone." in shown(pilot)
        await press(pilot, "enter", "enter")
        assert "moved to trash — ^z undo" in said(pilot)[0]

    drive(make_app(sample), script)
    gone = before - ids(sample)
    assert gone
    with Store(sample, read_only=True) as store:
        (batch,) = store.trash.list()
        assert gone <= set(batch.session_ids)
        assert all("docker" in title.lower() for title in batch.titles[:1])


def test_single_ones_are_spared_from_a_prune(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2")
        pilot.app.screen.query_one("#older", Input).value = "0"
        await press(pilot)
        assert "3 conversations, 3 messages" in shown(pilot)
        pilot.app.screen.query_one("#preview").focus()
        await press(pilot, "space", "space", "up", "space")
        assert "2 conversations, 2 messages" in shown(pilot) and "You keep 1." in shown(pilot)
        await click(pilot, "#ok")
        assert listed(pilot) == ["one"]
        await press(pilot, "ctrl+z")
        assert listed(pilot) == ["three", "two", "one"]

    drive(make_app(three), script)


def test_prune_never_takes_what_an_earlier_filter_showed(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast somebody types: Delete waits for what belongs to the fields."""
    held, plan = threading.Event(), Upkeep.plan_prune

    def slowly(self: Upkeep, *arguments: Any) -> PrunePlan:
        assert held.wait(PATIENCE)
        return plan(self, *arguments)

    monkeypatch.setattr(Upkeep, "plan_prune", slowly)

    async def script(pilot: Pilot[Any]) -> None:
        held.set()
        await press(pilot, "f2", *["backspace"] * 2, "0")
        assert "3 conversations" in shown(pilot)
        held.clear()
        for key in ("4", "0", "0", "enter", "enter"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        dialog = pilot.app.screen
        assert isinstance(dialog, PruneDialog)
        await wait(pilot, lambda: dialog.holds_keys, "Enter that waits")
        held.set()
        await wait(pilot, lambda: "Nothing matches." in shown(pilot), "the answer")
        await press(pilot)
        assert pilot.app.screen is dialog and ids(three) == set(THREE)
        await press(pilot, "shift+tab", "escape")

    drive(make_app(three), script)


def test_prune_names_untitled_conversations_by_their_first_words(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "nameless", "what is the capital", "and more", at=1_000.0, ended=1_100.0)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2")
        row = next(line for line in page(pilot) if "what is the capital" in line)
        assert "2 msg" in row
        await press(pilot, *["backspace"] * 2, Typed("99999"))
        assert "Nothing matches." in shown(pilot)
        assert pilot.app.screen.query_one("#ok", Button).disabled

    drive(make_app(path), script)


@pytest.mark.parametrize("days", ["abc", "-1", "nan", "inf"])
def test_prune_explains_a_wrong_filter(sample: Path, days: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2")
        pilot.app.screen.query_one("#older", Input).value = days
        await press(pilot)
        assert "Days and messages" in shown(pilot)
        assert pilot.app.screen.query_one("#ok", Button).disabled

    drive(make_app(sample), script)


@pytest.mark.parametrize(
    ("fmt", "ending"), [("jsonl", "jsonl"), ("markdown", "md"), ("html", "html")]
)
def test_export(
    three: Path, tmp_path: Path, fmt: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        await pilot.click(f"#{fmt}")
        await press(pilot)
        await click(pilot, "#ok")

    drive(make_app(three), script)
    text = (tmp_path / f"three.{ending}").read_text(encoding="utf-8")
    assert "about three" in text
    assert "about two" not in text


def test_export_of_what_is_listed(three: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl"

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        await pilot.click("#listed")
        pilot.app.screen.query_one("#path", Input).value = str(target)
        await press(pilot)
        await click(pilot, "#ok")

    drive(make_app(three), script)
    records = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert {record["id"] for record in records if "id" in record} >= set(THREE)


def test_export_warns_before_it_replaces(three: Path, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("old")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        field = pilot.app.screen.query_one("#path", Input)
        for value, sentence, refused in (
            (str(tmp_path / "old.jsonl"), "This file exists.", False),
            (str(tmp_path), "Creates three.jsonl in this folder.", False),
            (f"{tmp_path}/none/", "folder does not exist", True),
            (str(tmp_path / "no" / "such.jsonl"), "folder does not exist", True),
            ("~nosuch", "home folder ~nosuch is unknown", True),
            (str(tmp_path / ("x" * 400)), "cannot be used: File name too long", True),
            (str(three), "a file that Hermes needs", True),
            (str(three.parent / "config.yaml"), "a file that Hermes needs", True),
        ):
            field.value = value
            await press(pilot)
            assert sentence in text_of(pilot.app.screen.query_one("#advice"))
            assert pilot.app.screen.query_one("#ok", Button).disabled is refused
        field.value = str(tmp_path / "old.jsonl")
        await press(pilot, "enter")
        assert "Enter again replaces it." in shown(pilot)
        assert (tmp_path / "old.jsonl").read_text() == "old"
        await press(pilot, "enter")
        assert pilot.app.screen is main(pilot)

    drive(make_app(three), script)


def test_export_into_a_folder(three: Path, tmp_path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        pilot.app.screen.query_one("#path", Input).value = f"{tmp_path}/"
        await press(pilot, "enter")

    drive(make_app(three), script)
    assert "about three" in (tmp_path / "three.jsonl").read_text(encoding="utf-8")


def test_export_follows_the_ending_of_the_name(three: Path, tmp_path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        pilot.app.screen.query_one("#path", Input).value = str(tmp_path / "notes.MD")
        await press(pilot)
        assert pilot.app.screen.query_one("#markdown", Option).value
        await pilot.click("#html")
        await press(pilot)
        said = "The name ends in .MD, but the format is HTML page."
        assert said in text_of(pilot.app.screen.query_one("#advice"))
        await pilot.click("#markdown")
        await press(pilot)
        assert not text_of(pilot.app.screen.query_one("#advice")).strip()
        await click(pilot, "#ok")

    drive(make_app(three), script)
    assert (tmp_path / "notes.MD").read_text(encoding="utf-8").startswith("#")


def test_export_exports_what_is_selected(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enter takes what the dialog shows; arrows choose, and Enter never changes the choice."""
    monkeypatch.chdir(tmp_path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x", "e")
        assert isinstance(pilot.app.focused, Input)
        await press(pilot, "tab", "down", "up", "enter")
        assert said(pilot) == [f"2 sessions exported to {tmp_path / 'hermes-sessions.jsonl'}."]

    drive(make_app(three), script)
    lines = (tmp_path / "hermes-sessions.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["id"] for line in lines} == {"two", "three"}


@pytest.mark.parametrize(
    ("session_id", "name"),
    [
        ("/etc/x", "etc-x.jsonl"),
        ("../../x", "x.jsonl"),
        ("..", "session.jsonl"),
        ("~r", "r.jsonl"),
        ("x" * 400, "x" * 100 + ".jsonl"),
        ("agent:main:telegram", "agent-main-telegram.jsonl"),
    ],
)
def test_export_suggests_a_plain_name_in_the_current_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session_id: str, name: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with SessionDB(path) as db:
        db.create_session(session_id, "cli")
        db.append_message(session_id, "user", "hello")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "e")
        assert pilot.app.screen.query_one("#path", Input).value == str(tmp_path / "here" / name)
        await click(pilot, "#ok")

    drive(make_app(path), script)
    [line] = (tmp_path / "here" / name).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["id"] == session_id


def test_prune_says_what_is_protected_and_why(three: Path) -> None:
    with Store(three) as store:
        store.marks.pin("one")
        store.marks.pin("two")
        store.marks.archive("three")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2", *["backspace"] * 2, "0")
        assert "3 are protected (2 pinned, 1 archived)." in shown(pilot)

    drive(make_app(three), script)
