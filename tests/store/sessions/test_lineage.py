"""Lineage: tips, ancestors and trees with typed edges, whatever the data looks like."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import SessionNotFound
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.session import LineageNode
from tests.support import LONG_AGO, add, add_chain, raw


def _edges(node: LineageNode) -> dict[str, Edge]:
    found = {node.session.id: node.edge}
    for child in node.children:
        found |= _edges(child)
    return found


def _family(db: SessionDB) -> None:
    """Write a chain a-b-c, an agent of b, a marked branch off b, and an unmarked branch off c."""
    add_chain(db, ["a", "b", "c"])
    add(db, "agent", at=LONG_AGO + 110, parent="b")
    add(db, "branch", at=LONG_AGO + 120, parent="b", edge=Edge.BRANCH)
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET end_reason = 'branched' WHERE id = 'c'")
    add(db, "late", at=LONG_AGO + 900, parent="c")


def test_the_tree_has_typed_edges(db: SessionDB) -> None:
    _family(db)
    family = db.store.lineage.tree("agent")
    assert _edges(family.root) == {
        "a": Edge.ROOT,
        "b": Edge.COMPRESSION,
        "c": Edge.COMPRESSION,
        "agent": Edge.AGENT,
        "branch": Edge.BRANCH,
        "late": Edge.BRANCH,
    }
    assert (family.current_id, family.tip_id, family.truncated) == ("agent", "agent", False)
    assert db.store.lineage.tree("a").tip_id == "c"
    assert [child.session.id for child in family.root.children[0].children] == [
        "agent",
        "branch",
        "c",
    ]


def test_every_member_sees_the_same_tree(db: SessionDB) -> None:
    _family(db)
    expected = db.store.lineage.tree("a").root
    for name in ("b", "c", "agent", "branch", "late"):
        assert db.store.lineage.tree(name).root == expected


def test_ancestors_are_nearest_first(db: SessionDB) -> None:
    _family(db)
    assert [each.id for each in db.store.lineage.ancestors("late")] == ["c", "b", "a"]
    assert db.store.lineage.ancestors("a") == ()


def test_the_tip_of_a_chain(db: SessionDB) -> None:
    _family(db)
    assert [db.get_compression_tip(name) for name in ("a", "b", "c")] == ["c", "c", "c"]
    assert db.get_compression_tip("branch") == "branch"
    assert db.get_compression_tip("nobody") == "nobody"


def test_of_two_continuations_the_newest_is_the_tip(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO + 10, reason="compression")
    add(db, "old", at=LONG_AGO + 20, parent="a")
    add(db, "new", at=LONG_AGO + 30, parent="a")
    assert db.get_compression_tip("a") == "new"


def test_a_child_from_before_the_end_is_no_continuation(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO + 100, reason="compression")
    add(db, "helper", at=LONG_AGO + 50, parent="a")
    assert db.get_compression_tip("a") == "a"
    assert _edges(db.store.lineage.tree("a").root)["helper"] is Edge.AGENT


def test_resuming_goes_to_the_messages(db: SessionDB) -> None:
    add(db, "empty", ended=LONG_AGO + 1, reason="compression")
    add(db, "also_empty", at=LONG_AGO + 2, parent="empty")
    add(db, "full", "hello", at=LONG_AGO + 3, parent="also_empty")
    assert db.resolve_resume_session_id("empty") == "full"
    assert db.resolve_resume_session_id("full") == "full"
    assert db.resolve_resume_session_id("nobody") == "nobody"
    add(db, "alone")
    assert db.resolve_resume_session_id("alone") == "alone"


def test_a_tree_needs_a_session(db: SessionDB) -> None:
    with pytest.raises(SessionNotFound, match="'nobody'"):
        db.store.lineage.tree("nobody")


def test_a_chain_deeper_than_the_stack(db: SessionDB, path: Path) -> None:
    length = sys.getrecursionlimit() + 50
    with raw(path) as con, con:
        for place in range(length):
            con.execute(
                "INSERT INTO sessions(id, source, parent_session_id, started_at, ended_at, "
                "end_reason) VALUES (?, 'cli', ?, ?, ?, 'compression')",
                (f"s{place:04}", f"s{place - 1:04}" if place else None, place, place),
            )
    node, depth = db.store.lineage.tree("s0000").root, 1
    while node.children:
        (node,) = node.children
        depth += 1
    assert depth == length
    last = f"s{length - 1:04}"
    assert db.store.lineage.ancestors(last)[0].id == f"s{length - 2:04}"
    assert db.get_compression_tip(last) == last
    assert db.get_compression_tip("s0000") != "s0000"


def _everything_ends(db: SessionDB, ids: list[str]) -> None:
    """Walk and list from every session; a walk that does not end hangs the test run."""
    for name in ids:
        assert name in _edges(db.store.lineage.tree(name).root)
        assert db.get_compression_tip(name) in ids
        assert db.resolve_resume_session_id(name) in ids
        assert name not in [each.id for each in db.store.lineage.ancestors(name)]
        own = db.get_messages_as_conversation(name)
        assert len(db.get_messages_as_conversation(name, include_ancestors=True)) >= len(own)
    for by_activity in (False, True):
        for children in (False, True):
            rows = db.list_sessions_rich(
                limit=100, include_children=children, order_by_last_active=by_activity
            )
            shown = {row["id"] for row in rows}
            assert shown <= set(ids)
            assert not children or shown == set(ids)
    assert {row["id"] for row in db.search_sessions(limit=100)} == set(ids)
    assert len(db.export_all()) == len(ids)
    db.store.lists.conversations(limit=100)
    db.store.upkeep.statistics()


def _damage(path: Path, *links: tuple[str, str]) -> None:
    with raw(path) as con:
        con.execute("PRAGMA foreign_keys = OFF")
        for child, parent in links:
            con.execute("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (parent, child))


CYCLES = {
    "itself": [("a", "a")],
    "two": [("a", "b"), ("b", "a")],
    "whole chain": [("a", "d")],
    "side": [("b", "d")],
    "ghost parent": [("a", "ghost")],
    "ghost in the middle": [("c", "ghost")],
}


@pytest.mark.parametrize("name", CYCLES)
@pytest.mark.parametrize("at_once", [True, False])
def test_damaged_parents_never_hang_a_walk(
    db: SessionDB, path: Path, name: str, at_once: bool
) -> None:
    ids = ["a", "b", "c", "d"]
    add_chain(db, ids)
    if at_once:
        # All at the same moment and all compressed: then every link of a cycle continues the last.
        with db._db.write() as tx:
            tx.run("UPDATE sessions SET started_at = 1, ended_at = 1, end_reason = 'compression'")
    _damage(path, *CYCLES[name])
    _everything_ends(db, ids)


@pytest.mark.parametrize("name", CYCLES)
def test_damaged_families_can_be_deleted(db: SessionDB, path: Path, name: str) -> None:
    ids = ["a", "b", "c", "d"]
    add_chain(db, ids)
    add(db, "child", parent="a", at=LONG_AGO + 10)
    _damage(path, *CYCLES[name])
    for gone, session_id in enumerate(ids, 1):
        assert db.delete_session(session_id)
        assert db.session_count() == 5 - gone
    assert db.store.sessions.get("child").parent_session_id is None


@pytest.mark.parametrize("name", CYCLES)
def test_damaged_conversations_can_be_deleted(db: SessionDB, path: Path, name: str) -> None:
    add_chain(db, ["a", "b", "c", "d"])
    _damage(path, *CYCLES[name])
    for session_id in ("a", "c"):
        if db.get_session(session_id):
            assert session_id in db.store.trash.delete_conversation(session_id).session_ids
            assert db.get_session(session_id) is None


@pytest.mark.parametrize("name", CYCLES)
def test_damaged_families_can_be_pruned(db: SessionDB, path: Path, name: str) -> None:
    add_chain(db, ["a", "b", "c", "d"])
    _damage(path, *CYCLES[name])
    assert db.maybe_auto_prune_and_vacuum()["pruned"] == 4
    assert db.session_count() == 0
