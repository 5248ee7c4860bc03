"""Files of a newer Hermes: what they hide stays hidden, and their schema stays theirs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import SessionInUse
from hermes_store.records.listing import Filter
from hermes_store.records.message import State
from hermes_store.records.relation_to_parent import Edge
from hermes_store.upkeep import prune_by_age
from tests.store.newer import VERSION, Newer, make
from tests.support import LONG_AGO, add, raw, schema_of


@pytest.fixture
def newer(path: Path) -> Iterator[Newer]:
    """The newer program, which keeps its file open."""
    make(path)
    program = Newer(path)
    yield program
    program.close()


@pytest.fixture
def db(newer: Newer, path: Path) -> Iterator[SessionDB]:
    """The store on that file."""
    with SessionDB(path) as store:
        yield store


def _said(db: SessionDB, session_id: str) -> list[str]:
    return [row["content"] for row in db.get_messages(session_id)]


def _listed(db: SessionDB) -> set[str]:
    by_start = {row["id"] for row in db.list_sessions_rich()}
    by_activity = {row["id"] for row in db.list_sessions_rich(order_by_last_active=True)}
    conversations = {each.root_id for each in db.store.lists.conversations()}
    assert by_start == by_activity == conversations
    return by_start


def test_it_is_known_as_somebody_elses(db: SessionDB) -> None:
    caps = db.store.capabilities()
    assert (caps.version, caps.foreign, caps.activity) == (VERSION, True, False)


def test_using_it_changes_neither_schema_nor_version(
    db: SessionDB, newer: Newer, path: Path
) -> None:
    before = schema_of(path)
    newer.session("theirs", model_config={"a": 1})
    newer.message("theirs", "hello there")
    add(db, "ours", "one", "two", title="mine", ended=LONG_AGO + 9)
    db.store.sessions.rename("theirs", "renamed")
    db.update_token_counts("ours", 1, 2, "opus")
    db.update_system_prompt("theirs", "Be brief.")
    db.replace_messages("theirs", [{"role": "user", "content": "other"}])
    db.list_sessions_rich(order_by_last_active=True)
    db.prune_sessions()
    db.delete_session("theirs")
    db.set_meta("key", "value")
    db.close()
    with SessionDB(path) as again, SessionDB(path, read_only=True) as reader:
        assert again.session_count() == reader.session_count() == 0
    assert schema_of(path) == before
    assert newer.rows("SELECT version FROM schema_version") == [(VERSION,)]


def test_a_clean_up_keeps_its_schema(db: SessionDB, newer: Newer, path: Path) -> None:
    def texts() -> set[tuple[str, str | None]]:
        # VACUUM moves the pages and the order of the rows, not what they say.
        return {(name, sql) for _, name, _, _, sql in schema_of(path)}

    before = texts()
    newer.session("old", ended_at=LONG_AGO, end_reason="x")
    assert db.maybe_auto_prune_and_vacuum()["vacuumed"] is True
    assert texts() == before
    assert newer.rows("SELECT version FROM schema_version") == [(VERSION,)]


def test_its_log_is_left_in_place(db: SessionDB, newer: Newer, path: Path) -> None:
    log = path.with_name(path.name + "-wal")
    inode = log.stat().st_ino
    add(db, "a", "hello")
    db.close()
    assert log.stat().st_ino == inode
    newer.message("a", "still working")
    assert newer.rows("SELECT COUNT(*) FROM messages") == [(2,)]


def test_models_are_sent_what_is_active_and_people_read_what_was_said(
    db: SessionDB, newer: Newer
) -> None:
    newer.session("a")
    newer.message("a", "rewound", active=0)
    newer.message("a", "summarised", active=0, compacted=1)
    newer.message("a", "hidden", display_kind="hidden")
    newer.message("a", "shown", at=LONG_AGO + 2)
    newer.message("a", "no mark", active=None, at=LONG_AGO + 3)
    newer.message("a", "other kind", display_kind="notice", at=LONG_AGO + 4)
    sent = ["hidden", "shown", "no mark", "other kind"]
    assert _said(db, "a") == sent
    assert [each["content"] for each in db.get_messages_as_conversation("a")] == sent
    exported = db.export_session("a")
    assert exported is not None
    assert [row["content"] for row in exported["messages"]] == sent
    read = ["summarised", "shown", "no mark", "other kind"]
    assert [message.text for message in db.store.messages.of("a")] == read
    everything = db.store.messages.of("a", everything=True)
    assert [(each.text, each.state) for each in everything[:3]] == [
        ("rewound", State.REWOUND),
        ("summarised", State.SUMMARISED),
        ("hidden", State.HIDDEN),
    ]
    assert {each.state for each in everything[3:]} == {State.SENT}
    for by_activity in (False, True):
        (row,) = db.list_sessions_rich(order_by_last_active=by_activity)
        assert row["preview"] == "summarised"


def test_a_file_of_ours_that_was_upgraded_hides_them_too(path: Path) -> None:
    with SessionDB(path) as db:
        add(db, "a", "hidden", "shown")
    with raw(path) as con:
        con.execute("ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1")
        con.execute("UPDATE messages SET active = 0 WHERE content = 'hidden'")
        con.execute(f"UPDATE schema_version SET version = {VERSION}")
    before = schema_of(path)
    with SessionDB(path) as db:
        assert db.store.capabilities().foreign
        assert _said(db, "a") == ["shown"]
        assert [row["preview"] for row in db.list_sessions_rich()] == ["shown"]
        assert [each.preview for each in db.store.lists.conversations()] == ["shown"]
    assert schema_of(path) == before


def test_archived_and_hidden_sessions_are_not_listed(db: SessionDB, newer: Newer) -> None:
    newer.session("plain")
    newer.session("archived", archived=1)
    newer.session("hidden", hidden=1)
    assert _listed(db) == {"plain"}
    assert db.store.sessions.get("archived").archived
    assert not db.store.sessions.get("plain").archived
    every = db.store.lists.conversations(Filter(include_archived=True))
    assert {each.root_id for each in every} == {"plain", "archived", "hidden"}
    assert db.store.sessions.find("archived").id == "archived"


def test_markers_tell_children_apart(db: SessionDB, newer: Newer) -> None:
    newer.session("root", ended_at=LONG_AGO + 50, end_reason="compression")
    newer.session(
        "branch",
        parent_session_id="root",
        at=LONG_AGO + 60,
        model_config={"_branched_from": "root"},
    )
    newer.session(
        "agent", parent_session_id="root", at=LONG_AGO + 70, model_config={"_delegate_from": "root"}
    )
    newer.session("lost agent", model_config={"_delegate_from": "gone"})
    newer.session("wrongly hidden", model_config={"_delegate_from": "__orphaned__"})
    assert _listed(db) == {"root", "branch", "wrongly hidden"}
    edges = {node.session.id: node.edge for node in db.store.lineage.tree("root").root.children}
    assert edges == {"branch": Edge.BRANCH, "agent": Edge.AGENT}
    assert db.get_compression_tip("root") == "root"


def test_a_system_prompt_kept_once_is_put_back(db: SessionDB, newer: Newer) -> None:
    newer.put("system_prompts", hash="h1", prompt="Be kind.")
    newer.session("a", system_prompt_hash="h1")
    newer.session("b", system_prompt="Own words.")
    for row in (db.get_session("a"), db.export_session("a"), *db.search_sessions()):
        assert row is not None
        assert row["system_prompt"] == ("Be kind." if row["id"] == "a" else "Own words.")
    db.update_system_prompt("a", "Be brief.")
    row = db.get_session("a")
    assert row is not None
    digest = hashlib.sha256(b"Be brief.").hexdigest()
    assert (row["system_prompt"], row["system_prompt_hash"]) == ("Be brief.", digest)
    # Nothing uses the former one any more.
    assert newer.rows("SELECT prompt FROM system_prompts") == [("Be brief.",)]


def test_counters_and_markers_are_kept_for_the_newer_program(db: SessionDB, newer: Newer) -> None:
    newer.session("root")
    db.store.sessions.start("a", "cli", parent_session_id="root", edge=Edge.AGENT)
    db.append_message("a", "assistant", "x", tool_calls=[{"id": "1"}, {"id": "2"}])
    db.create_session("b", "cli")
    rows = newer.rows(
        "SELECT message_count, tool_call_count, model_config FROM sessions ORDER BY id"
    )
    assert rows[0][:2] == (1, 2)
    assert json.loads(rows[0][2]) == {"_delegate_from": "root"}
    assert rows[1] == (0, 0, None)
    assert newer.rows("SELECT active, compacted FROM messages") == [(1, 0)]
    assert newer.rows("SELECT rowid FROM messages_fts('x')") == [(1,)]


def test_usage_by_model_is_kept_in_step(db: SessionDB, newer: Newer) -> None:
    newer.session("a", model="opus")
    for _ in range(2):
        db.update_token_counts("a", 10, 1, estimated_cost_usd=0.5, api_call_count=1)
    db.update_token_counts("a", 5, 5, "mini")
    usage = newer.rows(
        "SELECT model, input_tokens, output_tokens, estimated_cost_usd, api_call_count "
        "FROM session_model_usage ORDER BY model"
    )
    assert usage == [("mini", 5, 5, 0, 0), ("opus", 20, 2, 1.0, 2)]
    db.delete_session("a")
    assert newer.rows("SELECT COUNT(*) FROM session_model_usage") == [(0,)]


def test_a_session_that_is_being_compressed_takes_messages_but_no_compression(
    db: SessionDB, newer: Newer
) -> None:
    newer.session("a")
    newer.message("a", "kept")
    newer.put("compression_locks", session_id="a", holder="pid 7", expires_at=time.time() + 60)
    db.append_message("a", "user", "now")
    assert _said(db, "a") == ["kept", "now"]
    with pytest.raises(SessionInUse, match=r"Session a .* pid 7"):
        db.store.lineage.compress("a", summary="short", keep_last=1, now=time.time())
    assert _said(db, "a") == ["kept", "now"]


def test_messages_leave_before_their_session(db: SessionDB, newer: Newer) -> None:
    newer.session("a", archived=1)
    newer.message("a", "rewound", active=0)
    newer.message("a", "shown")
    # What the index of later versions does: it looks the session up while a message leaves.
    newer.rows(
        "CREATE TRIGGER order_matters BEFORE DELETE ON messages WHEN NOT EXISTS "
        "(SELECT 1 FROM sessions WHERE id = old.session_id) "
        "BEGIN SELECT RAISE(ABORT, 'session went first'); END"
    )
    assert db.store.trash.delete_conversation("a").messages == 2
    assert newer.rows("SELECT COUNT(*) FROM messages_fts") == [(0,)]


@pytest.mark.parametrize("mark", ["archived", "pinned"])
def test_kept_sessions_are_never_pruned(db: SessionDB, newer: Newer, mark: str) -> None:
    newer.session("kept", ended_at=LONG_AGO, end_reason="x", **{mark: 1})
    newer.session("old", ended_at=LONG_AGO, end_reason="x")
    newer.session("root", ended_at=LONG_AGO, end_reason="compression")
    newer.session(
        "tip", parent_session_id="root", at=LONG_AGO + 1, ended_at=LONG_AGO + 2, **{mark: 1}
    )
    with db._db.read() as tx:
        assert prune_by_age.ended_before(tx, time.time(), None, db.store.marks) == ("old",)
    assert db.prune_sessions() == 1
    assert db.session_count() == 3


def test_chains_project_and_sort_without_the_side_table(db: SessionDB, newer: Newer) -> None:
    newer.session("root", ended_at=LONG_AGO + 5, end_reason="compression")
    newer.session("tip", parent_session_id="root", at=LONG_AGO + 6)
    newer.message("tip", "latest", at=LONG_AGO + 900)
    newer.session("between", at=LONG_AGO + 100)
    rows = db.list_sessions_rich(order_by_last_active=True)
    assert [row["id"] for row in rows] == ["tip", "between"]
    assert [row["id"] for row in db.list_sessions_rich()] == ["between", "tip"]
    assert rows[0]["last_active"] == LONG_AGO + 900


def test_damaged_model_config_empties_no_list(db: SessionDB, newer: Newer) -> None:
    for name, config in (("a", ""), ("b", "no json"), ("c", "[]"), ("d", None)):
        newer.session(name, model_config=config)
    assert _listed(db) == {"a", "b", "c", "d"}
