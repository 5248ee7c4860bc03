"""The figures screen: days to move over, week on week, tokens and costs."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.records.statistics import Activity, DayFigures, Share, Usage
from hermes_tui.app import HermesApp
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.figures import page
from hermes_tui.figures.heat_map import LABEL, WEEKS, HeatMap
from hermes_tui.figures.screen import FiguresScreen
from hermes_tui.opening.start_options import State
from hermes_tui.presentation.charts import HEAT, heat_levels
from hermes_tui.presentation.numbers import money, percent
from hermes_tui.presentation.times import active_time
from tests.support import add, raw
from tests.tui.conftest import Snap
from tests.tui.running import NOW, drive, listed, load, main, make_app, press, shown

TODAY = date(2026, 9, 21)
DAY = 86_400.0
SIZES = {"wide": (120, 36), "narrow": (80, 24), "tiny": (40, 12)}


@pytest.fixture
def rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of files depend on the versions of SQLite and zlib; say something else instead."""
    monkeypatch.setattr(page, "byte_size", lambda _: "12.3 KB")


@pytest.fixture
def three_days(path: Path) -> Path:
    """Conversations of today, of last Thursday and of last year."""
    with SessionDB(path) as db:
        add(db, "now", "x", "x", at=NOW - 60)
        add(db, "also", "x", at=NOW - 30)
        add(db, "thursday", "x", at=NOW - 4 * DAY)
        add(db, "long-ago", "x", at=NOW - 300 * DAY)
        db.update_token_counts(
            "thursday", 1_000, 200, "openai/gpt-5.2", cache_read_tokens=3_000,
            estimated_cost_usd=1.5,
        )  # fmt: skip
        db.update_token_counts("now", 500, 10, "opus", estimated_cost_usd=0.004)
    with raw(path) as con:
        con.execute("UPDATE sessions SET git_repo_root = '/src/shop-api' WHERE id = 'thursday'")
    return path


def heat(pilot: Pilot[Any]) -> HeatMap:
    """Return the heat map on screen."""
    return pilot.app.screen.query_one(HeatMap)


# -- pictures ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("rounded")
@pytest.mark.parametrize("size", SIZES)
def test_figures(sample: Path, snap: Snap, size: str) -> None:
    snap(make_app(sample), "f3", size=SIZES[size])


@pytest.mark.usefixtures("rounded")
def test_figures_scrolled(sample: Path, snap: Snap) -> None:
    snap(make_app(sample), "f3", "pagedown", "pagedown", size=SIZES["narrow"])


@pytest.mark.usefixtures("rounded")
def test_figures_of_a_year_light(sample: Path, snap: Snap) -> None:
    snap(make_app(sample, theme="hermes-light"), "f3", "plus", "plus", "left", "down")


@pytest.mark.usefixtures("rounded")
def test_figures_without_colours(sample: Path, snap: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(make_app(sample, theme="ansi-dark"), "f3", "left")


def test_figures_of_nothing(db: SessionDB, path: Path, snap: Snap) -> None:
    snap(make_app(path), "f3")


# -- moving and choosing -----------------------------------------------------------------------


def test_enter_on_a_day_shows_its_conversations(three_days: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, "f3")
        assert "3 messages" in shown(pilot) and "2 conversations" in shown(pilot)
        await press(pilot, "up", "enter")
        assert isinstance(pilot.app.screen, FiguresScreen), "there is nothing to show"
        await press(pilot, *["up"] * 3)
        assert heat(pilot).day == TODAY - timedelta(days=4)
        assert "Thu 17 Sep 2026  1 message" in shown(pilot)
        assert "4,200 tokens · $1.50" in shown(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, BrowseScreen)
        assert main(pilot).search.text == "on:2026-09-17"
        assert listed(pilot) == ["thursday"]

    drive(make_app(three_days), script)


@pytest.mark.parametrize("key", ["escape", "q", "f3"])
def test_closing_leaves_the_list_alone(three_days: Path, key: str) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        before = listed(pilot)
        await press(pilot, "f3", "left", key)
        assert isinstance(pilot.app.screen, BrowseScreen)
        assert (listed(pilot), main(pilot).search.text) == (before, "")

    drive(make_app(three_days), script)


def test_arrows_stay_within_the_year(three_days: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f3", "right", "down")
        assert heat(pilot).day == TODAY
        await press(pilot, "home", "left", "up")
        first = heat(pilot).day
        assert first == heat(pilot).first and first.weekday() == 0
        assert (TODAY - first).days == 7 * (WEEKS - 1)
        await press(pilot, "right", "down", "end")
        assert heat(pilot).day == TODAY

    drive(make_app(three_days), script)


@pytest.mark.parametrize("size", SIZES.values())
def test_a_click_goes_to_a_day_and_another_shows_it(
    three_days: Path, size: tuple[int, int]
) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, "f3")
        view = heat(pilot)
        week = view.weeks.index(WEEKS - 2)
        thursday = (LABEL + week * view.cell, 1 + 3)
        await pilot.click(HeatMap, offset=thursday)
        assert view.day == date(2026, 9, 17)
        await pilot.click(HeatMap, offset=(0, 0))
        await pilot.click(HeatMap, offset=(LABEL + (week + 1) * view.cell, 1 + 6))
        assert view.day == date(2026, 9, 17), "neither a label nor a day to come"
        await pilot.click(HeatMap, offset=thursday, times=2)
        await press(pilot)
        assert main(pilot).search.text == "on:2026-09-17"

    drive(make_app(three_days), script, size)


def test_a_narrow_map_goes_along_with_the_day(three_days: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f3")
        view = heat(pilot)
        assert view.weeks[-1] == WEEKS - 1 and len(view.weeks) < WEEKS
        await press(pilot, "home")
        assert view.weeks[0] == 0
        assert "◇" in shown(pilot) or "◆" in shown(pilot)

    drive(make_app(three_days), script, SIZES["tiny"])


def test_the_period_can_be_changed(three_days: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f3")
        assert "Last 30 days" in shown(pilot) and "gpt-5.2" in shown(pilot)
        assert "shop-api" in shown(pilot) and "Cache hits      67%" in shown(pilot)
        await press(pilot, *["plus"] * 9)
        assert "Sessions        4" in shown(pilot)
        await press(pilot, *["minus"] * 9)
        assert "Sessions        3" in shown(pilot)

    drive(make_app(three_days), script)


def test_a_file_that_records_no_costs_says_so(path: Path) -> None:
    path.touch()
    with raw(path) as con:
        con.execute("CREATE TABLE schema_version (version)")
        con.execute("INSERT INTO schema_version VALUES (99)")
        con.execute("CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL)")
        con.execute("CREATE TABLE messages (session_id TEXT, content TEXT, timestamp REAL)")
        con.execute("INSERT INTO sessions VALUES ('a', 'cli', ?)", (NOW,))
        con.execute("INSERT INTO messages VALUES ('a', 'x', ?)", (NOW,))

    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f3")
        assert shown(pilot).count("not recorded") == 3
        assert "1 message" in shown(pilot)

    drive(make_app(path, read_only=True), script)


def test_no_database_is_no_error(path: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await press(pilot, "f3")
        assert isinstance(pilot.app.screen, FiguresScreen)
        assert "No conversations yet." in shown(pilot)
        await press(pilot, "left", "plus", "pagedown", "escape")
        assert isinstance(pilot.app.screen, BrowseScreen)

    app: HermesApp = make_app(path, state=State())
    drive(app, script)
    assert app.crash_log is None


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "written"),
    [(0.0, "$0.00"), (0.004, "<$0.01"), (0.01, "$0.01"), (0.07, "$0.07"), (12.4, "$12.40"),
     (1234.5, "$1,234.50"), (-3.0, "-$3.00"), (-0.001, "$0.00")],
)  # fmt: skip
def test_money_is_written_as_people_do(amount: float, written: str) -> None:
    assert money(amount) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "0 min"), (30, "<1 min"), (60, "1 min"), (3_599, "59 min"), (3_600, "1 h 0 min"),
     (18 * 3_600 + 45 * 60, "18 h 45 min"), (412 * 86_400, "9,888 h")],
)  # fmt: skip
def test_time_at_work_is_never_days(seconds: float, written: str) -> None:
    assert active_time(seconds) == written


def test_shares_are_whole_percents() -> None:
    assert [percent(each) for each in (0, 0.001, 0.424, 1, 3.5)] == [
        "0%", "<1%", "42%", "100%", "350%",
    ]  # fmt: skip


def test_heat_levels_are_quarters() -> None:
    assert heat_levels({}) == {}
    assert heat_levels({"a": 0, "b": 7}) == {"b": 4}
    assert heat_levels(dict(zip("abcdefgh", range(1, 9), strict=True))) == dict(
        zip("abcdefgh", (1, 1, 2, 2, 3, 3, 4, 4), strict=True)
    )
    assert len(set(HEAT)) == 5


def test_a_week_is_compared_with_the_one_before() -> None:
    found = Activity(
        sessions=2,
        week=DayFigures(messages=15, conversations=3, tokens=5, cost_usd=1.0),
        week_before=DayFigures(messages=10, conversations=3, tokens=0, cost_usd=2.0),
    )
    text = page.overview(found, 60).plain
    assert "Messages        15           ▲ 50% from 10" in text
    assert "Conversations   3            the same" in text
    assert "Tokens          5            ▲ from 0" in text
    assert "Cost            $1.00        ▼ 50% from $2.00" in text
    assert "from" not in page.overview(found, 36).plain


def test_bars_show_what_is_known_best() -> None:
    def usage(cost: float | None, tokens: int) -> str:
        shares = tuple(Share(f"m{n}", 1, tokens, cost or 0.0) for n in range(10))
        none = Share(None, 3, 0, 0.0)
        found = Usage(10, tokens, 0, 0, 0, cost, shares, (none,), shares[:1])
        return page.usage(found, "All time", "", 40).plain

    assert "Cost by model" in usage(1.0, 10) and "and 2 more: $2.00" in usage(1.0, 10)
    assert "Tokens by model" in usage(None, 10)
    assert "Sessions by model" in usage(None, 0)
    assert "workspace" not in usage(1.0, 10), "there is none with a name"
