"""What holds for every text: widths are exact, nothing is lost, completion only adds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_tui.browse.completion import VALUES, completed
from hermes_tui.presentation import wrap_text
from hermes_tui.presentation.fit_text import fit
from hermes_tui.presentation.styled_line import cut, width_of
from hermes_tui.presentation.times import age, list_age, local_time

TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab 世界ｆé́👩‍👧\u200b🇩🇪·…"),
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]),
    ),
    max_size=80,
)
DAY = 86_400.0
MIDNIGHT = 51_200
"""Seconds since the midnight before the moment that these tests call now."""


@given(TEXTS, st.integers(-3, 60))
def test_fit_is_exact(text: str, width: int) -> None:
    shown = fit(text, width)
    assert cell_len(shown) == max(0, width)
    if cell_len(text) <= width:
        assert shown.startswith(text)
    elif width > 0:
        assert "…" in shown


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["", "dim"])), max_size=6), st.integers(1, 60))
def test_cut_is_exact(pieces: list[tuple[str, str]], width: int) -> None:
    assert width_of(cut(pieces, width)) == width


@settings(max_examples=200)
@given(
    st.text(
        st.one_of(
            st.sampled_from("ab \n世é"), st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
        ),
        max_size=200,
    ),
    st.integers(2, 40),
)
def test_wrapping_loses_nothing(text: str, room: int) -> None:
    lines = list(wrap_text.wrapped(text, room))
    assert all(cell_len(line) <= room for line in lines)
    # At a break one space may go; everything else is there, in order.
    assert "".join(lines).replace(" ", "") == text.replace("\n", "").replace(" ", "")
    assert len(lines) >= text.count("\n") + 1


@given(TEXTS.filter(lambda text: "\n" not in text), st.integers(2, 40))
def test_what_fits_is_not_broken(text: str, room: int) -> None:
    if cell_len(text) <= room:
        assert list(wrap_text.wrapped(text, room)) == [text]


@given(
    st.one_of(
        TEXTS,
        st.builds(
            lambda lead, field, value: f"{lead}{field}:{value}",
            st.sampled_from(["", "docker ", "-", '"a b" ']),
            st.sampled_from([*VALUES, "nothing"]),
            st.text("abctelgrmuso-TEL", max_size=4),
        ),
        st.builds(lambda name, end: name[:end], st.sampled_from(list(VALUES)), st.integers(0, 6)),
    )
)
def test_completion_only_adds(text: str) -> None:
    known = {"model": {"Claude-Opus": 3, "gpt": 1}, "tag": {"work": 0}}
    wider = completed(text, known)
    if wider is None:
        return
    assert len(wider) > len(text)
    assert wider.lower().startswith(text.lower())
    assert wider != text
    start = max(text.rfind(" "), text.rfind(":"), text.rfind("-")) + 1
    assert wider[:start] == text[:start]


def test_completion_knows_the_fields() -> None:
    assert completed("sour", {}) == "source:"
    assert completed("docker -sour", {}) == "docker -source:"
    assert completed("source:tele", {}) == "source:telegram"
    assert completed("model:cl", {"model": {"claude": 2}}) == "model:claude"
    assert completed("s", {}) is None, "one letter is a word like any other"
    assert completed("source:telegram", {}) is None
    assert completed('"sour', {}) is None


@given(st.floats(0, 4e9, allow_nan=False), st.floats(-1e6, 4e9, allow_nan=False), st.booleans())
def test_ages_are_short(moment: float, ago: float, short: bool) -> None:
    text = age(moment, moment + ago, short=short)
    assert 0 < len(text) <= (8 if short else 11)
    assert text == text.strip()


def test_ages_in_words() -> None:
    """Yesterday is the day before, not twenty-four hours ago."""
    now = 1_790_000_000.0
    for ago, long, short in (
        (-5, "just now", "now"),
        (59, "just now", "now"),
        (60, "1m ago", "1m"),
        (3_599, "59m ago", "59m"),
        (3_600, "1h ago", "1h"),
        (MIDNIGHT, "14h ago", "14h"),
        (MIDNIGHT + 1, "yesterday", "1d"),
        (DAY, "yesterday", "1d"),
        (MIDNIGHT + DAY, "yesterday", "1d"),
        (MIDNIGHT + DAY + 1, "2d ago", "2d"),
        (MIDNIGHT + 6 * DAY, "6d ago", "6d"),
        (MIDNIGHT + 6 * DAY + 1, "14 Sep", "14 Sep"),
        (300 * DAY, "Nov 2025", "Nov 2025"),
    ):
        assert age(now - ago, now) == long
        assert age(now - ago, now, short=True) == short


def test_under_the_heading_of_a_day_the_time_is_enough() -> None:
    now = 1_790_000_000.0
    for ago, by_day, short in (
        (MIDNIGHT, "14h", "14h"),
        (MIDNIGHT + 1, "23:59", "1d"),
        (MIDNIGHT + 3 * DAY + 60, "23:59", "4d"),
        (MIDNIGHT + 6 * DAY + 1, "14 Sep", "14 Sep"),
    ):
        assert list_age(now - ago, now, by_day=True) == by_day
        assert list_age(now - ago, now, by_day=False) == short


@pytest.mark.parametrize("moment", [None, 0.0, -1.0, -1e300, float("-inf")])
def test_a_time_that_is_none_is_unknown(moment: float | None) -> None:
    assert age(moment, 1_790_000_000.0, dates=True) == "?"
    assert local_time(moment) == "–"
