"""Figures of the whole store: days, weeks, streaks, time at work, and who used what."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.statistics import Activity, DayFigures
from hermes_store.sessions import messages
from hermes_store.store import Store
from tests.support import add, add_chain, raw

NOW = 1_790_000_000.0
"""Monday, 21 September 2026, 13:33:20 UTC."""
TODAY = date(2026, 9, 21)
DAY = 86_400.0


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the local time zone."""

    def set_to(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    set_to("UTC")
    yield set_to
    monkeypatch.undo()
    time.tzset()


def say(db: SessionDB, session_id: str, *moments: float) -> None:
    """Add a message at each moment."""
    with db._db.write() as tx:
        for moment in moments:
            messages.append(tx, session_id, {"role": "user", "content": "x"}, moment)


def pay(
    db: SessionDB,
    name: str,
    model: str | None,
    cost: float | None,
    *,
    read: int,
    written: int = 0,
    cached: int = 0,
) -> None:
    """Note what a session used."""
    db.update_token_counts(
        name, read, written, model, cache_read_tokens=cached, estimated_cost_usd=cost
    )


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]
)
def test_days_and_hours_are_those_of_the_wall_clock(
    db: SessionDB, zone: Callable[[str], None], name: str
) -> None:
    zone(name)
    draw = random.Random(name)
    # Many around the changes of the clock, which are near the end of March and of October.
    moments = [NOW - draw.random() * 2 * 365 * DAY for _ in range(600)]
    moments += [NOW - (draw.choice((177, 330, 351, 695)) + draw.random()) * DAY for _ in range(400)]
    add(db, "a", at=NOW - 800 * DAY)
    say(db, "a", *moments)
    found = db.store.upkeep.activity(NOW)
    local = [datetime.fromtimestamp(each) for each in moments]
    counted = {day: figures.messages for day, figures in found.days.items()}
    assert counted == Counter(each.date() for each in local)
    hours = Counter(each.hour for each in local)
    assert found.hours == tuple(hours[hour] for hour in range(24))
    assert found.messages == 1_000


def test_pauses_and_nights_are_no_time_at_work(db: SessionDB, zone: Callable[[str], None]) -> None:
    add(db, "a", at=NOW - 100 * DAY)
    add(db, "b", at=NOW - DAY)
    start = NOW - 100 * DAY
    say(db, "a", start, start + 60, start + 60 + 1_799, start + 60 + 1_799 + 1_800, NOW)
    say(db, "b", NOW - DAY, NOW - DAY + 10)
    found = db.store.upkeep.activity(NOW)
    assert found.active_seconds == 60 + 1_799 + 10
    assert found.days[TODAY - timedelta(days=1)].active_seconds == 10
    insights = db.store.upkeep.insights(days=365, now=NOW)
    assert insights.active_seconds == 60 + 1_799 + 10
    longest = next(each for each in insights.notable if each.kind == "longest")
    assert (longest.session_id, longest.value) == ("a", 60 + 1_799)


def test_parts_and_helpers_are_no_conversations_of_their_own(
    db: SessionDB, zone: Callable[[str], None]
) -> None:
    add_chain(db, ["one", "two", "three"], at=NOW - 3_000)
    add(db, "helper", "x", at=NOW - 900, parent="three", edge=Edge.AGENT)
    add(db, "branch", "x", at=NOW - 800, parent="three", edge=Edge.BRANCH)
    found = db.store.upkeep.activity(NOW)
    assert (found.sessions, found.conversations) == (5, 2)
    assert (found.days[TODAY].messages, found.days[TODAY].conversations) == (5, 2)
    assert found.week.conversations == 2


def test_weeks_are_seven_days_each(db: SessionDB, zone: Callable[[str], None]) -> None:
    add(db, "a", at=NOW - 40 * DAY)
    say(db, "a", *(NOW - back * DAY for back in (0, 6, 7, 13, 14)))
    pay(db, "a", "m", 9.0, read=900)
    add(db, "b", at=NOW - 6 * DAY)
    pay(db, "b", "m", 0.5, read=10, cached=30)
    found = db.store.upkeep.activity(NOW)
    assert found.week == DayFigures(2, 1, 0.0, 40, 0.5)
    assert found.week_before == DayFigures(2, 1, 0.0, 0, 0.0)
    assert found.days[TODAY - timedelta(days=40)] == DayFigures(0, 0, 0.0, 900, 9.0)


@pytest.mark.parametrize(
    ("back", "streak", "longest"),
    [((), 0, 0), ((0,), 1, 1), ((1,), 1, 1), ((2,), 0, 1), ((0, 1, 2, 9), 3, 3),
     ((1, 2, 5, 6, 7, 8), 2, 4)],
)  # fmt: skip
def test_streaks_wait_for_today(
    db: SessionDB, zone: Callable[[str], None], back: tuple[int, ...], streak: int, longest: int
) -> None:
    add(db, "a", at=NOW - 40 * DAY)
    say(db, "a", *(NOW - days * DAY for days in back))
    found = db.store.upkeep.activity(NOW)
    assert (found.streak, found.longest_streak) == (streak, longest)


def test_usage_by_model_workspace_and_source(db: SessionDB) -> None:
    for name, model, cost, read, source in (
        ("a", "opus", 5.0, 10, "cli"),
        ("b", "opus", 1.0, 20, "telegram"),
        ("c", "mini", 9.0, 30, "cli"),
        ("d", None, None, 40, "cli"),
        ("old", "mini", 100.0, 50, "cli"),
    ):
        add(db, name, at=NOW - (400 if name == "old" else 5) * DAY, source=source)
        pay(db, name, model, cost, read=read, written=1, cached=60)
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET git_repo_root = '/src/shop' WHERE id IN ('a', 'c')")
    found = db.store.upkeep.usage(days=30, now=NOW)
    assert (found.sessions, found.cost_usd, found.tokens) == (4, 15.0, 100 + 4 + 240)
    assert found.cache_share == 240 / 340
    assert [(each.name, each.cost_usd, each.sessions) for each in found.models] == [
        ("mini", 9.0, 1),
        ("opus", 6.0, 2),
        (None, 0.0, 1),
    ]
    assert [(each.name, each.tokens) for each in found.workspaces] == [
        ("/src/shop", 10 + 30 + 2 + 120),
        (None, 20 + 40 + 2 + 120),
    ]
    assert [each.name for each in found.sources] == ["cli", "telegram"]
    assert db.store.upkeep.usage(now=NOW).cost_usd == 115.0


def test_what_is_not_recorded_is_not_zero(db: SessionDB) -> None:
    add(db, "a", at=NOW)
    found = db.store.upkeep.usage(now=NOW)
    assert (found.cost_usd, found.cache_share, found.tokens) == (None, None, 0)


def test_an_empty_store_has_no_days(db: SessionDB) -> None:
    found = db.store.upkeep.activity(NOW)
    assert (found.sessions, found.conversations, found.days, found.streak) == (0, 0, {}, 0)
    assert db.store.upkeep.usage(days=7, now=NOW).models == ()


def test_values_that_are_no_times_are_left_out(
    db: SessionDB, path: Path, zone: Callable[[str], None]
) -> None:
    add(db, "a", "x", "x", at=NOW)
    db.close()
    with raw(path) as con:
        for value in ("soon", b"\xff", float("inf"), -5.0, 0, 9e18):
            con.execute(
                "INSERT INTO messages(session_id, role, timestamp) VALUES ('a', 'tool', ?)",
                (value,),
            )
        con.execute("INSERT INTO sessions(id, source, started_at) VALUES ('b', 'cli', 'soon')")
    with Store(path, read_only=True) as store:
        found = store.upkeep.activity(NOW)
    assert found.sessions == 2 and found.messages == 2 and list(found.days) == [TODAY]


def test_a_file_without_the_columns_has_figures(path: Path, zone: Callable[[str], None]) -> None:
    path.touch()
    with raw(path) as con:
        con.execute("CREATE TABLE schema_version (version)")
        con.execute("INSERT INTO schema_version VALUES (23)")
        con.execute("CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL)")
        con.execute("CREATE TABLE messages (session_id TEXT, content TEXT, timestamp REAL)")
        con.execute("INSERT INTO sessions VALUES ('a', 'cli', ?)", (NOW,))
        con.execute("INSERT INTO messages VALUES ('a', 'x', ?)", (NOW,))
    with Store(path, read_only=True) as store:
        assert store.upkeep.activity(NOW).days[TODAY].conversations == 1
        found = store.upkeep.usage(days=30, now=NOW)
    assert (found.cost_usd, found.cache_share) == (None, None)
    assert [each.name for each in (*found.models, *found.workspaces)] == [None, None]


def test_counting_stops_when_nobody_waits_for_it(db: SessionDB) -> None:
    add(db, "a", *["x"] * 500, at=NOW)
    assert db.store.upkeep.activity(NOW, lambda: True) == Activity()
    assert db.store.upkeep.activity(NOW, lambda: False).messages == 500
