"""Values that are not what their column promises: counted by doctor, mended by every reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.engines.sqlite.sidecar_database import path_for
from hermes_store.records import stored_values
from hermes_store.records.listing import View
from hermes_store.records.prune import PruneFilter
from hermes_store.records.upkeep_reports import Health
from hermes_store.store import Store
from hermes_store.upkeep.doctor import examine
from tests.support import LONG_AGO, add, raw

ANY = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(), st.binary(), st.booleans(),
    st.sampled_from(["1e999", "nan", "-inf", " 17 ", b"17", b"\xff"]),
)  # fmt: skip


@given(ANY)
def test_anything_becomes_a_value_that_can_be_shown(value: Any) -> None:
    stored_values.text(value).encode()
    assert isinstance(stored_values.count(value), int)
    assert f"{stored_values.count(value):,} {stored_values.amount(value):.2f}"
    moment = stored_values.moment(value)
    assert stored_values.EARLIEST <= moment <= stored_values.LATEST
    assert isinstance(stored_values.flag(value), bool)


@given(st.floats(stored_values.EARLIEST, stored_values.LATEST), st.text(), st.integers(0, 2**53))
def test_what_is_right_stays_as_it_is(moment: float, text: str, number: int) -> None:
    assert stored_values.moment(moment) == moment
    assert stored_values.text(text) == text
    assert stored_values.count(number) == number
    assert stored_values.number(str(number)) == number


def values(path: Path) -> tuple[Health, str]:
    found = next(finding for finding in examine(path) if finding.what == "values")
    return found.health, found.explanation


def test_doctor_counts_them(path: Path) -> None:
    with SessionDB(path) as db:
        for number in range(4):
            add(db, f"s{number}", "said", title=f"t{number}")
    assert values(path)[0] is Health.GOOD
    with raw(path) as con:
        con.execute("UPDATE sessions SET started_at = 'soon', model = x'00' WHERE id = 's0'")
        con.execute("UPDATE sessions SET started_at = started_at * 1000 WHERE id = 's1'")
        con.execute("UPDATE messages SET timestamp = 'now' WHERE session_id = 's2'")
    health, text = values(path)
    assert health is Health.NOTE
    assert "3 in sessions and 1 in messages" in text


def test_an_unknown_age_is_no_reason_to_prune(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "old", "said", at=LONG_AGO, ended=LONG_AGO + 9)
        add(db, "odd", "said", at=LONG_AGO, ended=LONG_AGO + 9)
    with raw(path) as con:
        con.execute("UPDATE messages SET timestamp = 'then' WHERE session_id = 'odd'")
    with Store(path) as store:
        plan = store.upkeep.plan_prune(PruneFilter(older_than_days=1))
        assert plan.session_ids == ("old",)
        assert [(each.session_id, "age is unknown" in each.text) for each in plan.spared] == [
            ("odd", True)
        ]


def test_an_unknown_time_of_deletion_is_no_reason_to_purge(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "s", "said", at=LONG_AGO, ended=LONG_AGO + 9)
        db.store.trash.delete(["s"])
        with raw(path_for(path)) as con:
            con.execute("UPDATE trash_batches SET deleted_at = 'then'")
        assert db.store.trash.empty(1).sessions == 0
        assert [batch.session_ids for batch in db.store.trash.list()] == [("s",)]


@pytest.mark.parametrize("odd", ["text", b"blob"])
def test_what_has_no_time_is_listed_last(path: Path, odd: Any) -> None:
    with SessionDB(path) as db:
        for number in range(3):
            add(db, f"s{number}", "said", at=LONG_AGO + number)
    with raw(path) as con:
        con.execute("UPDATE messages SET timestamp = ? WHERE session_id = 's1'", (odd,))
    with Store(path, read_only=True) as store:
        assert [row["id"] for row in store.lists.as_dictionaries()] == ["s2", "s0", "s1"]
        assert [row["id"] for row in store.lists.as_dictionaries(limit=2)] == ["s2", "s0"]
        assert list(store.lists.entries(View(), now=LONG_AGO)) == ["s2", "s0", "s1"]


def test_milliseconds_are_listed_where_they_belong(path: Path) -> None:
    with SessionDB(path) as db:
        for number in range(3):
            add(db, f"s{number}", "said", at=LONG_AGO + number * 100)
    with raw(path) as con:
        con.execute("UPDATE messages SET timestamp = timestamp * 1000 WHERE session_id = 's1'")
    with Store(path, read_only=True) as store:
        assert [row["id"] for row in store.lists.as_dictionaries()] == ["s2", "s1", "s0"]
        assert list(store.lists.entries(View(), now=LONG_AGO)) == ["s2", "s1", "s0"]
        (row,) = store.lists.rows(["s1"], now=LONG_AGO)
        assert row.last_active == LONG_AGO + 101


def test_a_very_long_name_is_not_found_and_nothing_else(path: Path) -> None:
    long = "[x*?%_" * 20_000
    with SessionDB(path) as db:
        add(db, "s", "said")
        assert db.resolve_session_id(long) is None
        assert db.store.search.run(f"title:{long}").diagnostics
        assert not db.store.search.run(long).hits
        assert db.resolve_session_id("s") == "s"
