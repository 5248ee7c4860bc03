"""What helps while typing a search: chips, completions with counts, saved and earlier searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.records.listing import Heading
from hermes_store.store import Store
from hermes_tui.browse.completion import choices, completed, labels
from hermes_tui.browse.search_chips import chips
from tests.support import add
from tests.tui.running import NOW, Typed, drive, listed, load, main, make_app, page, press, shown


@pytest.fixture
def mixed(path: Path) -> Path:
    """A file with sessions of several sources."""
    with SessionDB(path) as db:
        for number in range(3):
            add(db, f"t{number}", "docker here", source="telegram", at=NOW - 100 - number)
        add(db, "term", "docker there", title="About Docker", at=NOW - 500)
        add(db, "signal", "nothing", source="signal", at=NOW - 600)
    return path


def test_values_are_offered_with_their_numbers(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        search = main(pilot).search
        await press(pilot, *"source", "colon")
        assert search.completions.display
        lines = [line for line in page(pilot) if "telegram" in line]
        assert any("3" in line for line in lines)
        await press(pilot, "down", "enter")
        assert search.text == "source:cli "
        assert not search.completions.display
        assert "source: Terminal ×" in page(pilot)[1]
        assert listed(pilot) == ["term"]

    drive(make_app(mixed), script)


def test_escape_closes_the_completions_first(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        search = main(pilot).search
        await press(pilot, Typed("docker source:te"), "escape")
        assert not search.completions.display
        assert search.text == "docker source:te"
        await press(pilot, "escape")
        assert search.text == ""

    drive(make_app(mixed), script)


def test_a_click_on_a_chip_removes_the_field(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed("docker source:telegram after:7d"))
        assert "source: Telegram ×" in page(pilot)[1] and "last 7 days ×" in page(pilot)[1]
        await pilot.click("#chips", offset=(3, 0))
        await press(pilot)
        assert main(pilot).search.text == "docker after:7d"
        assert len(listed(pilot)) == 4

    drive(make_app(mixed), script)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("after:5m ", "last 5 minutes"),
        ("after:30min ", "last 30 minutes"),
        ("after:1h ", "last 1 hour"),
        ("before:2mo ", "older than 2 months"),
        ("after:2mo", "last 2 months"),
        ("-source:cron ", "not source: Scheduled job"),
        ("on:yesterday ", "yesterday"),
    ],
)
def test_chips_say_what_the_search_does(text: str, words: str) -> None:
    assert chips(text).plain.strip() == f"{words} ×"


def test_sources_are_completed_by_what_they_are_called_on_screen() -> None:
    known = {"source": {"cli": 3, "cron": 2, "telegram": 1}}
    assert choices("docker source:sched", known) == [("cron", 2)]
    assert choices("docker source:te", known) == [("cli", 3), ("telegram", 1)]
    assert labels("docker source:te", ["cli", "telegram"]) == {"cli": "Terminal"}
    assert completed("docker source:sched", known) is None, "it would not continue what was typed"


@pytest.mark.parametrize(
    "field", ["after:foo", "before:2020-13-45", "on:someday", "is:pined", "has:codes", "role:us"]
)
def test_no_chip_for_what_the_search_ignores(field: str) -> None:
    assert chips(f"{field} docker").plain == "" == chips(f"docker {field}").plain


def test_typing_a_field_never_says_that_nothing_was_found(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed("docker "))
        for letter in "source":
            await press(pilot, letter)
            assert len(listed(pilot)) == 4, main(pilot).search.text
        await press(pilot, "colon", *"sig")
        assert len(listed(pilot)) == 4, "nobody has typed signal yet"
        assert "0 messages" not in page(pilot)[1]

    drive(make_app(mixed), script)


def test_matching_titles_are_a_group_on_top(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed("docker"))
        entries = main(pilot).list.sessions.listed()
        assert entries[:3] == [
            Heading("Matching titles", 0),
            "term",
            Heading("Matching messages", 0),
        ]
        assert main(pilot).list.sessions.current_id() == "term"

    drive(make_app(mixed), script)


def test_the_order_is_said_and_remembered(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed("docker"))
        assert "newest first (^o: most relevant)" in page(pilot)[2]
        await press(pilot, "tab", "o")
        assert "most relevant first (^o: newest)" in page(pilot)[2]

    drive(make_app(mixed), script)
    from hermes_tui.opening.kept_state import load as kept
    from hermes_tui.opening.kept_state import path_for

    assert kept(path_for(mixed)).search_order == "relevance"


def test_titles_are_counted_apart_where_messages_are_fewer(three: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, Typed("title"))
        assert len(listed(pilot)) == 3 and "3 titles" in page(pilot)[1]
        assert "0 messages" not in page(pilot)[1]
        await press(pilot, "ctrl+u", Typed("two"))
        assert "1 message in 1 conversation" in page(pilot)[1]

    drive(make_app(three), script)


def test_saved_searches_are_tabs_under_number_keys(mixed: Path) -> None:
    with Store(mixed) as store:
        store.saved_searches.save("phone", "source:telegram")
        store.saved_searches.save("signals", "source:signal")

    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        assert "· all" in page(pilot)[2] and "· phone" in page(pilot)[2], "a digit is typed here"
        await press(pilot, "tab")
        assert "0 all" in page(pilot)[2] and "1 phone" in page(pilot)[2]
        await press(pilot, "2")
        assert main(pilot).search.text == "source:signal"
        assert listed(pilot) == ["signal"]
        await press(pilot, "0")
        assert main(pilot).search.text == ""
        await press(pilot, "7")
        assert "There is no saved search 7" in shown(pilot)

    drive(make_app(mixed), script)


def test_without_saved_searches_the_line_says_how_to_save(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        assert "^s saves a search · ↑ earlier searches" in page(pilot)[2]

    drive(make_app(mixed), script)


def test_help_begins_with_the_keys_here_and_can_be_filtered(mixed: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, "tab", "question_mark")
        lines = [line for line in page(pilot) if "In the list" in line or "Anywhere" in line]
        assert "In the list" in lines[0]
        await press(pilot, Typed("density"))
        assert "two lines, or a table" in shown(pilot)
        assert "Rename" not in shown(pilot).replace("rename", "")
        await press(pilot, "escape")
        assert pilot.app.screen is main(pilot)

    drive(make_app(mixed), script)
