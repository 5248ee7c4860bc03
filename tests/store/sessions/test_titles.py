"""Titles: what may be one, how a lineage is numbered, who holds which."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import SessionNotFound, TitleError, TitleTaken, TitleTooLong
from hermes_store.sessions import titles
from tests.fuzzing import thorough
from tests.support import LONG_AGO, add, add_chain

EMOJI = ("👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "👁️‍🗨️", "🧑🏿‍🤝‍🧑🏻", "🏴‍☠️")
# Any text, but rich in what the rules are about.
_NASTY = st.sampled_from(
    ["\u200d", "\u200b", "\u202e", "\x00", "\x1b", "\ud800", " #", "👩", *EMOJI]
)
TEXT = st.lists(st.text(max_size=12) | _NASTY, max_size=14).map("".join)
NUMBERS = st.integers(min_value=2, max_value=99_999_999)


def _sanitized(text: str) -> str | None:
    try:
        return titles.sanitize(text)
    except TitleTooLong:
        return None


@thorough(100)
@given(TEXT)
def test_sanitizing_twice_changes_nothing(text: str) -> None:
    once = _sanitized(text)
    if once is not None:
        assert titles.sanitize(once) == once


@thorough(100)
@given(TEXT)
def test_a_sanitized_title_is_one_clean_line(text: str) -> None:
    clean = _sanitized(text)
    if clean is None:
        return
    assert 1 <= len(clean) <= titles.MAX_LENGTH
    assert clean == clean.strip()
    assert "  " not in clean
    assert not {"\n", "\t", "\x00", "\x1b", "\u200b", "\u202e", "\ufeff"} & set(clean)
    assert all(category(char) != "Cs" for char in clean)


@thorough(60)
@given(
    st.sampled_from(EMOJI), st.text(alphabet="abc 日本", max_size=20), st.text("xyz", max_size=5)
)
def test_joined_emoji_survive_anywhere(emoji: str, before: str, after: str) -> None:
    clean = titles.sanitize(f"{before}{emoji}{after}")
    assert clean is not None
    assert emoji in clean


@pytest.mark.parametrize("text", ["a\u200db", "\u200dabc", "abc\u200d", "👩\u200d", "👩\u200d x"])
def test_a_joiner_that_joins_nothing_is_dropped(text: str) -> None:
    assert titles.sanitize(text) == text.replace("\u200d", "")


@pytest.mark.parametrize("empty", [None, "", "   ", "\n\t", "\u200b\u2060", "\x00\x07", "\u200d"])
def test_nothing_visible_is_no_title(empty: str | None) -> None:
    assert titles.sanitize(empty) is None


def test_a_title_over_the_limit_says_how_long_it_is() -> None:
    assert titles.sanitize("x" * 100) == "x" * 100
    assert titles.sanitize(" " * 50 + "x" * 100) == "x" * 100
    with pytest.raises(TitleTooLong, match=r"103 characters.*by 3") as caught:
        titles.sanitize("x" * 103)
    assert (caught.value.length, caught.value.limit) == (103, 100)


@thorough(100)
@given(TEXT, NUMBERS)
def test_numbering_round_trips(text: str, number: int) -> None:
    base = _sanitized(text)
    if base is None:
        return
    title = titles.numbered(base, number)
    assert len(title) <= titles.MAX_LENGTH
    kept, back = titles.split(title)
    assert back == number
    assert base.startswith(kept.rstrip("\u200d"))
    assert titles.numbered(kept, number) == title


@thorough(100)
@given(TEXT, NUMBERS)
def test_a_numbered_title_can_be_stored_as_it_is(text: str, number: int) -> None:
    base = _sanitized(text)
    if base is not None:
        assert titles.sanitize(titles.numbered(base, number)) == titles.numbered(base, number)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("proj", ("proj", 1)),
        ("proj #3", ("proj", 3)),
        ("proj #notes", ("proj #notes", 1)),
        ("proj #3 done", ("proj #3 done", 1)),
        ("proj#3", ("proj#3", 1)),
        ("a #2 #5", ("a #2", 5)),
        ("order #4915112345678", ("order #4915112345678", 1)),
        ("x #" + "9" * 5000, ("x #" + "9" * 5000, 1)),
    ],
)
def test_only_a_number_is_a_continuation(title: str, expected: tuple[str, int]) -> None:
    assert titles.split(title) == expected


def test_titles_are_given_changed_and_taken_away(db: SessionDB) -> None:
    add(db, "a")
    assert db.set_session_title("a", "  Garden\n plans ")
    assert db.get_session_title("a") == "Garden plans"
    row = db.get_session_by_title("Garden plans")
    assert row is not None
    assert row["id"] == "a"
    assert db.set_session_title("a", "Garden plans")
    assert db.set_session_title("a", "")
    assert db.get_session_title("a") is None
    assert db.get_session_by_title("Garden plans") is None


def test_two_sessions_without_title_do_not_collide(db: SessionDB) -> None:
    for name in ("a", "b"):
        add(db, name, title="")
    assert [db.get_session_title(name) for name in ("a", "b")] == [None, None]


def test_a_taken_title_names_its_holder(db: SessionDB) -> None:
    add(db, "holder", title="mine")
    add(db, "b", title="other")
    with pytest.raises(TitleTaken, match="'mine' is already in use by session holder") as caught:
        db.set_session_title("b", " mine ")
    assert caught.value.holder == "holder"
    assert db.get_session_title("b") == "other"


def test_renaming_an_unknown_session(db: SessionDB) -> None:
    assert db.set_session_title("nobody", "x") is False
    assert db.get_session_title("nobody") is None
    with pytest.raises(SessionNotFound, match="'nobody'"):
        db.store.sessions.rename("nobody", "x")


def test_rename_returns_what_was_stored(db: SessionDB) -> None:
    add(db, "a")
    assert db.store.sessions.rename("a", "a\tb\u200b 👩‍💻") == "a b 👩‍💻"
    assert db.store.sessions.rename("a", None) is None


def test_a_lineage_counts_on(db: SessionDB) -> None:
    assert db.get_next_title_in_lineage("proj") == "proj"
    add(db, "a", title="proj")
    for number, name in enumerate("bcd", 2):
        title = db.get_next_title_in_lineage("proj" if name == "b" else f"proj #{number - 1}")
        assert title == f"proj #{number}"
        add(db, name, title=title, at=LONG_AGO + number)
    assert db.resolve_session_by_title("proj") == "d"
    assert db.resolve_session_by_title("proj #2") == "b"
    assert db.resolve_session_by_title("nothing") is None


def test_a_word_after_the_hash_is_another_title(db: SessionDB) -> None:
    add(db, "a", title="proj")
    add(db, "n", title="proj #notes", at=LONG_AGO + 9)
    assert db.resolve_session_by_title("proj") == "a"
    assert db.get_next_title_in_lineage("proj") == "proj #2"
    assert db.get_next_title_in_lineage("proj #notes") == "proj #notes #2"


@pytest.mark.parametrize("wild", ["50%", "a_b", "back\\slash", "[x]*"])
def test_wildcards_in_a_title_are_letters(db: SessionDB, wild: str) -> None:
    add(db, "a", title=wild)
    add(db, "b", title=f"{wild} #2", at=LONG_AGO + 1)
    add(db, "c", title="50 euros axb backslash #7", at=LONG_AGO + 2)
    add(db, "d", title="axb #9", at=LONG_AGO + 3)
    assert db.resolve_session_by_title(wild) == "b"
    assert db.get_next_title_in_lineage(wild) == f"{wild} #3"


@pytest.mark.parametrize(
    "base",
    [
        "x" * 100,
        "word " * 19 + "tail!",
        "y" * 95 + "👨\u200d👩\u200d👧",
        "z" * 97 + "👩\u200d💻",
    ],
)
def test_a_title_of_full_length_can_be_continued_again_and_again(db: SessionDB, base: str) -> None:
    assert len(base) == titles.MAX_LENGTH
    add(db, "s1", title=base)
    for number in range(2, 13):
        title = db.get_next_title_in_lineage(base)
        assert titles.split(title)[1] == number
        add(db, f"s{number}", title=title, at=LONG_AGO + number)
        assert db.resolve_session_by_title(base) == f"s{number}"


def test_two_long_titles_with_the_same_beginning_stay_apart(db: SessionDB) -> None:
    one, two = "x" * 92 + "one", "x" * 92 + "two"
    add(db, "a", title=one)
    add(db, "b", title=two)
    add(db, "c", title=db.get_next_title_in_lineage(one), at=LONG_AGO + 5)
    assert db.resolve_session_by_title(two) == "b"
    assert db.get_next_title_in_lineage(two) == f"{two} #2"


# -- taking a title back ------------------------------------------------------------------------


def test_a_rename_is_taken_back(db: SessionDB) -> None:
    add(db, "one", "x", title="first")
    renamed = db.store.sessions.change_title("one", "  second\n")
    assert (renamed.title, db.store.sessions.get("one").title) == ("second", "second")
    db.store.sessions.undo_rename(renamed)
    assert db.store.sessions.get("one").title == "first"
    db.store.sessions.undo_rename(db.store.sessions.change_title("one", None))
    assert db.store.sessions.get("one").title == "first"


def test_a_title_taken_from_an_earlier_segment_goes_back(db: SessionDB) -> None:
    add_chain(db, "ab")
    db.store.sessions.rename("a", "mine")
    renamed = db.store.sessions.change_title("b", "mine")
    assert db.store.sessions.get("a").title is None
    db.store.sessions.undo_rename(renamed)
    assert db.store.sessions.get("a").title == "mine"
    assert db.store.sessions.get("b").title is None


def test_a_title_changed_since_stays(db: SessionDB) -> None:
    add(db, "one", "x", title="first")
    renamed = db.store.sessions.change_title("one", "second")
    db.store.sessions.rename("one", "third")
    with pytest.raises(TitleError, match="changed again since"):
        db.store.sessions.undo_rename(renamed)
    assert db.store.sessions.get("one").title == "third"


def test_a_former_title_that_is_taken_by_now_is_refused(db: SessionDB) -> None:
    add(db, "one", "x", title="first")
    renamed = db.store.sessions.change_title("one", "second")
    add(db, "two", "x", title="first")
    with pytest.raises(TitleTaken):
        db.store.sessions.undo_rename(renamed)
    assert db.store.sessions.get("one").title == "second"
    db.delete_session("one")
    with pytest.raises(SessionNotFound):
        db.store.sessions.undo_rename(renamed)
