"""Cleaning text: what is shown can act on nothing, what is stored is UTF-8."""

from __future__ import annotations

import json
from unicodedata import bidirectional, category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store.records.safe_text import (
    clean,
    clean_in_place,
    clean_line,
    escape_json,
    one_line,
    shorten,
    storable,
)

_NASTY = st.sampled_from(
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\r", "\r\n", "\n", "\t", "\x7f", "\u202e", "\u2066",
     "\ud83d", "\udc00", "\x00", "\x85", "\u061c", "\u2028", "\u2029", "👩‍💻"]
)  # fmt: skip
TEXT = st.lists(st.text(max_size=8) | _NASTY, max_size=12).map("".join)


@settings(deadline=None, max_examples=100)
@given(TEXT)
def test_clean_text_can_act_on_no_terminal(text: str) -> None:
    shown = clean(text)
    shown.encode("utf-8")
    for char in shown:
        assert char in "\n\t" or category(char) not in ("Cc", "Cs", "Zl", "Zp")
        assert bidirectional(char) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
        assert char not in "\u200e\u200f\u061c"


@settings(deadline=None, max_examples=100)
@given(TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text) == text
    assert storable(text) == text


def test_controls_become_visible() -> None:
    assert clean("\x1b[31mred\x00") == "␛[31mred␀"
    assert clean("a\rb\r\nc\nd\te") == "a\nb\nc\nd\te"
    assert clean("\x7f\x9b") == "␡\ufffd"
    assert clean("abc\u202edef") == "abcdef"
    assert clean("family 👨‍👩‍👧‍👦 ok") == "family 👨‍👩‍👧‍👦 ok"


def test_every_line_end_is_one() -> None:
    text = "a\u2028b\u2029c"
    assert clean(text) == "a\nb\nc"
    assert clean_line(text) == "a␊b␊c"
    assert clean_in_place(text) == "a␊b␊c"
    assert escape_json(json.dumps(text, ensure_ascii=False)) == '"a\\u2028b\\u2029c"'


@settings(deadline=None, max_examples=100)
@given(TEXT)
def test_storable_text_is_utf8_of_the_same_length(text: str) -> None:
    stored = storable(text)
    assert stored.encode("utf-8").decode("utf-8") == stored
    assert len(stored) == len(text)
    assert all(a == b or category(b) == "Cs" for a, b in zip(stored, text, strict=True))


@settings(deadline=None, max_examples=50)
@given(TEXT, st.integers(1, 20))
def test_shortened_text_fits(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or short.endswith("…")


@pytest.mark.parametrize(
    ("text", "expected"), [("a  b\n\tc ", "a b c"), ("", ""), ("\u3000日本\u3000", "日本")]
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected
