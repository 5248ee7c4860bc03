"""Fields that a search would ignore are named; fields can be asked for beside the text."""

from __future__ import annotations

import pytest

from hermes_store import SessionDB
from hermes_store.records.search import Request
from tests.support import LONG_AGO, add

NOW = LONG_AGO + 1_000


@pytest.fixture
def filled(db: SessionDB) -> SessionDB:
    for place, source in enumerate(("cli", "telegram", "smoke-signal")):
        add(db, f"s{place}", f"kiwi {source}", source=source, at=LONG_AGO + place)
    db.store.marks.tag("s1", "work")
    return db


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kiwi after:30dd", "'30dd' is not a time for after:"),
        ("kiwi OR (pear -before:soon)", "'soon' is not a time for before:"),
        ("source:telgram", "There is no source 'telgram'. Did you mean telegram?"),
        ("NOT source:xyzzy", "There is no source 'xyzzy'. Known sources:"),
        ("is:pined", "Did you mean is:pinned?"),
        ("has:foo", "has: takes tools"),
        ("role:uesr", "Did you mean role:user?"),
        ("sort:foo", "Unknown sort order 'foo'"),
        ('kiwi source:""', "source: has no value"),
    ],
)
def test_what_would_be_ignored_is_named(filled: SessionDB, text: str, said: str) -> None:
    (problem,) = filled.store.search.problems(Request(text, now=NOW))
    assert said in problem


@pytest.mark.parametrize(
    "text",
    ["kiwi", "", '"open', "kiwi AND", "http://a.b/c", "sorce:x", "source:slack", "source:smoke",
     "source:tele", "tag:none", "model:none", "after:7d is:pinned has:code role:hermes"],
)  # fmt: skip
def test_what_a_search_repairs_or_does_not_find_is_fine(filled: SessionDB, text: str) -> None:
    assert filled.store.search.problems(Request(text, now=NOW)) == []


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("kiwi", [("source", "telegram")], ["s1"]),
        ("kiwi OR pear", [("source", "telegram")], ["s1"]),
        ("", [("source", "telegram"), ("source", "cli")], ["s1", "s0"]),
        ("kiwi", [("source", "telegram"), ("source", "cli"), ("tag", "work")], ["s1"]),
        ("kiwi", [("title", 'a "quote" (here')], []),
        ('"kiwi', [("source", "smoke-signal")], ["s2"]),
        ("kiwi", [], ["s2", "s1", "s0"]),
    ],
)
def test_fields_beside_the_text_hold_for_all_of_it(
    filled: SessionDB, text: str, fields: list[tuple[str, str]], expected: list[str]
) -> None:
    request = Request(text, fields=tuple(fields), relax=False, now=NOW)
    assert [hit.session_id for hit in filled.store.search.run(request).hits] == expected


def test_fields_beside_the_text_are_checked_too(filled: SessionDB) -> None:
    request = Request("kiwi", fields=(("after", "30dd"), ("source", "telgram")), now=NOW)
    assert len(filled.store.search.problems(request)) == 2


def test_all_matching_titles_are_named(db: SessionDB) -> None:
    add(db, "both", "kiwi", at=LONG_AGO, title="A kiwi")
    add(db, "only", "pear", at=LONG_AGO + 1, title="Another kiwi")
    result = db.store.search.run(Request("kiwi", titles=True, now=NOW))
    assert (result.named, result.titled) == (("only", "both"), ("only",))
