"""A query without hits becomes wider, one named step after the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.records.search import Request, SearchResult
from hermes_store.search.relaxation import edit_distance
from tests.support import add


@pytest.fixture
def filled(db: SessionDB) -> SessionDB:
    """A store with a few sessions whose words are listed."""
    add(db, "deploying", "we deployed to production yesterday")
    add(db, "deploy", "deploy it to staging")
    add(db, "cats", "a picture of cats")
    add(db, "price", "it costs 50 euros")
    db.store.search.prepare()
    return db


def step(result: SearchResult) -> tuple[str, set[str]]:
    """Return the step that was taken and the sessions it led to."""
    (taken,) = result.relaxations
    return taken.kind, {hit.session_id for hit in result.hits}


def test_nothing_is_relaxed_while_there_are_hits(filled: SessionDB) -> None:
    assert filled.store.search.run("deploy").relaxations == ()


def test_signs_are_ignored_first(filled: SessionDB) -> None:
    result = filled.store.search.run("50%")
    assert step(result) == ("signs", {"price"})
    assert "words alone" in result.relaxations[0].explanation


@pytest.mark.parametrize("asked", ["deployment", "deploys staging", "deployments -production"])
def test_then_other_forms_of_the_words_count(filled: SessionDB, asked: str) -> None:
    kind, sessions = step(filled.store.search.run(asked))
    assert kind == "forms"
    assert "deploy" in sessions


@pytest.mark.parametrize("asked", ["deplyo", "depoly", "dploy", "depploy", "DEPLYO"])
def test_then_typing_errors_are_mended(filled: SessionDB, asked: str) -> None:
    result = filled.store.search.run(asked)
    assert step(result) == ("typos", {"deploy", "deploying"})
    assert f"'deploy' for '{asked}'" in result.relaxations[0].explanation


def test_only_the_words_that_nobody_said_are_mended(filled: SessionDB) -> None:
    result = filled.store.search.run("deplyo staging")
    assert step(result) == ("typos", {"deploy"})
    assert "staging" not in result.relaxations[0].explanation


def test_then_the_rarest_word_is_left_out(filled: SessionDB) -> None:
    result = filled.store.search.run("cats zzzzqqqq")
    assert step(result) == ("fewer words", {"cats"})
    assert "showing 1 of 2" in result.relaxations[0].explanation


def test_conditions_are_never_left_out(filled: SessionDB) -> None:
    assert filled.store.search.run("cats zzzzqqqq source:telegram").hits == ()
    assert filled.store.search.run("cats zzzzqqqq -picture").hits == ()


@pytest.mark.parametrize("asked", ["50%", "deployment", "deplyo", "cats zzzzqqqq"])
def test_a_query_can_be_taken_as_it_is(filled: SessionDB, asked: str) -> None:
    result = filled.store.search.run(Request(asked, relax=False))
    assert (result.hits, result.relaxations) == ((), ())


def test_what_nothing_helps_is_left_as_it_was(filled: SessionDB) -> None:
    result = filled.store.search.run("zzzzqqqq")
    assert (result.hits, result.relaxations, result.messages.number) == ((), (), 0)


def test_a_phrase_is_not_taken_apart(filled: SessionDB) -> None:
    assert filled.store.search.run('"deployment to production"').hits == ()


def test_groups_are_relaxed_too(filled: SessionDB) -> None:
    result = filled.store.search.run(Request("deplyo", grouped=True))
    assert {group.root_id for group in result.groups} == {"deploy", "deploying"}
    assert [each.kind for each in result.relaxations] == ["typos"]


# -- distance ----------------------------------------------------------------------------------

words = st.text("abcd", max_size=8)
FAR = 20


@settings(max_examples=150, deadline=None)
@given(words, words)
def test_distance_is_symmetric_and_none_only_for_equals(one: str, other: str) -> None:
    distance = edit_distance(one, other, FAR)
    assert distance == edit_distance(other, one, FAR)
    assert (distance == 0) == (one == other)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))


@settings(max_examples=150, deadline=None)
@given(words, st.data())
def test_one_slip_of_the_finger_counts_one(word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(word)))
    letter = data.draw(st.sampled_from("xyz"))
    assert edit_distance(word, word[:place] + letter + word[place:], FAR) == 1
    if place < len(word):
        assert edit_distance(word, word[:place] + word[place + 1 :], FAR) == 1
        assert edit_distance(word, word[:place] + letter + word[place + 1 :], FAR) == 1
    if place + 1 < len(word) and word[place] != word[place + 1]:
        swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        assert edit_distance(word, swapped, FAR) == 1


@settings(max_examples=150, deadline=None)
@given(words, words, st.integers(0, 3))
def test_beyond_the_limit_all_are_equally_far(one: str, other: str, limit: int) -> None:
    assert edit_distance(one, other, limit) == min(edit_distance(one, other, FAR), limit + 1)
