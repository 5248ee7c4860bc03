"""The list: what is marked stays marked, others' changes appear, only what is seen is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from hermes_store import SessionDB
from hermes_store.browse.api import Lists
from hermes_store.records.listing import Hidden, ListRow
from hermes_store.store import Store
from hermes_tui.app import HermesApp
from hermes_tui.browse import session_list_widget
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.opening.first_list_rows import HEAD
from hermes_tui.opening.start_options import Choice, State
from tests.support import add
from tests.tui import stock
from tests.tui.running import NOW, drive, listed, main, make_app, press, shown, until


@pytest.mark.usefixtures("watchful")
def test_the_marked_one_stays_when_another_comes_on_top(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        sessions = main(pilot).list.sessions
        await press(pilot, "tab", "G", *["up"] * 3)
        marked, height = sessions.current_id(), sessions.cursor - round(sessions.scroll_y)
        assert round(sessions.scroll_y) > 0
        with SessionDB(sample) as db:
            add(db, "brand-new", "hello there", at=NOW - 50)
        await until(pilot, lambda: listed(pilot)[0] == "brand-new", "the new session")
        assert sessions.current_id() == marked
        assert sessions.cursor - round(sessions.scroll_y) == height

    drive(make_app(sample), script)


@pytest.mark.usefixtures("watchful")
def test_at_the_top_a_new_session_comes_into_sight(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        sessions = main(pilot).list.sessions
        with SessionDB(sample) as db:
            add(db, "brand-new", "hello there", at=NOW - 50)
        await until(pilot, lambda: "hello there" in shown(pilot), "the new session")
        assert sessions.current_id() == "brand-new", "nobody has moved the cursor yet"
        await press(pilot, "tab", "down", "up")
        with SessionDB(sample) as db:
            add(db, "newer", "hello again", at=NOW - 40)
        await until(pilot, lambda: "hello again" in shown(pilot), "the newer session")
        assert sessions.current_id() == "brand-new"

    drive(make_app(sample), script)


@pytest.mark.usefixtures("watchful")
def test_a_session_that_goes_on_moves_to_the_top(path: Path) -> None:
    stock.several(path, "old", "middle", "new")

    async def script(pilot: Pilot[Any]) -> None:
        assert listed(pilot) == ["new", "middle", "old"]
        with SessionDB(path) as db:
            db.append_message("old", "user", "one more thing", timestamp=NOW - 5)
        await until(pilot, lambda: listed(pilot) == ["old", "new", "middle"], "the other order")
        await until(pilot, lambda: " now " in shown(pilot), "its new age")

    drive(make_app(path), script)


@pytest.mark.usefixtures("watchful")
def test_a_file_that_comes_later_is_shown(path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        assert "No conversations yet" in shown(pilot)
        stock.several(path, "one", "two")
        await until(pilot, lambda: listed(pilot) == ["two", "one"], "the file")
        assert "title of two" in shown(pilot)

    drive(make_app(path), script)


@pytest.mark.usefixtures("watchful")
def test_what_another_deletes_goes_away(path: Path) -> None:
    stock.several(path, "one", "two", "three")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "down")
        with Store(path) as store:
            store.trash.delete_conversation("two")
        await until(pilot, lambda: listed(pilot) == ["three", "one"], "the shorter list")
        assert main(pilot).list.sessions.current_id() in ("three", "one")

    drive(make_app(path), script)


def test_only_rows_in_sight_are_read(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand entries cost as many rows as the screen has, and some ahead."""
    asked: list[str] = []
    read = Lists.rows

    def counting(
        self: Lists, ids: Sequence[str], *, now: float, last: bool = False
    ) -> list[ListRow]:
        asked.extend(ids)
        return read(self, ids, now=now, last=last)

    async def script(pilot: Pilot[Any]) -> None:
        sessions = main(pilot).list.sessions
        monkeypatch.setattr(Lists, "rows", counting)
        sessions.show_entries([f"entry-{number}" for number in range(100_000)])
        await press(pilot, "tab")
        most = sessions.size.height + 2 + 2 * session_list_widget.AHEAD
        assert 0 < len(asked) <= most, "what is not there is asked for once"
        assert sessions.count == 100_000
        asked.clear()
        await press(pilot, "G")
        assert sessions.cursor == 99_999
        assert "entry-99999" in asked
        assert len(asked) <= 2 * most

    drive(make_app(sample), script)


def test_the_list_fills_however_often_others_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that is noticed in the middle of each pass keeps none of them from its end."""
    names = [f"s{number:03}" for number in range(2 * HEAD)]
    stock.several(path, *names)
    read = Lists.entries
    interruptions: list[int] = []
    app = make_app(path)

    def interrupted(self: Lists, *given: Any, **named: Any) -> Iterator[Any]:
        for place, entry in enumerate(read(self, *given, **named)):
            if place == HEAD and len(interruptions) < 5:
                interruptions.append(place)
                app.call_from_thread(app.query_one(ListPane).refresh_list)
            yield entry

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: len(listed(pilot)) == len(names), "the whole list")
        await until(pilot, lambda: len(interruptions) == 5, "a pass for what came meanwhile")
        assert listed(pilot) == names[::-1]

    monkeypatch.setattr(Lists, "entries", interrupted)
    drive(app, script)


def test_hidden_ones_are_counted_and_one_key_away(sample: Path) -> None:
    with Store(sample, read_only=True) as store:
        hidden = sum(store.lists.hidden_counts(main_view()).values())

    async def script(pilot: Pilot[Any]) -> None:
        before = len(listed(pilot))
        assert f"+{hidden:,} hidden" in shown(pilot)
        await press(pilot, "tab", "H")
        assert len(listed(pilot)) == before + hidden
        assert main(pilot).list.view.shown == frozenset(Hidden)
        await press(pilot, "H")
        assert len(listed(pilot)) == before

    drive(make_app(sample), script)


def main_view() -> Any:
    """Return the view that a browser begins with."""
    from hermes_store.records.listing import View

    return View()


def test_folding_keeps_the_place(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        sessions = main(pilot).list.sessions
        rows = sessions.count
        await press(pilot, "tab", "right")
        assert sessions.is_unfolded(stock.FAMILY)
        assert sessions.count == rows + 3
        await press(pilot, "down", "down")
        assert sessions.current_id() != stock.FAMILY
        await press(pilot, "left")
        assert (sessions.count, sessions.current_id()) == (rows, stock.FAMILY)

    drive(make_app(sample, state=State(session_id=stock.FAMILY)), script)


def test_the_lineage_leads_to_a_session(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        screen.action_show_tab("lineage")
        await press(pilot, "tab", "tab", "home")
        assert screen.reading.lineage.count == 4
        await press(pilot, "down", "enter")
        assert screen.search.text.startswith("id:")
        assert listed(pilot) == [stock.FAMILY]

    drive(make_app(sample, state=State(session_id=stock.FAMILY)), script)


def test_keys_do_nothing_in_an_empty_list(path: Path) -> None:
    SessionDB(path).close()

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", *"gGjkxAd", "right", "left", "enter", "ctrl+r", "ctrl+d", "n")
        assert pilot.app.is_running
        assert listed(pilot) == []

    drive(make_app(path), script)


def test_a_mouse_marks_and_opens(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await pilot.click("#sessions", offset=(10, 4))
        await press(pilot)
        assert main(pilot).list.sessions.cursor == 4
        await pilot.click("#sessions", offset=(10, 6), times=2)

    choice = drive(make_app(sample), script)
    assert choice is not None


def test_a_size_that_changes_before_the_first_picture(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window was wide when the screen was made, and is narrow when it is drawn."""
    make = HermesApp.get_default_screen

    def made_when_wide(app: HermesApp) -> Screen[Choice]:
        screen = make(app)
        screen.remove_class("-single").add_class("-double")
        app._shape = screen.classes
        return screen

    async def script(pilot: Pilot[Any]) -> None:
        assert main(pilot).has_class("-single")
        assert not main(pilot).reading.is_on_screen
        assert main(pilot).list.sessions.size.width == 40

    monkeypatch.setattr(HermesApp, "get_default_screen", made_when_wide)
    drive(make_app(sample), script, size=(40, 12))
