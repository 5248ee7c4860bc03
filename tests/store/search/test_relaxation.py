"""A query without hits becomes wider, one named step after the other."""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.engines.sqlite.tokenizer import tokenizer
from hermes_store.records.search import Request, SearchResult
from hermes_store.search.query_language import parse
from hermes_store.search.query_tree import And, Node, Or, Text
from hermes_store.search.relaxation import Relaxed, edit_distance, ladder
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
    kind, sessions = step(result)
    assert kind == "typos" and "deploy" in sessions
    assert f"'deploy' for '{asked}'" in result.relaxations[0].explanation


def test_only_the_words_that_nobody_said_are_mended(filled: SessionDB) -> None:
    result = filled.store.search.run("deplyo staging")
    assert step(result) == ("typos", {"deploy"})
    assert "staging" not in result.relaxations[0].explanation


def test_then_the_rarest_word_is_left_out(filled: SessionDB) -> None:
    result = filled.store.search.run("cats zzzzqqqq")
    assert step(result) == ("fewer words", {"cats"})
    explanation = "No match has both words; showing results without 'zzzzqqqq'."
    assert result.relaxations[0].explanation == explanation


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
    assert "deploy" in {group.root_id for group in result.groups}
    assert [each.kind for each in result.relaxations] == ["typos"]


def test_two_typos_are_both_corrected(filled: SessionDB) -> None:
    add(filled, "compose", "docker compose up")
    filled.store.search.prepare()
    result = filled.store.search.run("dokcer compsoe")
    assert step(result) == ("typos", {"compose"})
    assert result.relaxations[0].explanation == (
        "No exact match; showing 'docker' for 'dokcer' and 'compose' for 'compsoe'."
    )


def test_what_was_corrected_is_said_when_another_word_is_left_out(filled: SessionDB) -> None:
    result = filled.store.search.run("deplyo staging zzzzqqqq")
    assert step(result) == ("fewer words", {"deploy"})
    assert result.relaxations[0].explanation == (
        "No match has all 3 words; showing 'deploy' for 'deplyo' without 'zzzzqqqq'."
    )


def test_an_accent_is_no_punctuation(filled: SessionDB) -> None:
    add(filled, "greeting", "a nice dejeuner")
    filled.store.search.prepare()
    result = filled.store.search.run("Étaging déjeuner")
    assert step(result) == ("fewer words", {"greeting"})
    kinds = [each.step.kind for each in _ladder("Déplyo", Words(deploy=3))]
    assert "signs" not in kinds


# -- the ladder alone --------------------------------------------------------------------------


class Words:
    """A vocabulary that knows how many messages have each word."""

    def __init__(self, **frequencies: int) -> None:
        self.frequencies = frequencies

    def sharing_letters(self, word: str, limit: int) -> list[str]:
        grams = {word[place : place + 3] for place in range(len(word) - 2)}
        return [
            each
            for each in self.frequencies
            if abs(len(each) - len(word)) <= 2 and any(gram in each for gram in grams)
        ][:limit]

    def frequency(self, word: str) -> int:
        return self.frequencies.get(word.lower(), 0)


def shown(node: Node) -> str:
    match node:
        case Text():
            return node.value + "*" * node.prefix
        case And() | Or():
            word = " " if isinstance(node, And) else "|"
            return f"({word.join(map(shown, node.parts))})"
        case _:
            return "…"


def steps(asked: str, words: Words, kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Return the trees and explanations of some kinds of steps."""
    found = [each for each in _ladder(asked, words) if each.step.kind in kinds]
    return [(shown(each.root), each.step.explanation) for each in found]


def _ladder(asked: str, words: Words) -> list[Relaxed]:
    root = parse(asked).root
    assert root is not None
    tokenize = tokenizer(apsw.Connection(":memory:"))
    return list(ladder(root, tokenize, words, words.frequency))


def corrections(asked: str, words: Words) -> list[tuple[str, str]]:
    return steps(asked, words, ["typos"])


@pytest.mark.parametrize(
    ("asked", "tree", "explained"),
    [
        ("dokcer", "docker", "'docker' for 'dokcer'"),
        ("Dokcer COMPSOE", "(docker compose)", "'docker' for 'Dokcer' and 'compose' for 'COMPSOE'"),
        (
            "dokcer compsoe serevr",
            "(docker compose server)",
            "'docker' for 'dokcer', 'compose' for 'compsoe' and 'server' for 'serevr'",
        ),
        ("docker dokcer", "(docker docker)", "'docker' for 'dokcer'"),
        ("dokcer dokcer", "(docker docker)", "'docker' for 'dokcer'"),
        ("dokcer -compsoe", "(docker …)", "'docker' for 'dokcer'"),
        ("(dokcer OR compose) server", "((docker|compose) server)", "'docker' for 'dokcer'"),
        ("pyhton3", "python3", "'python3' for 'pyhton3'"),
        ("Ubersezung", "ubersetzung", "'ubersetzung' for 'Ubersezung'"),
        ("Übersezung", "ubersetzung", "'ubersetzung' for 'Übersezung'"),
        ("catz", "(cats|cat)", "'cats' or 'cat' for 'catz'"),
    ],
)
def test_a_typo_is_corrected(asked: str, tree: str, explained: str) -> None:
    words = Words(
        docker=20, compose=9, server=50, python3=2, ubersetzung=1, cats=7, cat=3, catch=9, serve=0
    )
    (only,) = corrections(asked, words)
    assert only == (tree, f"No exact match; showing {explained}.")


@pytest.mark.parametrize(
    "asked",
    [
        "docker", '"dokcer"', '"dokcer compose"', "-dokcer", "dok", "port8081", "8081", "设定档案",
        "docker设定", "dokcer-compose", "xyzxyz", "DOCKER",
    ],
)  # fmt: skip
def test_what_is_no_typo_is_left_alone(asked: str) -> None:
    words = Words(docker=20, compose=9, port8080=4, 设定档=3, 设定档安=3, docker设=2)
    assert corrections(asked, words) == []


def test_an_incomplete_word_is_left_alone_beside_a_typo() -> None:
    words = Words(docker=20, dockers=3, compose=9, locker=9, ockey=2)
    assert corrections("docke", words) == []
    for asked in ("docke compsoe", "docke* compsoe"):
        ((tree, explanation),) = corrections(asked, words)
        assert tree == "(docke* compose)"
        assert explanation == "No exact match; showing 'compose' for 'compsoe'."
    assert [tree for tree, _ in corrections("ocker compsoe", words)] == [
        "((ocker*|docker|dockers|locker) compose)"
    ]


def test_an_incomplete_word_finds_longer_ones_beside_a_typo(filled: SessionDB) -> None:
    add(filled, "configured", "the configuration of docker compose")
    filled.store.search.prepare()
    assert step(filled.store.search.run("configur compsoe")) == ("typos", {"configured"})


def test_a_typo_that_is_a_part_of_another_word_is_looked_for_as_well() -> None:
    words = Words(test=9, octets=2)
    ((tree, explanation),) = corrections("tets", words)
    assert tree == "(tets|test)"
    assert explanation == "No exact match; showing 'test' for 'tets'."


def test_the_closest_words_are_taken_and_forgotten_ones_are_not() -> None:
    words = Words(deployment=4, deploymint=0, deploymants=9)
    ((tree, _),) = corrections("deploymnet", words)
    assert tree == "deployment"


def test_a_typo_that_was_made_before_is_corrected_last() -> None:
    words = Words(docker=20, dokcer=1, compose=9)
    first, second = corrections("dokcer compsoe", words)
    assert first == ("(dokcer compose)", "No exact match; showing 'compose' for 'compsoe'.")
    assert second[0] == "((dokcer|docker) compose)"
    assert "'docker' for 'dokcer'" in second[1] and "'compose' for 'compsoe'" in second[1]
    (fewer, *_) = steps("dokcer compsoe", words, ["fewer words"])
    assert fewer == (
        "compose", "No match has both words; showing 'compose' for 'compsoe' without 'dokcer'."
    )  # fmt: skip


def test_each_rare_word_is_left_out_alone_before_several_are() -> None:
    words = Words(docker=20, compose=9)
    found = steps("conf flurb docker compose", words, ["fewer words"])
    assert found == [
        ("(flurb docker compose)", "No match has all 4 words; showing results without 'conf'."),
        ("(conf docker compose)", "No match has all 4 words; showing results without 'flurb'."),
        ("(conf flurb docker)", "No match has all 4 words; showing results without 'compose'."),
        ("(conf flurb compose)", "No match has all 4 words; showing results without 'docker'."),
        (
            "(docker compose)",
            "No match has all 4 words; showing results without 'conf' and 'flurb'.",
        ),
        (
            "docker",
            "No match has all 4 words; showing results without 'conf', 'flurb' and 'compose'.",
        ),
    ]


def test_what_is_left_out_is_named_as_it_was_typed() -> None:
    words = Words(docker=20, compose=9, sharp=2)
    (first, *_) = steps('docker "C# flurb"', words, ["fewer words"])
    assert first[1] == "No match has both words; showing results without 'C# flurb'."
    (first, *_) = steps("docker (flurb OR Zzz!)", words, ["fewer words"])
    assert first[1] == "No match has both words; showing results without 'flurb' or 'Zzz!'."
    (first, *_) = steps(
        "docker sahrp compose", Words(docker=9, compose=9, sharp=1), ["fewer words"]
    )
    assert first[1] == "No match has all 3 words; showing results without 'sahrp'."


def test_what_fields_and_negations_ask_for_stays() -> None:
    words = Words(docker=20)
    found = steps("docker flurb source:cli -podman", words, ["fewer words"])
    assert [tree for tree, _ in found] == ["(docker … …)", "(flurb … …)"]


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


def test_the_beginning_of_a_field_is_not_corrected_while_typing(db: SessionDB) -> None:
    add(db, "a", "docker of course")
    for text in ("docker sou", "docker sourc", "docker -sourc", "docker source"):
        result = db.store.search.run(Request(text, typing=True))
        assert [hit.session_id for hit in result.hits] == ["a"], text
        assert not result.relaxations
    settled = db.store.search.run(Request("docker sourc"))
    assert settled.relaxations
    assert not db.store.search.run(Request('docker "sourc', typing=True, relax=False)).hits


def test_the_beginning_of_a_value_leaves_the_results_alone_while_typing(db: SessionDB) -> None:
    add(db, "a", "docker", source="slack")
    add(db, "b", "nothing", source="signal")
    for text in ("docker source:s", "docker source:si", "docker source:signa"):
        result = db.store.search.run(Request(text, typing=True))
        assert [hit.session_id for hit in result.hits] == ["a"], text
        assert not result.diagnostics
    assert not db.store.search.run(Request("docker source:signal", typing=True)).hits
    assert db.store.search.run(Request("docker source:zzz", typing=True)).diagnostics
