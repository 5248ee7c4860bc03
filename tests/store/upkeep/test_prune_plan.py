"""Prune filters: one typed filter, a plan that changes nothing, and what it spares and why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB, Store
from hermes_store.errors import InvalidInput
from hermes_store.records.prune import PruneFilter
from hermes_store.records.relation_to_parent import Edge
from tests.store import newer
from tests.store.newer import Newer
from tests.store.plain_list import row as listed
from tests.store.trash_views import everything
from tests.support import LONG_AGO, add, add_chain, schema_of

DAY = 86_400.0


def _roots(db: Store, **chosen: Any) -> set[str]:
    wanted = PruneFilter(**({"older_than_days": None} | chosen))
    return {row.root_id for row in db.upkeep.plan_prune(wanted).rows}


def _spared(db: Store, **chosen: Any) -> dict[str, str]:
    wanted = PruneFilter(**({"older_than_days": None} | chosen))
    return {each.session_id: each.text for each in db.upkeep.plan_prune(wanted).spared}


def _model(db: SessionDB, session_id: str, model: str) -> None:
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET model = ? WHERE id = ?", (model, session_id))


def test_a_plan_tells_all_and_changes_nothing(db: SessionDB) -> None:
    add_chain(db, "abc")
    add(db, "agent", "é", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120)
    add(db, "helper", parent="agent", at=LONG_AGO + 111, ended=LONG_AGO + 112)
    add(db, "branch", "xy", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 900, ended=LONG_AGO + 999,
        title="aside")  # fmt: skip
    before = everything(db)
    plan = db.store.upkeep.plan_prune()
    # Messages are counted as in a list, without those of sub-agents.
    assert (plan.conversations, plan.sessions, plan.messages) == (2, 6, 4)
    assert plan.bytes == 3 * len("said in a") + 2 + 2
    assert (plan.oldest, plan.newest) == (LONG_AGO + 201, LONG_AGO + 901)
    first, second = plan.rows
    assert (first.root_id, set(first.session_ids)) == ("a", {"a", "b", "c", "agent", "helper"})
    assert first.session_ids[-1] == "a"
    assert (first.messages, first.started_at, first.title) == (3, LONG_AGO, None)
    for row in plan.rows:
        assert row.messages == listed(db.store, row.root_id).message_count
    assert (second.session_ids, second.title) == (("branch",), "aside")
    assert plan.spared == ()
    assert everything(db) == before
    assert not db.store.trash.conversations()


def test_age_counts_from_the_last_activity_of_the_whole_conversation(db: SessionDB) -> None:
    now = time.time()
    add_chain(db, "ab")
    add(db, "agent", "busy", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120)
    assert {row.root_id for row in db.store.upkeep.plan_prune().rows} == {"a"}
    db.append_message("agent", "user", "again", timestamp=now - 5 * DAY)
    assert db.store.upkeep.plan_prune().rows == ()
    assert db.store.upkeep.plan_prune(PruneFilter(4)).conversations == 1
    assert db.store.upkeep.plan_prune(now=now + 90 * DAY).conversations == 1


def test_every_condition(db: SessionDB) -> None:
    add(db, "cron", *"xyz", source="cron", ended=LONG_AGO + 9, title="Nightly Run")
    add(db, "chat", "x", source="telegram", ended=LONG_AGO + 9)
    _model(db, "chat", "anthropic/claude-Opus")
    assert _roots(db.store) == {"cron", "chat"}
    assert _roots(db.store, source="cron") == {"cron"}
    assert _roots(db.store, title="nightly") == {"cron"}
    assert _roots(db.store, model="opus") == {"chat"}
    assert _roots(db.store, min_messages=2) == {"cron"}
    assert _roots(db.store, max_messages=1) == {"chat"}
    assert _roots(db.store, min_messages=1, max_messages=3, source="telegram") == {"chat"}
    assert _roots(db.store, source="cron", model="opus") == set()


def test_the_search_language_filters(db: SessionDB) -> None:
    now = time.time()
    add(db, "cron", "x", source="cron", ended=LONG_AGO + 9, title="Nightly Run")
    add(db, "chat", "see https://example.org", at=now - 3 * DAY, source="telegram", ended=now)
    add_chain(db, "ab", at=LONG_AGO)
    db.store.marks.tag("b", "work")
    for where, expected in {
        "source:cron": {"cron"},
        "-source:cron": {"chat", "a"},
        "source:cron OR source:telegram": {"cron", "chat"},
        "before:90d": {"cron", "a"},
        "after:7d": {"chat"},
        "on:2020-09-13": {"cron", "a"},
        "title:nightly before:2021": {"cron"},
        "has:url": {"chat"},
        "role:user -has:url": {"cron", "a"},
        "tag:work": {"a"},
        "-tag:work": {"cron", "chat"},
        "NOT (source:cron OR tag:work)": {"chat"},
        "is:compressed": {"a"},
        "is:ended": {"cron", "chat", "a"},
        "is:live": set(),
        "id:b": {"a"},
    }.items():
        assert _roots(db.store, where=where) == expected, where
    assert _roots(db.store, where="-tag:work", source="cron") == {"cron"}


def test_a_field_on_sub_agents_never_takes_their_conversation(db: SessionDB) -> None:
    add(db, "a", "x", ended=LONG_AGO + 50)
    add(db, "agent", "x", source="worker", parent="a", at=LONG_AGO + 5, ended=LONG_AGO + 9)
    assert _roots(db.store, where="is:agent") == set()
    assert _roots(db.store, where="source:worker") == set()


@pytest.mark.parametrize(
    "where",
    ["docker", "source:cron docker", "before:someday", "is:strange", "tag:none", "-tag:none",
     "role:nobody", "sourc:cron", 'source:""', '"', "(source:cron", "source:cron OR",
     "sort:newest"],
)  # fmt: skip
def test_a_filter_that_is_not_clear_is_refused(db: SessionDB, where: str) -> None:
    add(db, "a", "docker", ended=LONG_AGO)
    with pytest.raises(InvalidInput):
        db.store.upkeep.plan_prune(PruneFilter(where=where))


def test_what_is_in_use_or_kept_is_spared_and_said(db: SessionDB) -> None:
    now = time.time()
    add(db, "open", "x")
    add(db, "live", "x", at=now - 60)
    add_chain(db, "ab", live=True)
    for name in ("pinned", "archived", "gone"):
        add(db, name, "x", ended=LONG_AGO + 9)
    db.store.marks.pin("pinned")
    db.store.marks.archive("archived")
    assert _roots(db.store) == {"gone"}
    spared = _spared(db.store)
    assert "was active" in spared.pop("live")
    assert spared == {
        "open": "It has not ended.",
        "a": "It has not ended.",
        "pinned": "It is pinned.",
        "archived": "It is archived.",
    }
    assert _roots(db.store, include_open=True) == {"gone", "open", "a"}
    assert _roots(db.store, include_archived=True) == {"gone", "archived"}
    assert _roots(db.store, include_pinned=True) == {"gone", "pinned"}
    everything_but = {"gone", "open", "a", "pinned", "archived"}
    chosen = {"include_open": True, "include_archived": True, "include_pinned": True}
    assert _roots(db.store, **chosen) == everything_but
    assert _spared(db.store, **chosen).keys() == {"live"}


# -- letting go --------------------------------------------------------------------------------


@pytest.mark.parametrize("permanently", [False, True])
def test_pruning_takes_what_was_planned(db: SessionDB, permanently: bool) -> None:
    add_chain(db, "abc")
    add(db, "agent", "x", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120)
    add(db, "kept", "x")
    before = everything(db)
    gone = db.store.upkeep.prune(db.store.upkeep.plan_prune(), permanently=permanently)
    assert set(gone.session_ids) == {"a", "b", "c", "agent"}
    assert gone.messages == 4
    assert [row["id"] for row in db.search_sessions()] == ["kept"]
    if permanently:
        assert db.store.trash.list() == ()
    else:
        (batch,) = db.store.trash.list()
        assert (batch.id, batch.reason) == (gone.batch_id, "pruned")
        db.store.trash.restore()
        assert everything(db) == before


@pytest.mark.parametrize("permanently", [False, True])
def test_what_was_taken_up_after_the_plan_stays(db: SessionDB, permanently: bool) -> None:
    for name in ("reopened", "said", "continued", "gone"):
        add(db, name, "x", ended=LONG_AGO + 9, reason="compression")
    plan = db.store.upkeep.plan_prune()
    db.reopen_session("reopened")
    db.append_message("said", "user", "more", timestamp=LONG_AGO + 500)
    add(db, "next", parent="continued", at=LONG_AGO + 10)
    assert db.store.upkeep.prune(plan, permanently=permanently).session_ids == ("gone",)
    assert {row["id"] for row in db.search_sessions()} == {
        "reopened", "said", "continued", "next"
    }  # fmt: skip


def test_an_empty_plan_prunes_nothing(db: SessionDB) -> None:
    add(db, "a")
    assert db.store.upkeep.prune(db.store.upkeep.plan_prune()).session_ids == ()
    assert not db.store.trash.conversations()


def test_documented_pruning_knows_no_trash(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO)
    add(db, "b", ended=LONG_AGO)
    db.delete_session("a")
    assert db.prune_sessions() == 1
    assert db.store.trash.list() == ()


def test_damaged_lineage_ends_nothing(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", ended=LONG_AGO + 5, reason="compression")
    add(db, "b", "x", parent="a", at=LONG_AGO + 6, ended=LONG_AGO + 8, reason="compression")
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET parent_session_id = 'b', started_at = ? WHERE id = 'a'",
               (LONG_AGO + 9,))  # fmt: skip
    plan = db.store.upkeep.plan_prune()
    assert sorted(plan.session_ids) == ["a", "b"]
    assert set(db.store.upkeep.prune(plan).session_ids) == {"a", "b"}


# -- files of a newer Hermes -------------------------------------------------------------------


@pytest.fixture
def theirs(path: Path) -> Iterator[Newer]:
    newer.make(path)
    writer = Newer(path)
    yield writer
    writer.close()


def test_a_newer_file(path: Path, theirs: Newer) -> None:
    ended: dict[str, Any] = {"ended_at": LONG_AGO + 5, "end_reason": "user_exit"}
    theirs.session("old", **ended)
    theirs.session("kept", archived=1, **ended)
    theirs.session("held", **ended)
    theirs.session("agent", parent_session_id="old", at=LONG_AGO + 1, **ended)
    theirs.message("agent", "words")
    theirs.put("compression_locks", session_id="held", holder="them", expires_at=time.time() + 99)
    schema = schema_of(path)
    with SessionDB(path) as db:
        plan = db.store.upkeep.plan_prune()
        assert [set(row.session_ids) for row in plan.rows] == [{"old", "agent"}]
        assert (plan.messages, plan.bytes) == (0, 5)  # the message is a sub-agent's
        assert {each.session_id for each in plan.spared} == {"kept", "held"}
        before = everything(db)
        db.store.upkeep.prune(plan)
        db.store.trash.restore()
        assert everything(db) == before
    assert schema_of(path) == schema
