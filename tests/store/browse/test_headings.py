"""The headings of a list: days, sources, models."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import Grouping, Heading, Hidden, Sort, View
from tests.store.plain_list import NOW, ids
from tests.support import LONG_AGO, add

ALL = frozenset(Hidden)
ZONES = ("UTC0", "EST5EDT,M3.2.0,M11.1.0", "NZST-12NZDT,M9.5.0,M4.1.0/3", "IST-5:30")


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Another local time."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


def _headings(db: SessionDB, view: View, now: float) -> list[tuple[str, int]]:
    return [
        (entry.text, entry.count)
        for entry in db.store.lists.entries(view, now=now)
        if isinstance(entry, Heading)
    ]


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 3, 15, 0, 0, 1),
        datetime(2026, 3, 8, 23, 59, 59),  # New York's clocks went forward that day
        datetime(2026, 1, 1, 12),
        datetime(2024, 3, 1, 9, 30),  # after a leap day
        datetime(2026, 11, 2, 0, 30),
    ],
)
def test_dates_change_at_local_midnight_and_with_the_month(db: SessionDB, now: datetime) -> None:
    midnight = now.replace(hour=0, minute=0, second=0)
    edges = [midnight - timedelta(days) for days in (0, 1, 6, 29)]
    for edge in edges:
        for name, moment in (("at", edge), ("before", edge - timedelta(seconds=1))):
            add(db, f"{edge} {name}", at=moment.timestamp())
    earlier = (edges[-1] - timedelta(days=1)).replace(day=1)
    before_that = earlier - timedelta(seconds=1)
    add(db, "first of a month", at=earlier.timestamp())
    add(db, "last of a month", at=before_that.timestamp())
    older = [
        f"{edges[-1] - timedelta(seconds=1):%B %Y}",
        f"{earlier:%B %Y}",
        f"{before_that:%B %Y}",
    ]
    counted = {name: older.count(name) for name in older}
    view = View(shown=ALL, group=Grouping.DATE)
    assert _headings(db, view, now.timestamp()) == [
        ("Today", 1),
        ("Yesterday", 2),
        (f"{edges[1] - timedelta(seconds=1):%A}", 1),
        (f"{edges[2]:%A}", 1),
        ("Last 30 days", 2),
        *counted.items(),
    ]
    every = list(db.store.lists.entries(view, now=now.timestamp()))
    assert every[:2] == [Heading("Today", 1), f"{edges[0]} at"]
    assert every[-1] == "last of a month"
    assert ids(db.store, view) == ids(db.store, View(shown=ALL))


def test_dates_are_those_of_what_a_list_is_sorted_by(db: SessionDB) -> None:
    add(db, "a", at=NOW - 90 * 86_400)
    db.append_message("a", "user", "x", timestamp=NOW)
    by_activity, by_start = (
        View(group=Grouping.DATE, sort=s) for s in (Sort.ACTIVITY, Sort.STARTED)
    )
    assert _headings(db, by_activity, NOW) == [("Today", 1)]
    assert _headings(db, by_start, NOW) == [("December 2025", 1)]


def test_days_are_no_headings_of_a_list_by_title(db: SessionDB) -> None:
    add(db, "a", "x", at=NOW - 90 * 86_400)
    add(db, "b", "x", at=NOW)
    view = View(group=Grouping.DATE, sort=Sort.TITLE)
    assert list(db.store.lists.entries(view, now=NOW)) == ["b", "a"]


def test_what_lies_ahead_is_of_today(db: SessionDB) -> None:
    add(db, "a", "x", at=NOW + 5 * 86_400)
    assert _headings(db, View(group=Grouping.DATE), NOW) == [("Today", 1)]


def test_sources_and_models_come_in_the_order_of_their_newest(db: SessionDB) -> None:
    for place, (source, model) in enumerate(
        [("cli", "opus"), ("telegram", None), ("cli", "haiku"), ("own", "opus"), ("telegram", "")]
    ):
        name = f"s{place}"
        add(db, name, "x", source=source, at=LONG_AGO + place)
        with db._db.write() as tx:
            tx.run("UPDATE sessions SET model = ? WHERE id = ?", (model, name))
    assert list(db.store.lists.entries(View(group=Grouping.SOURCE), now=NOW)) == [
        Heading("Telegram", 2), "s4", "s1", Heading("own", 1), "s3",
        Heading("Terminal", 2), "s2", "s0",
    ]  # fmt: skip
    assert list(db.store.lists.entries(View(group=Grouping.MODEL), now=NOW)) == [
        Heading("no model", 2), "s4", "s1", Heading("opus", 2), "s3", "s0",
        Heading("haiku", 1), "s2",
    ]  # fmt: skip
    assert list(db.store.lists.entries(View(group=Grouping.MODEL, limit=3), now=NOW)) == [
        Heading("no model", 1), "s4", Heading("opus", 1), "s3", Heading("haiku", 1), "s2",
    ]  # fmt: skip
