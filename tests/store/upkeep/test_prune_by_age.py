"""Pruning: by last activity of the whole conversation, and never a session in use."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.engines.base import Transaction
from hermes_store.trash import delete_from_database
from hermes_store.upkeep import prune_by_age
from tests.support import LONG_AGO, add, add_chain, is_whole

DAY = 86_400.0


def _left(db: SessionDB) -> set[str]:
    return {row["id"] for row in db.search_sessions(limit=-1)}


def test_age_is_counted_from_the_last_activity(db: SessionDB) -> None:
    now = time.time()
    add(db, "old", "x", ended=LONG_AGO + 9)
    add(db, "resumed", "x", ended=now)
    db.append_message("resumed", "user", "again", timestamp=now - 5 * DAY)
    add(db, "young", at=now - 89 * DAY, ended=now - 89 * DAY)
    add(db, "silent", at=now - 91 * DAY, ended=now)
    assert db.prune_sessions() == 2
    assert _left(db) == {"resumed", "young"}
    assert db.prune_sessions(older_than_days=30) == 1
    assert _left(db) == {"resumed"}
    assert db.message_count() == 2


def test_a_session_that_has_not_ended_stays(db: SessionDB) -> None:
    add(db, "open", "x")
    assert db.prune_sessions(older_than_days=1) == 0
    db.end_session("open", "user_exit")
    assert db.prune_sessions(older_than_days=1) == 1


def test_a_conversation_that_goes_on_keeps_its_beginning(db: SessionDB) -> None:
    add_chain(db, "abc", live=True)
    assert db.prune_sessions() == 0
    assert _left(db) == {"a", "b", "c"}
    db.end_session("c", "user_exit")
    db.append_message("c", "user", "just now")
    assert db.prune_sessions() == 0


def test_a_conversation_that_is_over_goes_whole(db: SessionDB) -> None:
    add_chain(db, "abc")
    assert db.prune_sessions() == 3
    assert db.session_count() == db.message_count() == 0


def test_one_source_can_be_pruned(db: SessionDB) -> None:
    add(db, "a", source="cron", ended=LONG_AGO)
    add(db, "b", source="cli", ended=LONG_AGO)
    assert db.prune_sessions(source="cron") == 1
    assert _left(db) == {"b"}


def test_children_of_a_pruned_session_lose_no_lineage(db: SessionDB) -> None:
    add(db, "top", "x")
    add(db, "middle", "x", parent="top", ended=LONG_AGO + 5)
    add(db, "leaf", "x", parent="middle", at=LONG_AGO + 1)
    assert db.prune_sessions() == 1
    assert db.store.sessions.get("leaf").parent_session_id == "top"


def test_many_sessions_go_in_small_transactions(db: SessionDB, path: Path) -> None:
    for number in range(35):
        add(db, f"s{number}", "x", ended=LONG_AGO + 5)
    sizes: list[int] = []
    with db._db.read() as tx:
        planned = prune_by_age.ended_before(tx, LONG_AGO + 100, None, db.store.marks)
    assert len(planned) == 35

    def write() -> AbstractContextManager[Transaction]:
        sizes.append(db.session_count())
        return db._db.write()

    gone = delete_from_database.total(
        prune_by_age.apply(write, [(each,) for each in planned], LONG_AGO + 100, db.store.marks)
    )
    assert set(gone.session_ids) == set(planned)
    assert gone.messages == 35
    steps = [before - after for before, after in zip(sizes, [*sizes[1:], 0], strict=True)]
    assert max(steps) <= delete_from_database.STEP_SESSIONS
    assert is_whole(path)


def test_a_session_that_wakes_up_after_the_plan_is_spared(db: SessionDB) -> None:
    for name in ("a", "b", "gone"):
        add(db, name, "x", ended=LONG_AGO + 5)
    with db._db.read() as tx:
        planned = prune_by_age.ended_before(tx, LONG_AGO + 100, None, db.store.marks)
    db.reopen_session("a")
    db.append_message("b", "user", "again")
    db.delete_session("gone")
    assert not delete_from_database.total(
        prune_by_age.apply(
            db._db.write, [(each,) for each in planned], LONG_AGO + 100, db.store.marks
        )
    ).session_ids
    assert _left(db) == {"a", "b"}


@pytest.mark.parametrize("reader", [True, False])
def test_a_plan_changes_nothing(db: SessionDB, path: Path, reader: bool) -> None:
    add(db, "a", ended=LONG_AGO)
    with SessionDB(path, read_only=reader) as store, store._db.read() as tx:
        assert prune_by_age.ended_before(tx, time.time(), None, db.store.marks) == ("a",)
    assert _left(db) == {"a"}
