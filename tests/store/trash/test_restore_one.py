"""Restoring and purging single conversations out of one deletion."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import NotInTrash
from hermes_store.records.relation_to_parent import Edge
from tests.store.trash_views import everything
from tests.support import LONG_AGO, add, add_chain, is_whole


@pytest.fixture
def three(db: SessionDB) -> SessionDB:
    """A chain with a sub-agent, its branch and another conversation, deleted together."""
    add_chain(db, "abc")
    add(db, "agent", "find it", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120, title="help")
    add(db, "branch", "mine", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 130, ended=LONG_AGO + 140)
    add(db, "other", "a word", "more", at=LONG_AGO + 900, ended=LONG_AGO + 910, title="kept")
    db.store.sessions.rename("c", "the chain")
    return db


def delete_all(db: SessionDB) -> None:
    """Delete everything in one go."""
    db.store.trash.delete(["a", "b", "c", "agent", "branch", "other"])


def test_the_trash_lists_conversations(three: SessionDB) -> None:
    delete_all(three)
    found = three.store.trash.conversations()
    assert [(each.name, each.session_ids, each.messages) for each in found] == [
        ("the chain", ("a", "b", "agent", "c"), 4),
        ("mine", ("branch",), 1),
        ("kept", ("other",), 2),
    ]
    assert {each.batch_id for each in found} == {three.store.trash.list()[0].id}
    assert sum(each.bytes for each in found) == three.store.trash.size()


def test_the_latest_deletion_comes_first(three: SessionDB) -> None:
    three.store.trash.delete_conversation("other")
    three.store.trash.delete_conversation("branch")
    assert [each.name for each in three.store.trash.conversations()] == ["mine", "kept"]


def test_one_of_three_comes_back_and_then_the_rest(three: SessionDB, path: Path) -> None:
    before = everything(three)
    delete_all(three)
    chain, branch, other = three.store.trash.conversations()
    report = three.store.trash.restore_sessions(other.session_ids, batch_id=other.batch_id)
    assert (report.session_ids, report.messages, report.skipped) == (("other",), 2, ())
    assert three.store.sessions.get("other").title == "kept"
    assert [each.name for each in three.store.trash.conversations()] == ["the chain", "mine"]
    three.store.trash.restore_sessions(branch.session_ids)
    report = three.store.trash.restore_sessions(chain.session_ids)
    assert set(report.session_ids) == {"a", "b", "c", "agent"}
    assert everything(three) == before
    assert three.store.trash.list() == ()
    assert is_whole(path)


def test_the_newest_copy_of_a_session_comes_back(three: SessionDB) -> None:
    three.store.trash.delete_conversation("other")
    three.store.trash.restore()
    three.store.sessions.rename("other", "changed")
    three.store.trash.delete_conversation("other")
    three.store.trash.restore_sessions(["other"])
    assert three.store.sessions.get("other").title == "changed"


def test_what_is_not_in_the_trash_is_said(three: SessionDB) -> None:
    with pytest.raises(NotInTrash):
        three.store.trash.restore_sessions(["other"])
    gone = three.store.trash.delete_conversation("other")
    assert gone.batch_id is not None
    with pytest.raises(NotInTrash):
        three.store.trash.restore_sessions(["other"], batch_id=gone.batch_id + 1)
    report = three.store.trash.restore_sessions(["other", "nobody"])
    assert report.session_ids == ("other",)
    assert [each.session_id for each in report.skipped] == ["nobody"]


def test_one_of_three_is_purged(three: SessionDB) -> None:
    delete_all(three)
    chain, _, _ = three.store.trash.conversations()
    gone = three.store.trash.empty(batch_id=chain.batch_id, session_ids=chain.session_ids)
    assert (gone.sessions, gone.messages) == (4, 4)
    assert [each.name for each in three.store.trash.conversations()] == ["mine", "kept"]
    report = three.store.trash.restore(chain.batch_id)
    assert set(report.session_ids) == {"branch", "other"}


def test_a_read_only_trash_restores_nothing(three: SessionDB, path: Path) -> None:
    delete_all(three)
    from hermes_store.errors import DatabaseReadOnly
    from hermes_store.store import Store

    with Store(path, read_only=True) as store:
        assert len(store.trash.conversations()) == 3
        with pytest.raises(DatabaseReadOnly):
            store.trash.restore_sessions(["other"])
