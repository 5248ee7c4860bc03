"""Times as people type them, also across the days on which clocks change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.records.search import Request
from hermes_store.search import times
from tests.support import add

HOUR, DAY = 3_600.0, 86_400.0


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks there went forward on 29 March 2026 at 2:00 and go back on 25 October at 3:00."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


NOW = "2026-03-30T12:00:00"  # a Monday, the day after clocks went forward

SPANS = {
    "30min": ("2026-03-30T11:30", NOW),
    "30m": ("2026-03-30T11:30", NOW),
    "12h": ("2026-03-30T00:00", NOW),
    "7d": ("2026-03-23T12:00", NOW),
    "1w": ("2026-03-23T12:00", NOW),
    "1mo": ("2026-02-28T12:00", NOW),
    "1y": ("2025-03-30T12:00", NOW),
    "today": ("2026-03-30", "2026-03-31"),
    "Yesterday": ("2026-03-29", "2026-03-30"),
    "monday": ("2026-03-30", "2026-03-31"),
    "sunday": ("2026-03-29", "2026-03-30"),
    "tuesday": ("2026-03-24", "2026-03-25"),
    "2026-01-31": ("2026-01-31", "2026-02-01"),
    "2026-01": ("2026-01-01", "2026-02-01"),
    "2026-02": ("2026-02-01", "2026-03-01"),
    "2025-12": ("2025-12-01", "2026-01-01"),
    "2025": ("2025-01-01", "2026-01-01"),
    "2026-03-01T10:30": ("2026-03-01T10:30", "2026-03-01T10:30"),
    "2026-03-01T10:30:00Z": ("2026-03-01T11:30", "2026-03-01T11:30"),
    " 7d ": ("2026-03-23T12:00", NOW),
}


@pytest.mark.parametrize("text", SPANS)
def test_a_text_means_a_span(text: str) -> None:
    first, last = SPANS[text]
    assert times.span(text, at(NOW)) == (at(first), at(last))


@pytest.mark.parametrize(
    "text",
    ["", "soon", "7", "7x", "d", "-7d", "99999y", "2026-13", "2026-02-30", "0000-01", "9999-12",
     "1899", "٢٠٢٦-٠١-٠١", "2026-01-01T99:00", "mon", "\0", "7d7d"],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert times.span(text, at(NOW)) is None


@given(st.text(max_size=12) | st.from_regex(r"[0-9]{1,5}[a-z]{1,3}|[0-9-]{4,10}", fullmatch=True))
def test_no_text_fails_and_no_span_is_backwards(text: str) -> None:
    found = times.span(text, at(NOW))
    assert found is None or found[0] <= found[1]


def test_a_day_is_as_long_as_its_clocks_say() -> None:
    spring, autumn = (times.span(day, at(NOW)) for day in ("2026-03-29", "2026-10-25"))
    assert spring is not None
    assert autumn is not None
    assert spring[1] - spring[0] == 23 * HOUR
    assert autumn[1] - autumn[0] == 25 * HOUR


def test_hours_are_hours_and_days_are_days_when_clocks_change() -> None:
    noon = at("2026-03-29T12:00")
    half, whole = times.span("12h", noon), times.span("1d", noon)
    assert half is not None
    assert whole is not None
    assert noon - half[0] == 12 * HOUR
    assert noon - whole[0] == 23 * HOUR


def test_searches_use_them(db: SessionDB) -> None:
    for place, moment in enumerate(("2026-03-27T12:00", "2026-03-29T00:30", "2026-03-29T23:30")):
        add(db, f"s{place}", "hello", at=at(moment) - 1)
    add(db, "s3", "hello", at=at(NOW) - 61)

    def found(text: str) -> list[str]:
        hits = db.store.search.run(Request(f"hello {text}", now=at(NOW), relax=False)).hits
        return sorted(hit.session_id for hit in hits)

    assert found("on:yesterday") == ["s1", "s2"]
    assert found("-on:yesterday") == ["s0", "s3"]
    assert found("after:yesterday") == ["s1", "s2", "s3"]
    assert found("before:yesterday") == ["s0"]
    assert found("after:1h") == ["s3"]
    assert found("after:2d before:today") == ["s1", "s2"]
    assert found("on:2026-03") == ["s0", "s1", "s2", "s3"]
    assert found("on:2026-02") == []
