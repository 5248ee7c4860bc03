"""One undo stack for every change: several steps back, and only what was done here."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store.errors import DatabaseLocked, DatabaseReadOnly, InvalidInput
from hermes_store.records.marks import SessionMarks, TagChange
from hermes_store.store import Store
from hermes_tui.browse.undo_stack import MOST, Outcome, UndoStack
from hermes_tui.dialogs.progress import ProgressDialog
from hermes_tui.dialogs.tags import shown_tags, tag_change, typed_tags
from tests.tui import stock
from tests.tui.running import (
    PATIENCE,
    Typed,
    drive,
    listed,
    main,
    make_app,
    press,
    said,
    shown,
    until,
)


def marks(path: Path, *ids: str) -> list[SessionMarks]:
    """Return the marks of conversations."""
    with Store(path, read_only=True) as store:
        return [store.marks.of([each])[each] for each in ids]


def title(path: Path, session_id: str) -> str | None:
    """Return the title of a session."""
    with Store(path, read_only=True) as store:
        return store.sessions.get(session_id).title


def test_steps_are_taken_back_one_by_one(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "r", Typed("another name"), "enter")
        await press(pilot, "P", "t", Typed('work "next week"'), "enter", "a", "d")
        assert listed(pilot) == ["one"]
        await press(pilot, "u")
        assert said(pilot) == ["Undone: “title of two” restored — ^z undoes the step before"]
        await press(pilot, "ctrl+z")
        assert listed(pilot) == ["three", "two", "one"]
        assert marks(three, "three") == [SessionMarks(pinned=True, tags=("next week", "work"))]
        await press(pilot, "u")
        assert marks(three, "three") == [SessionMarks(pinned=True)]
        await press(pilot, "u")
        assert marks(three, "three") == [SessionMarks()]
        assert title(three, "three") == "another name"
        await press(pilot, "u")
        assert title(three, "three") == "title of three"
        assert said(pilot) == ["Undone: the title is “title of three” again"]
        await press(pilot, "u")
        assert said(pilot) == ["Nothing to undo."]

    drive(make_app(three), script)


@pytest.mark.parametrize("key", ["u", "ctrl+z"])
def test_what_was_deleted_elsewhere_is_not_undone(three: Path, key: str) -> None:
    stock.fill_trash(three, "one")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", key)
        assert said(pilot) == ["Nothing to undo."]
        assert listed(pilot) == ["three", "two"]

    drive(make_app(three), script)


def test_keys_pressed_at_once_take_effect_in_order(three: Path) -> None:
    """Undo waits for the deletion before it, however fast it comes."""

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        changes, sessions = main(pilot).changes, main(pilot).list.sessions
        changes.pin(sessions)
        changes.delete(sessions)
        changes.undo()
        changes.undo()
        changes.undo()
        await press(pilot)
        assert listed(pilot) == ["three", "two", "one"]
        assert marks(three, "three") == [SessionMarks()]
        assert said(pilot) == ["Nothing to undo."]

    drive(make_app(three), script)


def test_an_undo_that_fails_says_why_and_goes(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "P", "r", Typed("mine"), "enter")
        with Store(three) as store:
            store.sessions.rename("three", "theirs")
        await press(pilot, "u")
        assert said(pilot) == [
            "Could not undo: The title was changed again since; it stays as it is."
        ]
        assert title(three, "three") == "theirs"
        await press(pilot, "u")
        assert marks(three, "three") == [SessionMarks()]

    drive(make_app(three), script)


def test_what_was_purged_since_cannot_be_undone(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")
        with Store(three) as store:
            store.trash.empty()
        await press(pilot, "u")
        assert said(pilot) == ["Could not undo: “title of three” is no longer in the trash."]
        assert listed(pilot) == ["two", "one"]

    drive(make_app(three), script)


def test_a_restored_conversation_in_use_is_not_deleted_again(path: Path) -> None:
    stock.with_live(path, now=time.time() - 3_000)
    with Store(path) as store:
        store.trash.delete_conversation("living")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f4", "enter")
        with Store(path) as store:
            store.messages.append("living", {"role": "user", "content": "still here"})
        await press(pilot, "ctrl+z")
        assert said(pilot)[0].startswith("Could not undo: “still talking” is in use")
        assert "living" in listed(pilot)

    drive(make_app(path, clock=None), script)


def test_an_undo_that_was_only_prevented_can_be_tried_again(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")

        def locked() -> Store:
            raise DatabaseLocked("The database is busy.")

        with monkeypatch.context() as patch:
            patch.setattr(main(pilot).access, "_writer", locked)
            await press(pilot, "u")
            assert said(pilot) == ["Could not undo: The database is busy."]
        await press(pilot, "u")
        assert listed(pilot) == ["three", "two", "one"]

    drive(make_app(three), script)


def test_a_restored_conversation_can_be_deleted_and_restored_again(three: Path) -> None:
    """Walking back over a restore and the deletion before it."""

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d", "f4", "enter")
        assert listed(pilot) == ["three", "two", "one"]
        await press(pilot, "u")
        assert listed(pilot) == ["two", "one"]
        await press(pilot, "u")
        assert listed(pilot) == ["three", "two", "one"]

    drive(make_app(three), script)


def test_the_last_conversation_can_be_deleted_and_restored(path: Path) -> None:
    stock.one(path)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "d")
        assert listed(pilot) == []
        await press(pilot, "u")
        assert listed(pilot) == ["only"]
        await press(pilot, "d", "slash")
        assert pilot.app.focused is main(pilot).search.field

    drive(make_app(path), script)


# -- several conversations ---------------------------------------------------------------------


def test_the_selection_and_the_cursor_stay(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        sessions = main(pilot).list.sessions
        await press(pilot, "tab", "x", "x", "P")
        assert [*sessions.selected] == ["three", "two"]
        assert said(pilot) == ["Pinned 2 conversations — ^z undo"]
        assert sessions.current_id() == "one"
        await press(pilot, "P")
        assert said(pilot) == ["Unpinned 2 conversations — ^z undo"]
        await press(pilot, "t", Typed("work"), "enter")
        assert [*sessions.selected] == ["three", "two"]
        await press(pilot, "a")
        assert not sessions.selected, "what is no longer listed is not selected either"

    drive(make_app(three), script)
    assert marks(three, "three", "one") == [
        SessionMarks(archived=True, tags=("work",)),
        SessionMarks(),
    ]


def test_tagging_several_never_wipes_what_they_had(three: Path) -> None:
    with Store(three) as store:
        store.marks.tag("three", "shared", "mine")
        store.marks.tag("two", "shared", "yours")
    before = marks(three, "three", "two")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x", "t")
        assert "Tags of 2 conversations" in shown(pilot)
        assert "Some also have mine yours; these stay." in shown(pilot)
        await press(pilot, "ctrl+u", Typed("urgent"), "enter")
        assert marks(three, "three", "two") == [
            SessionMarks(tags=("mine", "urgent")),
            SessionMarks(tags=("urgent", "yours")),
        ]
        await press(pilot, "u")
        assert marks(three, "three", "two") == before
        await press(pilot, "t", "enter")
        assert said(pilot) == ["No tags changed."]

    drive(make_app(three), script)


def test_a_bad_tag_is_explained_in_the_dialog(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "t", Typed("x" * 60), "enter")
        assert "A tag must have 1 to 50 characters" in shown(pilot)
        await press(pilot, "ctrl+u", "enter")
        assert pilot.app.screen is main(pilot)

    drive(make_app(three), script)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('"next week" work', ("next week", "work")),
        ("work, #Urgent  #", ("work", "urgent")),
        ('#"next week",x', ("next week", "x")),
        ('work "unfinished busi', ("work", "unfinished busi")),
        ('""', ()),
        ("a a A", ("a",)),
    ],
)
def test_tags_as_they_are_typed(text: str, tags: tuple[str, ...]) -> None:
    assert typed_tags(text) == tags
    assert typed_tags(shown_tags(tags)) == tags


def test_an_edited_line_means_what_was_added_and_removed() -> None:
    assert tag_change('work "next week"', ("work", "old")) == TagChange(("next week",), ("old",))
    assert tag_change("", ("work",)) == TagChange((), ("work",))
    with pytest.raises(InvalidInput):
        tag_change("y" * 51, ())


# -- the stack, and what is refused ------------------------------------------------------------


def test_the_stack_keeps_the_latest_steps() -> None:
    stack = UndoStack()
    for number in range(MOST + 5):
        stack.push(lambda _, number=number: Outcome(str(number)))  # type: ignore[misc]
    assert len(stack) == MOST
    last = stack.pop()
    assert last is not None and last(None).text == str(MOST + 4)  # type: ignore[arg-type]
    while stack.pop() is not None:
        pass
    assert len(stack) == 0


def test_a_refused_deletion_leaves_no_dialog_behind(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = threading.Event()

    def refused() -> Store:
        refuse.wait(PATIENCE)
        raise DatabaseReadOnly("You may not write there.")

    async def script(pilot: Pilot[Any]) -> None:
        def progress() -> bool:
            return isinstance(pilot.app.screen, ProgressDialog)

        await press(pilot, "tab")
        monkeypatch.setattr(main(pilot).access, "_writer", refused)
        await pilot.press("d")
        deadline = time.monotonic() + PATIENCE
        while not progress():
            assert time.monotonic() < deadline, "waited in vain for the dialog"
            await pilot.pause(0.02)
        refuse.set()
        await until(pilot, lambda: not progress(), "the end of the dialog")
        assert said(pilot) == ["You may not write there."]
        assert main(pilot).status.is_error

    drive(make_app(three), script)


def test_all_that_was_asked_for_is_done_before_leaving(path: Path) -> None:
    """Keys come faster than a disk; whoever quits at once has still deleted."""
    stock.several(path, *(f"s{number}" for number in range(6)))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab")
        changes = main(pilot).changes
        for _ in range(4):
            changes.delete(main(pilot).list.sessions)
        changes.undo()
        pilot.app.exit()

    drive(make_app(path), script)
    with Store(path, read_only=True) as store:
        left = store.lists.recent_ids()
    assert sorted(left) == ["s0", "s1", "s2"], "four are deleted, one of them is back"
