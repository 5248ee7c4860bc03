"""Resets, early continuations and stale copies, as today's Hermes means them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import TitleTaken
from hermes_store.records.listing import View
from hermes_store.records.relation_to_parent import RESET_REASONS, Edge
from tests.cli.command import hermes
from tests.store import versions
from tests.store.engines.test_versions import Program
from tests.support import LONG_AGO, add, add_chain

NOW = LONG_AGO + 9_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    versions.make(path, 26)
    return path


@pytest.fixture
def program(path: Path) -> Iterator[Program]:
    made = Program(path)
    yield made
    made.close()


def reset(program: Program, *, marked: bool, reason: str = "session_reset") -> None:
    program.session("old", LONG_AGO, ended_at=LONG_AGO + 50, end_reason=reason, session_key="k")
    program.say("old", "before", LONG_AGO + 1)
    config = '{"_reset_from": "old"}' if marked else None
    program.session("new", LONG_AGO + 100, parent_session_id="old", session_key="k",
                    model_config=config)  # fmt: skip
    program.say("new", "after", LONG_AGO + 101)


@pytest.mark.parametrize("reason", RESET_REASONS)
@pytest.mark.parametrize("marked", [True, False])
def test_what_begins_after_a_reset_is_a_conversation_of_its_own(
    path: Path, program: Program, marked: bool, reason: str
) -> None:
    reset(program, marked=marked, reason=reason)
    with SessionDB(path) as db:
        assert list(db.store.lists.entries(View(), now=NOW)) == ["new", "old"]
        tree = db.store.lineage.tree("new").root
        assert [child.edge for child in tree.children] == [Edge.RESET]
        assert db.get_compression_tip("old") == "old"
        assert db.resolve_resume_session_id("old") == "old"
        assert db.get_messages_as_conversation("new", include_ancestors=True)[0]["content"] == (
            "after"
        )
        gone = db.store.trash.delete_conversation("old", force=True)
        assert gone.session_ids == ("old",)
        assert db.get_session("new") is not None
        db.store.trash.restore()
        assert db.store.lineage.tree("new").root.session.id == "old"


def test_the_tree_says_so(path: Path, program: Program) -> None:
    reset(program, marked=True)
    shown = hermes(path.parent, "sessions", "tree", "new").out
    assert "└─ (after a reset)" in shown


def test_another_key_is_no_reset(path: Path, program: Program) -> None:
    reset(program, marked=False)
    with SessionDB(path) as db, db._db.write() as tx:
        tx.run("UPDATE sessions SET session_key = 'other' WHERE id = 'new'")
    with SessionDB(path) as db:
        assert list(db.store.lists.entries(View(), now=NOW)) == ["old"]


def test_a_continuation_may_begin_before_its_parent_has_ended(path: Path, program: Program) -> None:
    program.session("root", LONG_AGO, ended_at=LONG_AGO + 200, end_reason="compression",
                    cwd="/old")  # fmt: skip
    program.say("root", "first words", LONG_AGO + 1)
    program.session("early", LONG_AGO + 100, parent_session_id="root", title="Newest", cwd="/new")
    program.say("early", "latest words", LONG_AGO + 300)
    program.session("stale", LONG_AGO + 250, parent_session_id="root", ended_at=LONG_AGO + 400,
                    end_reason="ws_orphan_reap")  # fmt: skip
    program.say("stale", "a copy", LONG_AGO + 390)
    program.session("tool", LONG_AGO + 260, parent_session_id="root", source="tool")
    with SessionDB(path) as db:
        assert db.get_compression_tip("root") == "early"
        assert db.resolve_resume_session_id("root") == "early"
        (row,) = db.list_sessions_rich()
        assert (row["id"], row["title"], row["cwd"]) == ("early", "Newest", "/new")
        (listed,) = db.store.lists.rows(["root"], now=NOW)
        assert (listed.tip_id, listed.place.cwd) == ("early", "/new")
        assert db.store.sessions.find_to_resume("root").id == "early"


def test_a_branch_does_not_show_what_was_said_after_it(db: SessionDB) -> None:
    add(db, "trunk", "shared", at=LONG_AGO)
    branch = db.store.lineage.branch("trunk", now=LONG_AGO + 50)
    db.append_message("trunk", "user", "later in the trunk", timestamp=LONG_AGO + 60)
    db.append_message(branch.id, "user", "later in the branch", timestamp=LONG_AGO + 70)
    said = db.get_messages_as_conversation(branch.id, include_ancestors=True)
    assert [each["content"] for each in said] == ["shared", "later in the branch"]


def test_a_continuation_takes_back_the_title_of_what_it_continues(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"], live=True)
    add(db, "other", title="Taken")
    db.set_session_title("a", "Base")
    db.set_session_title("c", "Base #3")
    assert db.store.sessions.advise_title("c", "Base").problem is None
    assert db.set_session_title("c", "Base")
    assert (db.get_session_title("a"), db.get_session_title("c")) == (None, "Base")
    with pytest.raises(TitleTaken):
        db.set_session_title("c", "Taken")
    with pytest.raises(TitleTaken):
        db.set_session_title("a", "Base")


def test_several_are_deleted_with_their_agents(path: Path, program: Program) -> None:
    for name in ("a", "b", "c"):
        program.session(name, LONG_AGO)
        program.say(name, "x", LONG_AGO + 1)
    program.session("agent", LONG_AGO, parent_session_id="a",
                    model_config='{"_delegate_from": "a"}')  # fmt: skip
    program.session("branch", LONG_AGO, parent_session_id="a",
                    model_config='{"_branched_from": "a"}')  # fmt: skip
    with SessionDB(path) as db:
        assert db.delete_sessions(["a", "b", "b", "nobody"]) == 2
        assert {row["id"] for row in db.search_sessions()} == {"c", "branch"}
        assert db.delete_sessions([]) == 0


def test_a_conversation_after_a_reset_stays_one_when_its_parent_goes(
    path: Path, program: Program
) -> None:
    program.session("grand", LONG_AGO, ended_at=LONG_AGO + 10, end_reason="compression")
    program.session("old", LONG_AGO + 20, ended_at=LONG_AGO + 30, end_reason="session_reset",
                    parent_session_id="grand")  # fmt: skip
    program.session("new", LONG_AGO + 40, parent_session_id="old",
                    model_config='{"_reset_from": "old"}')  # fmt: skip
    with SessionDB(path) as db:
        db.delete_session("old")
        (child,) = db.store.lineage.tree("grand").root.children
        assert (child.session.id, child.edge) == ("new", Edge.RESET)


def test_a_continuation_may_have_inherited_the_mark_of_a_reset(
    path: Path, program: Program
) -> None:
    mark = '{"_reset_from": "gone"}'
    program.session("a", LONG_AGO, ended_at=LONG_AGO + 10, end_reason="compression",
                    model_config=mark)  # fmt: skip
    program.session("b", LONG_AGO + 20, parent_session_id="a", model_config=mark)
    with SessionDB(path) as db:
        assert db.get_compression_tip("a") == "b"


def test_a_session_with_a_lost_parent_can_be_created_again(path: Path, program: Program) -> None:
    program.session("first", LONG_AGO)
    program.session("a", LONG_AGO, parent_session_id="gone")
    with SessionDB(path) as db:
        db.create_session("a", "cli", parent_session_id="first", model="m")
        session = db.get_session("a")
        assert session is not None
        assert (session["parent_session_id"], session["model"]) == ("gone", "m")
