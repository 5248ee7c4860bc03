"""Every change that the browser offers, made by its keys and read back from the file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from hermes_store.store import Store
from hermes_tui.dialogs.delete import DeleteDialog
from hermes_tui.dialogs.rename import RenameDialog
from hermes_tui.opening.start_options import State
from tests.tui import stock
from tests.tui.running import (
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

# -- titles ------------------------------------------------------------------------------------


def test_rename(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", Typed("another name"), "enter")
        row = main(pilot).list.sessions.row("three")
        assert row is not None and row.title == "another name"
        assert said(pilot) == ["Renamed to “another name” — ^z undo"]

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


def test_a_session_below_a_conversation_is_renamed_by_its_own_title(sample: Path) -> None:
    with Store(sample) as store:
        second = store.transcripts.outline(stock.CHAIN).segments[1].session_id
        store.sessions.rename(second, "the second part")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "right", "down", "r")
        assert pilot.app.screen.query_one("#title", Input).value == "the second part"
        await press(pilot, Typed("part two"), "enter")

    drive(make_app(sample, state=State(session_id=stock.CHAIN)), script)
    with Store(sample, read_only=True) as store:
        assert store.sessions.get(second).title == "part two"


def test_an_empty_title_takes_it_away(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+r", "backspace", "enter")

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert store.sessions.get("three").title is None


# -- delete, undo, trash -----------------------------------------------------------------------


def test_delete_and_undo(three: Path) -> None:
    """One conversation goes without a question, and comes back; the cursor stays where it was."""

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "down", "d")
        assert pilot.app.screen is main(pilot)
        assert listed(pilot) == ["three", "one"]
        assert main(pilot).list.sessions.current_id() == "one"
        assert said(pilot) == ["“title of two” moved to trash — ^z undo"]
        assert ids(three) == {"three", "one"}
        await press(pilot, "u")
        assert listed(pilot) == ["three", "two", "one"]
        assert said(pilot) == ["Undone: “title of two” restored"]

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
        assert isinstance(pilot.app.focused, Input)
        assert len(listed(pilot)) == 2
        assert said(pilot)[-1].endswith(f"moved to trash — {shown} undo")
        await press(pilot, key)
        assert len(listed(pilot)) == 3

    drive(make_app(three, keys=keys), script)


def test_what_was_done_can_be_read_in_a_tiny_terminal(three: Path) -> None:
    """All of it, and only what was done last."""

    def last_lines(pilot: Pilot[Any]) -> str:
        height = main(pilot).status.region.height
        return " ".join(" ".join(page(pilot)[-height:]).split())

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "ctrl+d")
        assert last_lines(pilot) == "“title of three” moved to trash — ^z undo"
        await press(pilot, "ctrl+z")
        assert last_lines(pilot) == "Undone: “title of three” restored"

    drive(make_app(three), script, size=(40, 12))


def test_a_change_keeps_the_order_of_a_search(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("docker"))
        main(pilot).search.toggle_order()
        await press(pilot)
        await press(pilot, "down", "down")
        before, gone = listed(pilot), main(pilot).list.sessions.current_id()
        await press(pilot, "ctrl+d")
        assert "most relevant first" in shown(pilot)
        assert listed(pilot) == [each for each in before if each != gone]
        assert main(pilot).list.sessions.current_id() == before[3]

    drive(make_app(sample), script)


@pytest.mark.parametrize("keys", [["escape"], ["n"], ["left", "enter"], ["tab", "enter"]])
def test_several_can_be_kept_after_all(three: Path, keys: list[str]) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x", "d")
        assert "Delete 2 conversations" in shown(pilot)
        assert "title of three" in shown(pilot)
        await press(pilot, *keys)
        assert pilot.app.screen is main(pilot)
        assert [*main(pilot).list.sessions.selected] == ["three", "two"]

    drive(make_app(three), script)
    assert ids(three) == set(THREE)


@pytest.mark.parametrize("keys", [["enter"], ["y"], ["left", "right", "enter"], ["tab", "y"]])
def test_delete_all_selected(three: Path, keys: list[str]) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x", "d")
        assert isinstance(pilot.app.focused, Button) and pilot.app.focused.id == "ok"
        assert "▸Delete◂" in shown(pilot)
        await press(pilot, *keys)
        assert listed(pilot) == ["one"]
        assert ids(three) == {"one"}
        assert not main(pilot).list.sessions.selected
        assert said(pilot) == ["2 conversations moved to trash — ^z undo"]
        await press(pilot, "u")
        assert listed(pilot) == ["three", "two", "one"]
        await press(pilot, "x", "d")
        assert listed(pilot) == ["three", "two"], (
            "one selected conversation goes without a question"
        )

    drive(make_app(three), script)


def test_delete_one_segment_of_a_chain(sample: Path) -> None:
    with Store(sample, read_only=True) as store:
        before = [each.session_id for each in store.transcripts.outline(stock.CHAIN).segments]

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "right", "down")
        assert main(pilot).list.sessions.current_id() == before[1]
        await press(pilot, "d", "y")
        assert said(pilot) == ["1 session moved to trash — ^z undo"]
        sessions = main(pilot).list.sessions
        assert sessions.current_id() == before[2], "it is no longer listed"
        await press(pilot, "u", "up")
        assert sessions.current_id() == before[1], "it is listed again"
        await press(pilot, "d", "y")

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
        assert "“still talking” is in use and was not deleted." in said(pilot)[0]
        assert "has not ended" in said(pilot)[0]
        assert main(pilot).list.sessions.current_id() == "living", (
            "pressed again, it means the same"
        )

    drive(make_app(path, clock=None), script)
    assert "living" in ids(path)


def test_a_live_session_stays_when_several_go(path: Path) -> None:
    stock.with_live(path, now=time.time())

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "A", "d")
        assert "“still talking” is in use and stays." in shown(pilot)
        assert "Delete 2 conversations" in shown(pilot)
        assert "  still talking" not in text_of(pilot.app.screen.query_one("#names"))
        await press(pilot, "enter")
        assert listed(pilot) == ["living"]
        assert said(pilot) == ["2 conversations moved to trash — ^z undo"]

    drive(make_app(path, clock=None), script)
    assert ids(path) == {"living"}


def test_only_a_live_session_cannot_be_confirmed(path: Path) -> None:
    now = time.time()
    stock.with_live(path, now=now)

    async def script(pilot: Pilot[Any]) -> None:
        dialog = DeleteDialog(main(pilot).access, ["living"], ["still talking"], now)
        pilot.app.push_screen(dialog)
        await press(pilot, "y")
        assert pilot.app.screen is dialog
        assert "cannot be deleted" in shown(pilot)
        assert dialog.query_one("#ok", Button).disabled

    drive(make_app(path, clock=None), script)


def test_trash_restores_one_of_three(three: Path) -> None:
    with Store(three) as store:
        store.trash.delete(["one", "two", "three"])

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4")
        assert "3 conversations" in shown(pilot) and "Restore all 3" in shown(pilot)
        await press(pilot, "down", "enter")
        assert listed(pilot) == ["two"]
        assert said(pilot) == ["Restored “title of two” — ^z undo"]
        await press(pilot, "f4", "a")
        assert listed(pilot) == ["three", "two", "one"]
        assert said(pilot) == ["Restored 2 conversations — ^z undo"]
        assert ids(three) == set(THREE)
        await press(pilot, "ctrl+z", "ctrl+z")
        assert listed(pilot) == []
        assert said(pilot) == ["Undone: “title of two” moved to trash again"]

    drive(make_app(three), script)
    assert ids(three) == set()


def test_an_empty_trash_says_what_it_is_for(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4")
        assert "The trash is empty." in shown(pilot)
        await press(pilot, "enter")
        assert pilot.app.screen is main(pilot)

    drive(make_app(three), script)


@pytest.mark.parametrize(("button", "left"), [("#purge", 2), ("#everything", 0)])
def test_trash_purges_after_asking_again(three: Path, button: str, left: int) -> None:
    with Store(three) as store:
        store.trash.delete(["one", "two", "three"])

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4")
        await click(pilot, button)
        assert isinstance(pilot.app.focused, Button) and pilot.app.focused.id == "cancel"
        await press(pilot, "n")
        await click(pilot, button)
        await press(pilot, "enter")
        await click(pilot, button)
        await press(pilot, "y")
        assert "Permanently deleted" in said(pilot)[0] and "undo" not in said(pilot)[0]

    drive(make_app(three), script)
    with Store(three, read_only=True) as store:
        assert len(store.trash.conversations()) == left


# -- prune, export -----------------------------------------------------------------------------


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
        await press(pilot, "t", "ctrl+u", "enter")
        assert marks().tags == ()
        await press(pilot, "a")
        assert marks().archived and listed(pilot) == ["two", "one"]
        await press(pilot, "H", "home")
        assert main(pilot).list.sessions.current_id() == "three"
        await press(pilot, "a")
        assert not marks().archived

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
            main(pilot).status.clear()
            await press(pilot, key)
            assert pilot.app.screen is main(pilot), f"{key} opened something"
            assert said(pilot) == [
                "The browser was opened with --read-only; nothing can be changed."
            ]
        main(pilot).status.clear()
        await press(pilot, "f4", "enter")
        assert "--read-only" in said(pilot)[0]
        main(pilot).status.clear()
        await press(pilot, "/", Typed("about"), "ctrl+s", Typed("mine"), "enter")
        assert "--read-only" in shown(pilot), "the dialog says it itself"

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
