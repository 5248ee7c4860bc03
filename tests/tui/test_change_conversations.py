"""Every change that the browser offers, made by its keys and read back from the file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from hermes_store import SessionDB
from hermes_store.records.listing import Hidden, View
from hermes_store.store import Store
from hermes_tui.dialogs.delete import DeleteDialog
from hermes_tui.dialogs.rename import RenameDialog
from hermes_tui.start_options import State
from tests.tui import stock
from tests.tui.running import (
    NOW,
    Typed,
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

THREE = ("one", "two", "three")


@pytest.fixture
def three(path: Path) -> Path:
    """A file with three conversations; `three` is the newest."""
    stock.several(path, *THREE)
    return path


def ids(path: Path) -> set[str]:
    """Return the sessions that are in a file."""
    with Store(path, read_only=True) as store:
        view = View(shown=frozenset(Hidden))
        return {entry for entry in store.lists.entries(view, now=NOW) if isinstance(entry, str)}


async def click(pilot: Pilot[Any], button: str) -> None:
    """Press a button of a dialog."""
    assert not pilot.app.screen.query_one(button, Button).disabled
    await pilot.click(button)
    await press(pilot)


# -- titles ------------------------------------------------------------------------------------


def test_rename(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", Typed("another name"), "enter")
        row = main(pilot).list.sessions.row("three")
        assert row is not None and row.title == "another name"
        assert said(pilot) == ["Renamed to “another name”."]

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert store.sessions.get("three").title == "another name"


def test_rename_takes_the_suggestion(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "r", Typed("title of one"))
        dialog = pilot.app.screen
        assert isinstance(dialog, RenameDialog)
        assert dialog.query_one("#ok", Button).disabled
        assert "one" in text_of(dialog.query_one("#advice"))
        await press(pilot, "enter")
        assert pilot.app.screen is dialog, "Enter must not take a title that is taken"
        await click(pilot, "#suggest")

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert store.sessions.get("three").title == "title of one #2"


def test_rename_reaches_the_tip_of_a_chain(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", Typed("the whole family"), "enter")

    drive(make_app(sample, state=State(session_id=stock.FAMILY)), script)
    with Store(sample, read_only=True) as store:
        assert (
            store.sessions.get(store.transcripts.outline(stock.FAMILY).tip_id).title
            == "the whole family"
        )


def test_an_empty_title_takes_it_away(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", "backspace", "enter")

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert store.sessions.get("three").title is None


# -- delete, undo, trash -----------------------------------------------------------------------


def test_delete_and_undo(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "down", "d")
        assert isinstance(pilot.app.focused, Button)
        assert pilot.app.focused.id == "cancel", "the safe button has the keys"
        await click(pilot, "#ok")
        assert listed(pilot) == ["three", "one"]
        assert ids(three) == {"three", "one"}
        await press(pilot, "u")
        assert listed(pilot) == ["three", "two", "one"]

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert [message.text for message in store.messages.of("two")] == ["about two"]
        assert store.sessions.get("two").title == "title of two"


@pytest.mark.parametrize(
    ("keys", "key", "shown"), [({}, "ctrl+z", "^z"), ({"undo-now": "f8"}, "f8", "F8")]
)
def test_the_key_that_is_named_undoes_from_the_search_field(
    three: Path, keys: dict[str, str], key: str, shown: str
) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+d")
        await click(pilot, "#ok")
        assert isinstance(pilot.app.focused, Input)
        assert len(listed(pilot)) == 2
        assert said(pilot)[-1].endswith(f"moved to trash. {shown} undoes this.")
        await press(pilot, key)
        assert len(listed(pilot)) == 3

    drive(make_app(three, keys=keys), script)


def test_what_was_done_can_be_read_in_a_tiny_terminal(three: Path) -> None:
    """All of it, and only what was done last."""

    def last_lines(pilot: Pilot[Any]) -> str:
        lines = [line.strip("▌ ") for line in page(pilot) if line.startswith("▌")]
        return " ".join(" ".join(lines).split())

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+d")
        await click(pilot, "#ok")
        assert last_lines(pilot) == "1 conversation, 1 message moved to trash. ^z undoes this."
        await press(pilot, "ctrl+z")
        assert last_lines(pilot) == "1 session, 1 message restored."

    drive(make_app(three), script, size=(40, 12))


def test_a_change_keeps_the_order_of_a_search(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("docker"))
        main(pilot).search.toggle_order()
        await press(pilot)
        await press(pilot, "down", "down")
        before, gone = listed(pilot), main(pilot).list.sessions.current_id()
        await press(pilot, "ctrl+d")
        await click(pilot, "#ok")
        assert "most relevant first" in shown(pilot)
        assert listed(pilot) == [each for each in before if each != gone]
        assert main(pilot).list.sessions.current_id() == before[3]

    drive(make_app(sample), script)


def test_escape_deletes_nothing(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+d", "escape", "ctrl+d", "enter")
        assert pilot.app.screen is main(pilot)

    drive(make_app(three), script)
    assert ids(three) == set(THREE)


def test_delete_all_selected(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x", "d")
        await click(pilot, "#ok")
        assert listed(pilot) == ["one"]
        assert not main(pilot).list.sessions.selected

    drive(make_app(three), script)
    assert ids(three) == {"one"}


def test_delete_one_segment_of_a_chain(sample: Path) -> None:
    with Store(sample, read_only=True) as store:
        before = [each.session_id for each in store.transcripts.outline(stock.CHAIN).segments]

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "right", "down", "d")
        await click(pilot, "#ok")

    drive(make_app(sample, state=State(session_id=stock.CHAIN)), script)
    with Store(sample, read_only=True) as store:
        after = [each.session_id for each in store.transcripts.outline(stock.CHAIN).segments]
    assert after == [before[0], *before[2:]]


def test_a_live_session_is_protected(path: Path) -> None:
    now = time.time()
    stock.with_live(path, now=now)

    async def script(pilot: Pilot[Any]) -> None:
        assert main(pilot).list.sessions.current_id() == "living"
        await press(pilot, "ctrl+d")
        dialog = pilot.app.screen
        assert isinstance(dialog, DeleteDialog)
        assert dialog.query_one("#ok", Button).disabled
        assert "cannot be deleted" in shown(pilot)
        # Even if the button were pressed, the store refuses.
        dialog.confirm("ok")
        await press(pilot)
        assert any("has not ended" in note for note in said(pilot))

    drive(make_app(path, clock=None), script)
    assert "living" in ids(path)


def test_trash_restores(three: Path) -> None:
    stock.fill_trash(three, "one", "two")
    assert ids(three) == {"three"}

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4", "down", "enter")
        assert listed(pilot) == ["three", "one"]
        await press(pilot, "f4", "r")
        assert listed(pilot) == ["three", "two", "one"]

    drive(make_app(three), script)
    assert ids(three) == set(THREE)


@pytest.mark.parametrize(("button", "left"), [("#purge", 1), ("#everything", 0)])
def test_trash_purges_after_asking_again(three: Path, button: str, left: int) -> None:
    stock.fill_trash(three, "one", "two")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4")
        await click(pilot, button)
        await press(pilot, "escape")
        await click(pilot, button)
        await click(pilot, "#ok")

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert len(store.trash.list()) == left


# -- prune, export -----------------------------------------------------------------------------


def test_prune_takes_what_it_showed(sample: Path) -> None:
    before = ids(sample)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f2")
        pilot.app.screen.query_one("#older", Input).value = "200"
        pilot.app.screen.query_one("#title", Input).value = "docker"
        await press(pilot)
        assert "would move to trash" in shown(pilot)
        await click(pilot, "#ok")

    drive(make_app(sample), script)
    gone = before - ids(sample)
    assert gone
    with Store(sample, read_only=True) as store:
        (batch,) = store.trash.list()
        assert gone <= set(batch.session_ids)
        assert all("docker" in title.lower() for title in batch.titles[:1])


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
            (str(tmp_path / "old.jsonl"), "will be replaced", False),
            (str(tmp_path), "is a folder", True),
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

    drive(make_app(three), script)


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


# -- marks, searches ---------------------------------------------------------------------------


def test_marks(three: Path) -> None:
    def marks() -> Any:
        with Store(three, read_only=True) as store:
            return store.marks.of(["three"])["three"]

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "P")
        assert marks().pinned and "⚑" in shown(pilot)
        await press(pilot, "P")
        assert not marks().pinned
        await press(pilot, "t", Typed("work, #urgent"), "enter")
        assert set(marks().tags) == {"work", "urgent"} and "#work" in shown(pilot)
        await press(pilot, "t", "backspace", "enter")
        assert marks().tags == ()
        await press(pilot, "a")
        assert marks().archived and listed(pilot) == ["two", "one"]
        await press(pilot, "h", "home")
        assert main(pilot).list.sessions.current_id() == "three"
        await press(pilot, "a")
        assert not marks().archived

    drive(make_app(three), script)


def test_searches_are_kept_and_forgotten(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("about"), "ctrl+s", Typed("mine"), "enter")
        with Store(three, read_only=True) as store:
            assert [(each.name, each.text) for each in store.saved_searches.list()] == [
                ("mine", "about")
            ]
        await press(pilot, "ctrl+s", "d")
        with Store(three, read_only=True) as store:
            assert store.saved_searches.list() == ()

    drive(make_app(three), script)


def test_copying_names_what_was_copied(sample: Path) -> None:
    with Store(sample, read_only=True) as store:
        tip = store.transcripts.outline(stock.FAMILY).tip_id

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "y")
        assert (pilot.app.clipboard, said(pilot)) == (tip, [f"Copied {tip}."])
        await press(pilot, "Y")
        command = f"hermes --resume {tip}"
        assert (pilot.app.clipboard, said(pilot)) == (command, [f"Copied {command}."])

    drive(make_app(sample, state=State(session_id=stock.FAMILY)), script)


# -- refusing ----------------------------------------------------------------------------------


def test_read_only_refuses_every_change(three: Path) -> None:
    stock.fill_trash(three, "one")
    before = three.read_bytes(), ids(three)

    async def script(pilot: Pilot[Any]) -> None:
        for key in ("r", "d", "u", "p", "P", "a", "t", "ctrl+r", "ctrl+d", "ctrl+z", "f2"):
            main(pilot).list.sessions.focus()
            pilot.app.clear_notifications()
            await press(pilot, key)
            assert pilot.app.screen is main(pilot), f"{key} opened something"
            assert said(pilot) == [
                "The browser was opened with --read-only; nothing can be changed."
            ]
        pilot.app.clear_notifications()
        await press(pilot, "f4", "enter")
        assert "--read-only" in said(pilot)[0]
        await press(pilot, "/", Typed("about"), "ctrl+s", Typed("mine"), "enter")
        assert "--read-only" in said(pilot)[-1]

    drive(make_app(three, read_only=True), script)
    assert (three.read_bytes(), ids(three)) == before
    with Store(three, read_only=True) as store:
        assert store.saved_searches.list() == ()
        assert store.saved_searches.history() == ()
        assert len(store.trash.list()) == 1


def test_what_fails_is_said(three: Path) -> None:
    """The session goes away while its dialog is open."""

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", Typed("too late"))
        with Store(three) as store:
            store.trash.delete_conversation("three")
        await press(pilot, "enter")
        assert "three" in said(pilot)[-1]
        assert pilot.app.is_running

    drive(make_app(three), script)
