"""Titles are found under the same conditions as messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines.message_states import findable
from hermes_store.records.search import Request
from hermes_store.search import field_conditions, query_language, titles
from hermes_store.search.field_conditions import Condition
from hermes_store.search.query_tree import And, Field, Node, Not
from hermes_store.sessions import messages
from tests.support import LONG_AGO, Work, add, add_chain, raw

DAY = 86_400
NOW = LONG_AGO + 1_000 * DAY


def fill(db: SessionDB) -> None:
    """Write conversations about Docker whose messages do not mention it."""
    add(db, "old", "hello", at=LONG_AGO, title="Docker at home", ended=LONG_AGO + 50)
    add(db, "new", "hello ```code```", at=NOW - 5 * DAY, source="telegram", title="About docker")
    add(db, "empty", at=NOW - 3 * DAY, title="Docker, nothing said")
    add(db, "long", "hello", at=LONG_AGO + DAY, title="docker for years")
    add(db, "other", "hello", at=NOW - 2 * DAY, title="Something else")
    with db._db.write() as tx:
        messages.append(tx, "long", {"role": "assistant", "content": "hi"}, NOW - DAY)


@pytest.fixture
def filled(db: SessionDB) -> SessionDB:
    fill(db)
    return db


def split(db: SessionDB, text: str) -> tuple[Node | None, list[Condition]]:
    """Return the tree of a query without its fields, and their conditions."""
    root = query_language.parse(text).root
    parts = root.parts if isinstance(root, And) else (root,)
    words: list[Node] = []
    conditions: list[Condition] = []
    with db._db.read() as tx:
        for part in parts:
            match part:
                case Field():
                    conditions.append(field_conditions.condition(tx, part, NOW, db.store.marks))
                case Not(part=Field() as field):
                    found = field_conditions.condition(tx, field, NOW, db.store.marks)
                    sql = f"NOT COALESCE({found.sql}, FALSE)"
                    conditions.append(Condition(sql, found.values, found.session))
                case None:
                    pass
                case _:
                    words.append(part)
    if len(words) < 2:
        return (words[0] if words else None), conditions
    assert root is not None
    return And(tuple(words), root.span), conditions


def titled(db: SessionDB, text: str, limit: int = 20) -> list[str]:
    root, conditions = split(db, text)
    with db._db.read() as tx:
        conditions = [Condition(findable(tx.caps), session=False), *conditions]
        return list(titles.with_matching_title(tx, root, conditions, limit))


FOUND = {
    "docker": ["empty", "new", "long", "old"],
    "docker after:2y": ["empty", "new", "long"],
    "docker after:2d": ["long"],
    "docker before:2y": ["long", "old"],
    "docker on:2020-09-13": ["old"],
    "docker after:4d before:2d": ["empty"],
    "docker -after:2y": ["long", "old"],
    "docker role:user": ["new", "long", "old"],
    "docker role:assistant": ["long"],
    "docker role:user after:2y": ["new"],
    "docker role:assistant before:2y": [],
    "docker -role:user": ["empty", "long"],
    "docker has:code": ["new"],
    "docker has:code after:2d": [],
    "docker source:telegram": ["new"],
    "docker source:telegram after:2y": ["new"],
    "docker source:cli after:2y": ["empty", "long"],
    "docker -source:telegram after:2y": ["empty", "long"],
    "docker source:slack": [],
    "docker tag:none": [],
    "docker title:home before:2y": ["old"],
    "docker is:ended after:2y": ["empty", "new", "long"],
    "docker is:live": [],
    "docker home": ["old"],
    "docker -home before:2y": ["long"],
    "(home OR years) before:2y": ["long", "old"],
    "docker OR -home": [],
    "after:2y": [],
    "-docker": [],
    "DOCKER": ["empty", "new", "long", "old"],
    "100%": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_a_query_finds_titles(filled: SessionDB, text: str) -> None:
    assert titled(filled, text) == FOUND[text]


@pytest.mark.parametrize("text", FOUND)
def test_many_titles_are_found_in_the_same_way(
    filled: SessionDB, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "FEW_TITLES", 1)
    assert titled(filled, text) == FOUND[text]


def test_a_conversation_meets_conditions_with_any_of_its_sessions(db: SessionDB) -> None:
    add_chain(db, ("first", "second", "third"), at=NOW - 5 * DAY)
    add(db, "later", "hello", parent="third", at=NOW - 5 * DAY + 900, ended=NOW)
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET title = 'Docker' WHERE id = 'second'")
        messages.append(tx, "third", {"role": "tool", "content": "out"}, NOW - DAY)
        messages.append(tx, "later", {"role": "assistant", "content": "x"}, NOW - DAY)
    assert titled(db, "docker after:2d") == ["first"]
    assert titled(db, "docker role:tool after:2d") == ["first"]
    assert titled(db, "docker role:user after:2d") == []
    assert titled(db, "docker role:assistant") == []


def test_a_chain_counts_once_however_many_of_its_titles_match(db: SessionDB) -> None:
    add(db, "apart", "hello", at=LONG_AGO, title="Docker elsewhere", ended=LONG_AGO + 9)
    add_chain(db, "abcdef", at=LONG_AGO + DAY)
    with db._db.write() as tx:
        for number, name in enumerate("abcdef", 1):
            tx.run("UPDATE sessions SET title = ? WHERE id = ?", (f"Docker #{number}", name))
    assert titled(db, "docker", 2) == ["a", "apart"]
    assert titled(db, "docker", 1) == titled(db, "docker before:2y", 1) == ["a"]
    assert titled(db, "docker", 0) == []


def test_hidden_messages_meet_no_condition(db: SessionDB, path: Path) -> None:
    fill(db)
    with raw(path) as con:
        con.execute("ALTER TABLE messages ADD COLUMN active INTEGER")
        con.execute("UPDATE messages SET active = 0 WHERE role = 'assistant'")
    with SessionDB(path) as again:
        assert titled(again, "docker role:assistant") == []
        assert titled(again, "docker after:2d") == []
        assert titled(again, "docker after:2y") == ["empty", "new"]


@pytest.mark.sqlite("counts the work of SQLite")
def test_only_the_messages_of_matching_titles_are_read(db: SessionDB) -> None:
    fill(db)

    def steps() -> int:
        root, conditions = split(db, "docker after:2d role:assistant")
        return int(Work(db, lambda store: _found(store, root, conditions)).steps)

    few = steps()
    for number in range(60):
        add(db, f"more{number}", *["hello"] * 20, at=LONG_AGO + number, title=f"Talk {number}")
    # All titles are compared, which takes some ten steps each.
    assert steps() < few + 60 * 20


def _found(db: SessionDB, root: Node | None, conditions: list[Condition]) -> tuple[str, ...]:
    with db._db.read() as tx:
        return titles.with_matching_title(tx, root, conditions, 20)


def test_a_database_without_titles_has_none(db: SessionDB, path: Path) -> None:
    add(db, "a", "docker")
    with raw(path) as con:
        con.execute("DROP INDEX idx_sessions_title_unique")
        con.execute("ALTER TABLE sessions DROP COLUMN title")
    with SessionDB(path, read_only=True) as again:
        assert titled(again, "docker") == []


# -- end to end --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["docker", "docker after:2y", "docker role:user after:2y"])
def test_a_search_shows_the_titles_it_finds(filled: SessionDB, text: str) -> None:
    run = filled.store.search.run
    grouped = run(Request(text, grouped=True, now=NOW)).groups
    assert {each.root_id for each in grouped if each.title_matches} == set(FOUND[text])
    assert list(run(Request(text, titles=True, now=NOW)).titled) == FOUND[text]
