"""Deleting: exactly one session, or a whole conversation of which nothing reappears."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import SessionNotFound
from hermes_store.records.relation_to_parent import Edge
from tests.support import LONG_AGO, add, add_chain, found, is_whole, raw


def _parents(db: SessionDB) -> dict[str, str | None]:
    return {row["id"]: row["parent_session_id"] for row in db.search_sessions(limit=-1)}


def _edge(db: SessionDB, session_id: str) -> Edge:
    pending = [db.store.lineage.tree(session_id).root]
    for node in pending:
        if node.session.id == session_id:
            return node.edge
        pending += node.children
    raise AssertionError(session_id)


def test_exactly_one_session_goes_with_its_messages(db: SessionDB, path: Path) -> None:
    add(db, "a", "needle one")
    add(db, "b", "needle two", "needle three")
    assert db.delete_session("b") is True
    assert db.delete_session("b") is False
    assert db.get_session("b") is None
    assert [row["content"] for row in db.get_messages("a")] == ["needle one"]
    assert db.message_count() == db.session_count() == 1
    assert found(db, "needle") == ["a"]
    assert is_whole(path)


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("a", {"b": None, "c": "b", "d": "c"}),
        ("b", {"a": None, "c": "a", "d": "c"}),
        ("c", {"a": None, "b": "a", "d": "b"}),
        ("d", {"a": None, "b": "a", "c": "b"}),
    ],
)
def test_a_chain_closes_over_the_gap(db: SessionDB, gone: str, left: dict[str, str | None]) -> None:
    add_chain(db, "abcd")
    db.delete_session(gone)
    assert _parents(db) == left
    root, *others = left
    assert {name: _edge(db, name) for name in others} == dict.fromkeys(others, Edge.COMPRESSION)
    assert db.get_compression_tip(root) == others[-1]
    (row,) = db.list_sessions_rich()
    assert row["id"] == others[-1]


@pytest.mark.parametrize("edge", [Edge.BRANCH, Edge.AGENT])
def test_children_move_up_and_stay_what_they_are(db: SessionDB, edge: Edge) -> None:
    add_chain(db, "abc")
    # No mark: only the times and the reason of "b" say what its child is.
    begun = LONG_AGO + (900 if edge is Edge.BRANCH else 110)
    with db._db.write() as tx:
        if edge is Edge.BRANCH:
            tx.run("UPDATE sessions SET end_reason = 'branched' WHERE id = 'b'")
    add(db, "child", "x", parent="b", at=begun)
    assert _edge(db, "child") is edge
    db.delete_session("b")
    assert db.store.sessions.get("child").parent_session_id == "a"
    assert _edge(db, "child") is edge
    listed = {row["id"] for row in db.list_sessions_rich()}
    assert ("child" in listed) == (edge is Edge.BRANCH)


def test_what_continued_a_branch_is_a_branch_when_it_goes(db: SessionDB) -> None:
    add(db, "root")
    add(
        db, "branch", parent="root", edge=Edge.BRANCH, at=LONG_AGO + 5,
        ended=LONG_AGO + 9, reason="compression",
    )  # fmt: skip
    add(db, "more", "x", parent="branch", at=LONG_AGO + 10)
    db.delete_session("branch")
    assert db.store.sessions.get("more").parent_session_id == "root"
    assert _edge(db, "more") is Edge.BRANCH
    assert {row["id"] for row in db.list_sessions_rich()} == {"root", "more"}


def test_a_mark_keeps_the_rest_of_the_model_config(db: SessionDB, path: Path) -> None:
    add(db, "root")
    for name, config in (("kept", '{"top": 1}'), ("list", "[1]"), ("damaged", "{no")):
        add(db, name, parent="root", at=LONG_AGO + 1)
        with raw(path) as con:
            con.execute("UPDATE sessions SET model_config = ? WHERE id = ?", (config, name))
    db.delete_session("root")
    assert db.store.sessions.get("kept").model_config == {"top": 1, "_delegate_from": "root"}
    assert db.store.sessions.get("list").model_config == {"_delegate_from": "root"}
    assert db.session_count() == 3


def test_deleting_only_a_session_hands_the_title_back(db: SessionDB) -> None:
    add(db, "a", title="mine")
    db.delete_session("a")
    add(db, "b", title="mine")
    assert db.resolve_session_by_title("mine") == "b"


@pytest.mark.parametrize("named", ["a", "b", "c"])
def test_a_conversation_goes_whole_and_nothing_reappears(db: SessionDB, named: str) -> None:
    add_chain(db, "abc")
    add(db, "agent", "work", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120)
    add(db, "helper", parent="agent", at=LONG_AGO + 111)
    add(db, "other", "stays")
    gone = db.store.trash.delete_conversation(named)
    assert set(gone.session_ids) == {"a", "b", "c", "agent", "helper"}
    assert gone.messages == 4
    assert [row["id"] for row in db.list_sessions_rich(include_children=True)] == ["other"]
    assert db.message_count() == 1


def test_a_branch_outlives_the_conversation_it_left(db: SessionDB) -> None:
    add_chain(db, "abc")
    add(db, "branch", "mine", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 110)
    assert "branch" not in db.store.trash.delete_conversation("a").session_ids
    assert db.store.sessions.get("branch").parent_session_id is None
    (row,) = db.list_sessions_rich()
    assert (row["id"], row["preview"]) == ("branch", "mine")


def test_both_continuations_of_a_session_are_its_conversation(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO + 10, reason="compression")
    add(db, "x", at=LONG_AGO + 20, parent="a")
    add(db, "y", at=LONG_AGO + 30, parent="a")
    assert set(db.store.trash.delete_conversation("y").session_ids) == {"a", "x", "y"}


def test_deleting_a_conversation_that_is_not_there(db: SessionDB) -> None:
    add(db, "a")
    with pytest.raises(SessionNotFound, match="'nobody'"):
        db.store.trash.delete_conversation("nobody")
    assert db.session_count() == 1


def test_files_of_a_deleted_conversation_go_too(db: SessionDB, tmp_path: Path) -> None:
    add_chain(db, "ab")
    for name in ("a.jsonl", "session_b.json", "other.jsonl"):
        (tmp_path / name).write_text("x")
    db.store.trash.delete_conversation("a", sessions_dir=tmp_path, permanently=True)
    left = {path.name for path in tmp_path.glob("*.json*")}
    assert left == {"other.jsonl"}
