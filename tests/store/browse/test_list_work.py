"""A page of a list costs as much as the page, not as much as the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.listing import View
from tests.store import newer
from tests.support import LONG_AGO, Work, is_table_scan

PAGE = 20
SMALL, LARGE = 250, 2_500

Action = Callable[[SessionDB], Any]

LISTS: dict[str, Action] = {
    "by start": lambda db: db.list_sessions_rich(limit=PAGE),
    "by activity": lambda db: db.list_sessions_rich(limit=PAGE, order_by_last_active=True),
    "by activity, one source": lambda db: db.list_sessions_rich(
        source="cli", limit=PAGE, order_by_last_active=True
    ),
    "by start, one source": lambda db: db.list_sessions_rich(source="cli", limit=PAGE),
    "without a source": lambda db: db.list_sessions_rich(exclude_sources=["sms"], limit=PAGE),
    "recent": lambda db: db.search_sessions(limit=PAGE),
    "recent, one source": lambda db: db.search_sessions("cli", limit=PAGE),
    "conversations": lambda db: db.store.lists.conversations(limit=PAGE),
}
SORTED = ("recent", "recent, one source")
"""Lists whose order no index has; they sort a little more than the page."""


def _fill(db: SessionDB, number: int, exchanges: int = 1) -> None:
    """Write many sessions in one transaction: chains of two, agents, a few messages each."""
    with db._db.write() as tx:
        for place in range(number):
            start = LONG_AGO + place * 100
            kind = place % 5
            parent = f"s{place - 1:05}" if kind in (1, 3) else None
            tx.run(
                "INSERT INTO sessions(id, source, started_at, ended_at, end_reason, "
                "parent_session_id) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    f"s{place:05}",
                    "telegram" if place % 3 == 0 else "cli",
                    start,
                    start + 50,
                    "compression" if kind == 0 else "user_exit",
                    parent,
                ),
            )
            for exchange in range(exchanges):
                tx.run(
                    "INSERT INTO messages(session_id, role, content, timestamp) "
                    "VALUES (?1, 'user', 'question', ?2), (?1, 'assistant', 'answer', ?2 + 1)",
                    (f"s{place:05}", start + 1 + exchange),
                )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SessionDB, SessionDB]]:
    """A small store and one ten times its size."""
    folder = tmp_path_factory.mktemp("work")
    with SessionDB(folder / "small.db") as small, SessionDB(folder / "large.db") as large:
        _fill(small, SMALL)
        _fill(large, LARGE)
        yield small, large


@pytest.mark.parametrize("name", LISTS)
def test_ten_times_the_sessions_cost_the_same(
    stores: tuple[SessionDB, SessionDB], name: str
) -> None:
    small, large = (Work(store, LISTS[name]) for store in stores)
    assert len(small.answer) == len(large.answer) == PAGE
    assert large.steps <= small.steps * 1.5


@pytest.mark.parametrize("name", [each for each in LISTS if each not in SORTED])
def test_no_plan_scans_messages_or_sorts_everything(
    stores: tuple[SessionDB, SessionDB], name: str
) -> None:
    page, *details = Work(stores[1], LISTS[name]).plans()
    assert "INDEX" in page[0]
    # Ties in the order may be sorted among themselves; the order itself comes from an index.
    assert "USE TEMP B-TREE FOR ORDER BY" not in page
    for line in [*page[1:], *(line for plan in details for line in plan)]:
        assert not is_table_scan(line)


@pytest.mark.parametrize("name", SORTED)
def test_what_is_sorted_comes_from_the_index_of_the_list(
    stores: tuple[SessionDB, SessionDB], name: str
) -> None:
    lines = [line for plan in Work(stores[1], LISTS[name]).plans() for line in plan]
    # A subquery has few rows; it is called "first" where it has a name.
    scans = [each for each in lines if each.startswith("SCAN") and each != "SCAN first"]
    assert not [each for each in scans if "(subquery" not in each]
    assert "SEARCH session_activity USING COVERING INDEX idx_session_activity_list" in str(lines)


@pytest.mark.parametrize("name", ["by start", "by activity", "recent"])
def test_a_page_takes_few_steps_in_all(stores: tuple[SessionDB, SessionDB], name: str) -> None:
    assert Work(stores[1], LISTS[name]).steps < PAGE * 500


# -- files of a newer Hermes, in which no order is stored -----------------------------------------

FOREIGN: dict[str, Action] = {
    "by activity": LISTS["by activity"],
    "by activity, one source": LISTS["by activity, one source"],
    "with children": lambda db: db.list_sessions_rich(
        limit=PAGE, order_by_last_active=True, include_children=True
    ),
    "recent": LISTS["recent"],
    "recent, one source": LISTS["recent, one source"],
    "conversations": LISTS["conversations"],
    "first rows": lambda db: list(db.store.lists.entries(View(limit=PAGE), now=LONG_AGO)),
}
FEW = 600
LOOK_UP = 11
"""The steps it takes to find out in the index of messages that a session is not recent enough, and
in its row that it is not pinned."""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, SessionDB]]:
    """Files of a newer Hermes: one with ten times the messages, one with ten times the sessions."""
    folder: Path = tmp_path_factory.mktemp("foreign")
    sizes = {"plain": (FEW, 1), "talkative": (FEW, 10), "large": (10 * FEW, 1)}
    files: dict[str, SessionDB] = {}
    for name, size in sizes.items():
        path = folder / f"{name}.db"
        newer.make(path)
        files[name] = SessionDB(path)
        _fill(files[name], *size)
    yield files
    for db in files.values():
        db.close()


@pytest.mark.parametrize("name", FOREIGN)
def test_a_page_of_a_foreign_file_costs_the_same_with_ten_times_the_messages(
    foreign: dict[str, SessionDB], name: str
) -> None:
    plain, talkative = (Work(foreign[each], FOREIGN[name]) for each in ("plain", "talkative"))
    assert len(plain.answer) == len(talkative.answer) == PAGE
    assert talkative.steps <= plain.steps * 1.1


@pytest.mark.parametrize("name", FOREIGN)
def test_a_page_of_a_foreign_file_costs_one_look_up_more_for_each_session(
    foreign: dict[str, SessionDB], name: str
) -> None:
    plain, large = (Work(foreign[each], FOREIGN[name]) for each in ("plain", "large"))
    assert len(plain.answer) == len(large.answer) == PAGE
    assert large.steps - plain.steps <= 9 * FEW * LOOK_UP
    assert plain.steps - FEW * LOOK_UP < PAGE * 1_500
