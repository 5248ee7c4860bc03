"""Searching while typing: order, newer searches ending older ones, history, completion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from hermes_store import SessionDB
from hermes_store.errors import StoreError
from hermes_store.records.search import Looked, Request, SearchResult
from hermes_store.search.api import MessageSearch
from hermes_store.store import Store
from hermes_tui.browse import search_pane
from hermes_tui.browse.found import Found
from hermes_tui.browse.list_pane import ListPane
from hermes_tui.browse.search_pane import SearchPane
from hermes_tui.opening.start_options import State
from hermes_tui.store_access import Answer, Failed, Series, Stopped
from tests.support import add
from tests.tui import stock
from tests.tui.running import (
    NOW,
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


def test_typing_filters_in_the_order_of_the_store(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        everything = listed(pilot)
        await press(pilot, *"docker")
        with Store(sample, read_only=True) as store:
            request = Request("docker", limit=40, grouped=True, typing=True, now=NOW)
            wanted = [group.root_id for group in store.search.run(request).groups]
        assert len(wanted) > 5
        assert listed(pilot) == wanted
        assert "newest first" in shown(pilot)
        await press(pilot, "ctrl+o")
        assert "most relevant first" in shown(pilot)
        await press(pilot, *["backspace"] * 6)
        assert listed(pilot) == everything

    drive(make_app(sample), script)


def test_matches_are_marked_in_titles(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "both", "docker here", title="Deploy with Docker")
        add(db, "body", "docker there", title="Something else")
        add(db, "bare", "docker without a title")

    def marked(pilot: Pilot[Any]) -> list[list[str]]:
        sessions = main(pilot).list.sessions
        places = filter(sessions.is_item, range(sessions.count))
        lines = [sessions.item_line(place, 0, 60) for place in places]
        return sorted([text for text, style in line if style == "match"] for line in lines)

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("DOCKER"))
        assert marked(pilot) == [[], ["Docker"], ["docker"]]
        await press(pilot, Typed(" deploy"))
        assert marked(pilot) == [["Deploy", "Docker"]]
        await press(pilot, "escape")
        assert marked(pilot) == [[], [], []]

    drive(make_app(path), script)


def test_the_most_relevant_come_first_only_when_asked_for(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("docker"))
        assert "newest first" in shown(pilot)
        main(pilot).search.toggle_order()
        await press(pilot)
        assert "most relevant first" in shown(pilot)

    drive(make_app(sample), script)


def _part_by_part(monkeypatch: pytest.MonkeyPatch, first: int) -> threading.Event:
    """Let every search tell its first conversations, and the others when the event is set."""
    go_on = threading.Event()

    def slowly(self: MessageSearch, request: Request) -> Iterator[SearchResult]:
        whole = self.run(request)
        looked = Looked(NOW - 86_400, 0.62)
        yield replace(whole, groups=whole.groups[:first], partial=True, looked=looked)
        assert go_on.wait(PATIENCE)
        yield whole

    monkeypatch.setattr(MessageSearch, "stream", slowly)
    return go_on


async def meanwhile(pilot: Pilot[Any], condition: Callable[[], object], what: str) -> None:
    """Wait for something while a search is held."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        await pilot.pause(0.02)


def test_what_is_found_first_is_shown_while_the_search_goes_on(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = _part_by_part(monkeypatch, 3)

    async def script(pilot: Pilot[Any]) -> None:
        main(pilot).search.text = "docker"
        await meanwhile(pilot, lambda: len(listed(pilot)) == 3, "the first results")
        await meanwhile(pilot, lambda: "messages … 62%" in shown(pilot), "how far")
        await pilot.press("down", "down")
        before = listed(pilot), main(pilot).list.sessions.current_id()
        go_on.set()
        await press(pilot)
        assert listed(pilot)[:3] == before[0] and len(listed(pilot)) > 3
        assert main(pilot).list.sessions.current_id() == before[1]
        assert "newest first" in shown(pilot)

    drive(make_app(sample), script)


def test_nothing_found_is_said_only_at_the_end(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = _part_by_part(monkeypatch, 0)

    async def script(pilot: Pilot[Any]) -> None:
        main(pilot).search.text = "zzqqxx"
        await meanwhile(pilot, lambda: "Nothing so far" in shown(pilot), "that it goes on")
        assert "Nothing found" not in shown(pilot)
        go_on.set()
        await meanwhile(pilot, lambda: "Nothing found" in shown(pilot), "the end")

    drive(make_app(sample), script)


def test_a_change_of_the_file_does_not_begin_a_search_anew(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that writes all the time would keep a long search from its end."""
    go_on = _part_by_part(monkeypatch, 1)

    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        screen.search.text = "docker"
        await meanwhile(pilot, lambda: len(listed(pilot)) == 1, "the first result")
        begun = screen.search._searched_at
        for _ in range(3):
            screen.search.search_later()
            await pilot.pause()
        assert screen.search._searched_at == begun
        go_on.set()
        await meanwhile(pilot, lambda: screen.search._searched_at > begun, "the search after it")

    drive(make_app(sample), script)


def test_more_results_come_when_the_end_is_near(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_pane, "PAGE", 5)

    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        screen.search.text = "docker"
        await press(pilot)
        screen.search.run(limit=5)
        await press(pilot)
        assert len(listed(pilot)) == 5
        await press(pilot, *["down"] * 4)
        assert len(listed(pilot)) > 5

    drive(make_app(sample), script)


class Asker(Widget):
    """Asks the store and keeps what it is told."""

    class Word(Answer[str]):
        """A word."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__()
        self._answers = answers

    def on_asker_word(self, event: Word) -> None:
        if not event.stale:
            self._answers.append(event.value)


def test_a_newer_question_ends_the_older_one(sample: Path) -> None:
    """The older one is told to stop, and its answer goes nowhere even if it has one."""
    answers: list[str] = []
    began, stopped_seen = threading.Event(), threading.Event()

    def slow(store: Store, stopped: Stopped) -> str:
        began.set()
        for _ in range(4_000):
            if stopped():
                stopped_seen.set()
                break
            threading.Event().wait(0.005)
        return "older"

    async def script(pilot: Pilot[Any]) -> None:
        asker = Asker(answers)
        await main(pilot).mount(asker)
        main(pilot).access.ask(asker, Asker.Word, slow)
        await until_began(pilot)
        main(pilot).access.ask(asker, Asker.Word, lambda store, stopped: "newer")
        await until(pilot, lambda: stopped_seen.is_set() and answers, "the newer answer")
        assert answers == ["newer"]

    async def until_began(pilot: Pilot[Any]) -> None:
        while not began.is_set():
            await pilot.pause(0.01)

    drive(make_app(sample), script)


def test_an_error_of_an_earlier_search_changes_nothing(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        everything = listed(pilot)
        search = main(pilot).search
        late = Failed(SearchPane.Results, StoreError("too late"), 0, Series(newest=1))
        search.post_message(late)
        await press(pilot)
        assert listed(pilot) == everything and "too late" not in shown(pilot)

    drive(make_app(sample), script)


def test_what_is_wrong_in_three_places_is_said_once(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("docker role:user ((("))
        assert shown(pilot).count("The parenthesis is not closed") == 1

    drive(make_app(sample), script)


def test_only_the_last_of_fast_keys_is_shown(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the keys outran, the list never goes back to an older text."""
    texts: list[tuple[str, str]] = []
    show = ListPane.show_found

    def spy(self: ListPane, found: Found, *, to_top: bool) -> None:
        show(self, found, to_top=to_top)
        texts.append((found.text, self.screen.query_one(SearchPane).text))

    monkeypatch.setattr(ListPane, "show_found", spy)

    async def script(pilot: Pilot[Any]) -> None:
        field = main(pilot).search
        for end in range(1, len("docker deploy") + 1):
            field.text = "docker deploy"[:end]
        await press(pilot)
        assert texts[-1] == ("docker deploy", "docker deploy")
        assert all(found == asked for found, asked in texts)

    drive(make_app(sample), script)


def test_up_at_the_top_goes_through_history(path: Path) -> None:
    stock.several(path, "one", "two", "three")
    with Store(path) as store:
        store.saved_searches.remember("about one")
        store.saved_searches.remember("about two")

    async def script(pilot: Pilot[Any]) -> None:
        bar, sessions = main(pilot).search, main(pilot).list.sessions
        await press(pilot, "down", "up")
        assert (sessions.cursor, bar.text) == (0, "")
        await press(pilot, "up")
        assert bar.text == "about two"
        assert listed(pilot) == ["two"]
        await press(pilot, "up")
        assert bar.text == "about one"
        await press(pilot, "up")
        assert bar.text == "about one"
        await press(pilot, "down", "down")
        assert bar.text == ""

    drive(make_app(path), script)


def test_a_search_that_was_used_is_remembered(path: Path) -> None:
    stock.several(path, "one", "two")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("about one"), "enter")

    drive(make_app(path), script)
    with Store(path) as store:
        assert store.saved_searches.history() == ("about one",)


def test_tab_completes_and_otherwise_moves(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        await press(pilot, *"sour", "tab")
        assert screen.search.text == "source:"
        assert screen.search.field.has_focus
        await press(pilot, *"tele", "tab")
        assert screen.search.text == "source:telegram "
        await press(pilot, "tab")
        assert screen.list.sessions.has_focus
        await press(pilot, "tab")
        assert screen.reading.has_focus_within
        await press(pilot, "tab")
        assert screen.search.field.has_focus
        await press(pilot, "shift+tab")
        assert screen.reading.has_focus_within

    drive(make_app(sample), script)


def test_models_and_tags_of_the_file_are_completed(sample: Path) -> None:
    with Store(sample) as store:
        store.marks.tag(stock.CHAIN, "weekend")
        model = next(usage.model for usage in store.upkeep.usage_by_model() if usage.model)

    async def script(pilot: Pilot[Any]) -> None:
        bar = main(pilot).search
        await press(pilot, Typed("tag:week"), "tab")
        assert bar.text == "tag:weekend "
        bar.text = f"model:{model[:4]}"
        assert bar.field.complete()
        assert bar.text.startswith(f"model:{model[:4]}") and len(bar.text) > len("model:") + 4

    drive(make_app(sample), script)


def test_escape_clears_and_quits_the_second_time(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        screen = main(pilot)
        await press(pilot, Typed("docker"), "tab", "tab")
        assert screen.reading.has_focus_within
        await press(pilot, "escape")
        assert screen.list.sessions.has_focus and screen.search.text == "docker"
        await press(pilot, "escape")
        assert screen.search.text == "" and screen.search.field.has_focus
        await press(pilot, "tab", "escape")
        assert screen.search.field.has_focus
        await press(pilot, "escape")
        assert "Esc again quits." in said(pilot) and not pilot.app._exit
        await press(pilot, "down", "escape")
        assert not pilot.app._exit, "another key came between"
        await pilot.press("escape")
        assert not pilot.app.is_running or pilot.app._exit

    assert drive(make_app(sample), script) is None


def test_escape_takes_a_selection_back_first(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "x", "x")
        assert len(main(pilot).list.sessions.selected) == 2
        await press(pilot, "escape")
        assert not main(pilot).list.sessions.selected
        assert main(pilot).list.sessions.has_focus

    drive(make_app(sample), script)


@pytest.mark.parametrize("focus", ["search", "list"])
def test_enter_leaves_with_the_tip(sample: Path, focus: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        if focus == "list":
            await press(pilot, "tab")
        await pilot.press("enter")

    app = make_app(sample, state=State(session_id=stock.FAMILY))
    choice = drive(app, script)
    with Store(sample, read_only=True) as store:
        tip = store.transcripts.outline(stock.FAMILY).tip_id
    assert tip != stock.FAMILY
    assert choice is not None
    assert (choice.session_id, choice.state) == (tip, State("", stock.FAMILY, "transcript"))


def test_enter_on_a_segment_leaves_with_that_segment(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "tab", "right", "down")
        await pilot.press("enter")

    choice = drive(make_app(sample, state=State(session_id=stock.FAMILY)), script)
    with Store(sample, read_only=True) as store:
        segments = [each.session_id for each in store.transcripts.outline(stock.FAMILY).segments]
    assert choice is not None
    assert choice.session_id == segments[1]


def test_a_saved_search_is_used(sample: Path) -> None:
    with Store(sample) as store:
        store.saved_searches.save("deployments", "docker deploy")

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f6", "enter")
        assert main(pilot).search.text == "docker deploy"
        assert main(pilot).search.found is not None

    drive(make_app(sample), script)
