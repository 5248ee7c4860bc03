"""Choosing how the list looks: order, headings, hidden kinds, density, width; remembering it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.color import Color, ColorSystem
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from hermes_store import SessionDB
from hermes_store.records.listing import Grouping, Heading, Hidden, View
from hermes_store.store import Store
from hermes_tui.dialogs.palette import commands
from hermes_tui.opening.kept_state import load, path_for
from tests.support import add, raw
from tests.tui import stock
from tests.tui.running import (
    NOW,
    drive,
    listed,
    main,
    make_app,
    page,
    press,
    shown,
    until,
)
from tests.tui.running import (
    load as loaded,
)

DAY = 86_400.0


@pytest.fixture
def days(path: Path) -> Path:
    """A file with conversations of today, yesterday and before."""
    with SessionDB(path) as db:
        for name, ago in (("now", 60.0), ("morning", 4 * 3_600.0), ("evening", 0.8 * DAY)):
            add(db, name, f"about {name}", at=NOW - ago, ended=NOW - ago, title=f"title {name}")
        add(
            db, "old", "about old times", at=NOW - 40 * DAY, ended=NOW - 40 * DAY, title="title old"
        )
    return path


def headings(pilot: Pilot[Any]) -> list[str]:
    return [e.text for e in main(pilot).list.sessions.listed() if isinstance(e, Heading)]


def test_days_are_headings_and_pinned_come_first(days: Path) -> None:
    with Store(days) as store:
        store.marks.pin("old")

    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        assert headings(pilot) == ["Pinned", "Today", "Yesterday"]
        assert listed(pilot) == ["old", "now", "morning", "evening"]
        assert main(pilot).list.sessions.current_id() == "old"
        line = next(line for line in page(pilot) if "title evening" in line)
        assert "19:01" in line

    drive(make_app(days, view=View(group=Grouping.DATE)), script)


@pytest.mark.usefixtures("watchful")
def test_the_cursor_stays_on_the_first_row_until_it_is_moved(days: Path) -> None:
    """A foreign file has no stored order; its list may change right after the first rows."""
    with raw(days) as con:
        con.execute("DROP TRIGGER session_activity_say")

    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        sessions = main(pilot).list.sessions
        assert sessions.current_id() == "now"
        with raw(days) as con:
            con.execute(
                "INSERT INTO messages(session_id, role, content, timestamp) "
                "VALUES ('old', 'user', 'again', ?)",
                (NOW - 5,),
            )
        await until(pilot, lambda: listed(pilot)[0] == "old", "the other order")
        assert sessions.current_id() == "old"
        await press(pilot, "tab", "down")
        assert sessions.current_id() == "now"
        with SessionDB(days) as db:
            db.append_message("evening", "user", "more", timestamp=NOW - 1)
        await until(pilot, lambda: listed(pilot)[0] == "evening", "another order")
        assert sessions.current_id() == "now"

    drive(make_app(days, view=View(group=Grouping.DATE)), script)


def test_hidden_kinds_are_shown_one_by_one(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "plain", "x", at=NOW - 10)
        add(db, "job", "x", source="cron", at=NOW - 20)
        add(db, "filed", "x", at=NOW - 30)
        db.store.marks.archive("filed")

    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        assert "+2 hidden" in page(pilot)[0] and "(h)" not in page(pilot)[0]
        await press(pilot, "tab")
        assert "+2 hidden (h)" in page(pilot)[0], "h is a letter in the search field"
        place = page(pilot)[0].index("+2 hidden")
        await pilot.click("#header", offset=(place + 2, 0))
        await press(pilot)
        assert "Scheduled jobs (1)" in shown(pilot) and "Archived (1)" in shown(pilot)
        pilot.app.screen.query_one("#kind-CRON").toggle()  # type: ignore[attr-defined]
        pilot.app.screen.query_one("#ok").press()  # type: ignore[attr-defined]
        await press(pilot)
        assert listed(pilot) == ["plain", "job"]
        assert main(pilot).list.view.shown == frozenset({Hidden.CRON})
        await press(pilot, "H")
        assert listed(pilot) == ["plain"], "H hides again what is shown"
        await press(pilot, "H")
        assert listed(pilot) == ["plain", "job", "filed"]

    drive(make_app(path), script)


def test_density_shows_last_messages_or_figures(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "one", "a question", "the **last** answer", at=NOW - 60, title="talk")
        with db._db.write() as tx:
            tx.run(
                "UPDATE sessions SET model = 'maker/some-model', input_tokens = 20000, "
                "estimated_cost_usd = 1.25"
            )

    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await press(pilot, "tab", "v")
        assert any(line.lstrip("│▌ ").startswith("the last answer") for line in page(pilot))
        await press(pilot, "v")
        line = next(line for line in page(pilot) if "talk" in line)
        assert "some-model" in line and "20k" in line and "$1.25" in line
        await press(pilot, "v")
        assert "some-model" not in next(line for line in page(pilot) if "talk" in line)

    drive(make_app(path), script)


def test_what_is_chosen_is_remembered(days: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await press(pilot, "tab", "o", "O", "v", "greater_than_sign", "H")

    drive(make_app(days), script)
    kept = load(path_for(days))
    assert (kept.sort, kept.group, kept.density, kept.split) == ("start", "date", "two", 60)
    assert kept.shown is not None and set(kept.shown) == {kind.value for kind in Hidden}

    async def again(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        screen = main(pilot)
        assert screen.list.sessions.item_height == 2
        assert screen.list.size.width > screen.size.width * 0.55

    drive(make_app(days, kept=kept), again)


def test_an_unfolded_part_stands_in_the_same_columns(sample: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        main(pilot).list.sessions.go_to(stock.CHAIN)
        await press(pilot, "tab", "right")
        sessions = main(pilot).list.sessions
        lines = [
            "".join(text for text, _ in sessions.item_line(sessions.cursor + place, 0, 60))
            for place in range(3)
        ]
        assert len({len(line) for line in lines}) == 1
        bars = [max(line.rfind(sign) for sign in "▁▂▃▄▅▆▇█") for line in lines]
        assert len(set(bars)) == 1, lines

    drive(make_app(sample), script)


def test_the_palette_names_what_it_does() -> None:
    names = [command.name for command in commands()]
    for name in ("Sort by cost", "Sort by tokens", "Group by day", "Show hidden: cron",
                 "Show two lines each", "Show the transcript"):  # fmt: skip
        assert name in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("theme", sorted({*BUILTIN_THEMES, "hermes-dark", "hermes-light"}))
def test_the_current_row_is_seen_in_256_colours(days: Path, theme: str) -> None:
    """Its bar and bold text are seen without any colour."""

    async def script(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        sessions = main(pilot).list.sessions
        usual = sessions.named_style("")
        for over in ("cursor", "cursor-idle"):
            style = sessions.named_style("", over)
            assert style.bold
            assert style.reverse or _in_256(style.bgcolor) != _in_256(usual.bgcolor)
        assert any(line.startswith("│▌") for line in page(pilot))

    drive(make_app(days, theme=theme), script)


def _in_256(color: Color | None) -> Color:
    assert color is not None
    return color.downgrade(ColorSystem.EIGHT_BIT)
