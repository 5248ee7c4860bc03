"""The trash: what is deleted comes back as if it had never gone."""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import AmbiguousSession, NotInTrash
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.search import Request
from tests.store import newer
from tests.store.newer import Newer
from tests.store.trash_views import everything
from tests.support import LONG_AGO, add, add_chain, is_whole, raw, schema_of

# -- there and back ------------------------------------------------------------------------------


def test_a_conversation_comes_back_just_as_it_was(db: SessionDB, path: Path) -> None:
    add_chain(db, "abc")
    add(db, "agent", "a word", parent="b", at=LONG_AGO + 110, ended=LONG_AGO + 120)
    add(db, "branch", "mine", parent="b", edge=Edge.BRANCH, at=LONG_AGO + 110)
    add(db, "other", "a word", title="kept")
    before = everything(db)
    gone = db.store.trash.delete_conversation("c")
    assert set(gone.session_ids) == {"a", "b", "c", "agent"}
    assert db.store.sessions.get("branch").parent_session_id is None
    assert db.store.search.run("said").hits == ()
    (batch,) = db.store.trash.list()
    assert batch.id == gone.batch_id
    assert (batch.sessions, batch.messages, batch.reason) == (4, 4, "deleted")
    assert batch.titles[0] == "said in a"
    assert 0 < batch.bytes == db.store.trash.size()
    report = db.store.trash.restore()
    assert report.session_ids[0] == "a" and len(report.session_ids) == 4
    assert (report.messages, report.remarks, report.skipped) == (4, (), ())
    assert everything(db) == before
    assert db.store.trash.list() == ()
    assert is_whole(path)


values = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: "word " + text),
    st.just("word \0 after NUL"),
    st.none(),
    st.just([{"type": "text", "text": "word 前回"}, {"type": "image_url", "image_url": "data:"}]),
)


@st.composite
def families(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw some sessions, each hanging on an earlier one in one of the ways there are."""
    made: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 6))):
        parent = draw(st.none() | st.sampled_from(made)) if made else None
        edge = draw(st.sampled_from(list(Edge)[1:])) if parent else Edge.ROOT
        start = LONG_AGO + 100 * number
        if parent and edge is Edge.COMPRESSION:
            parent["ended"], parent["reason"] = start - 10, "compression"
        made.append(
            {
                "id": f"s{number}",
                "parent": parent["id"] if parent else None,
                "edge": edge if draw(st.booleans()) else None,
                "at": start,
                "said": draw(st.lists(values, max_size=3)),
                "ended": draw(st.sampled_from([None, start + 5, start + 5000])),
                "reason": draw(st.sampled_from(["user_exit", "branched", "compression"])),
                "title": draw(st.sampled_from([None, f"title {number}"])),
            }
        )
    return made


def _write(db: SessionDB, family: list[dict[str, Any]]) -> None:
    for each in family:
        names = ("parent", "edge", "at", "ended", "reason", "title")
        add(db, each["id"], *each["said"], **{name: each[name] for name in names})


@settings(max_examples=40, deadline=None)
@given(families(), st.data())
def test_any_part_of_any_family_comes_back(
    family: list[dict[str, Any]], data: st.DataObject
) -> None:
    ids = [each["id"] for each in family]
    with tempfile.TemporaryDirectory() as folder, SessionDB(Path(folder) / "state.db") as db:
        _write(db, family)
        before = everything(db)
        chosen = data.draw(st.lists(st.sampled_from(ids), unique=True, min_size=1))
        gone = db.store.trash.delete(chosen)
        assert set(gone.session_ids) == set(chosen)
        assert {row[0] for row in everything(db)["sessions"]} == set(ids) - set(chosen)
        report = db.store.trash.restore(gone.batch_id)
        assert set(report.session_ids) == set(chosen)
        assert report.remarks == report.skipped == ()
        assert everything(db) == before
        assert db.store.trash.list() == ()


@settings(max_examples=25, deadline=None)
@given(families(), st.data())
def test_several_deletions_come_back_in_any_order(
    family: list[dict[str, Any]], data: st.DataObject
) -> None:
    ids = [each["id"] for each in family]
    with tempfile.TemporaryDirectory() as folder, SessionDB(Path(folder) / "state.db") as db:
        _write(db, family)
        before = everything(db)
        for session_id in data.draw(st.permutations(ids)):
            db.store.trash.delete([session_id])
        for session_id in data.draw(st.permutations(ids)):
            assert db.store.trash.restore(session_id).session_ids == (session_id,)
        after = everything(db)
        assert after["messages"] == before["messages"]
        assert after["words"] == before["words"]
        assert {row[0] for row in after["sessions"]} == set(ids)


def test_a_session_alone_comes_back_between_its_relatives(db: SessionDB) -> None:
    add_chain(db, "abcd")
    before = everything(db)
    db.store.trash.delete(["b"])
    assert db.store.sessions.get("c").parent_session_id == "a"
    db.store.trash.restore("b")
    assert everything(db) == before


def test_parents_and_children_deleted_one_after_the_other(db: SessionDB) -> None:
    add_chain(db, "abc")
    before = everything(db)
    db.store.trash.delete(["c"])
    db.store.trash.delete(["b"])
    report = db.store.trash.restore("c")
    assert "parent b is gone" in report.remarks[0].text
    assert db.store.sessions.get("c").parent_session_id is None
    db.store.trash.restore("b")
    assert everything(db) == before


def test_a_child_that_was_changed_meanwhile_stays_where_it_is(db: SessionDB) -> None:
    add(db, "a", ended=LONG_AGO + 5)
    add(db, "new home", ended=LONG_AGO + 5)
    for name in ("moved", "marked"):
        add(db, name, parent="a", at=LONG_AGO + 1)
    db.store.trash.delete(["a"])
    with db._db.write() as tx:
        tx.run("UPDATE sessions SET parent_session_id = 'new home' WHERE id = 'moved'")
        tx.run("UPDATE sessions SET model_config = '{\"mine\": 1}' WHERE id = 'marked'")
    db.store.trash.restore()
    assert db.store.sessions.get("moved").parent_session_id == "new home"
    assert db.store.sessions.get("marked").model_config == {"mine": 1}
    assert db.store.sessions.get("marked").parent_session_id is None


def test_circles_in_damaged_data_come_back(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", ended=LONG_AGO + 5)
    add(db, "b", "y", parent="a", ended=LONG_AGO + 5)
    add(db, "self", "z", ended=LONG_AGO + 5)
    with raw(path) as con:
        con.execute("UPDATE sessions SET parent_session_id = 'b' WHERE id = 'a'")
        con.execute("UPDATE sessions SET parent_session_id = 'self' WHERE id = 'self'")
    before = everything(db)["sessions"]
    db.store.trash.delete(["a", "b", "self"])
    db.store.trash.restore()
    assert everything(db)["sessions"] == before


# -- what happened meanwhile -----------------------------------------------------------------


def test_a_title_that_was_taken_gets_the_next_number(db: SessionDB) -> None:
    add(db, "a", title="mine", ended=LONG_AGO)
    db.store.trash.delete_conversation("a")
    add(db, "b", title="mine")
    (remark,) = db.store.trash.restore("mine").remarks
    assert remark.session_id == "a" and "'mine #2'" in remark.text and "b" in remark.text
    assert db.store.sessions.get("a").title == "mine #2"


def test_an_id_that_is_there_again_stays_as_it_is(db: SessionDB) -> None:
    add(db, "a", "old", ended=LONG_AGO)
    add(db, "z", "other", ended=LONG_AGO)
    db.store.trash.delete(["a", "z"])
    add(db, "a", "new")
    report = db.store.trash.restore()
    assert report.session_ids == ("z",)
    assert [each.session_id for each in report.skipped] == ["a"]
    assert [m.content for m in db.store.messages.of("a")] == ["new"]
    (batch,) = db.store.trash.list()
    assert batch.session_ids == ("a",)
    db.delete_session("a")
    assert db.store.trash.restore("a").session_ids == ("a",)
    assert [m.content for m in db.store.messages.of("a")] == ["old"]


def test_message_numbers_that_were_taken_are_given_anew_in_order(db: SessionDB) -> None:
    add(db, "a", *"12345", ended=LONG_AGO)
    numbers = [message.id for message in db.store.messages.of("a")]
    db.store.trash.delete_conversation("a")
    add(db, "b")
    with db._db.write() as tx:
        tx.run(
            "INSERT INTO messages(id, session_id, role, content, timestamp) "
            "VALUES (?, 'b', 'user', 'squatter', 1)",
            (numbers[2],),
        )
    (remark,) = db.store.trash.restore().remarks
    assert "new numbers" in remark.text
    assert [message.content for message in db.store.messages.of("a")] == list("12345")
    assert [message.id for message in db.store.messages.of("a")][:2] == numbers[:2]


def test_parts_of_words_are_found_again(db: SessionDB) -> None:
    add(db, "a", *["reconfigure everything"] * 1_100, ended=LONG_AGO)
    assert db.store.search.run("configur").hits
    db.store.trash.delete_conversation("a")
    # So many went that the list of words is made anew, and soon is beyond what comes back.
    assert not db.store.search.run("configur").hits
    add(db, "b", "something else")
    db.store.search.prepare()
    db.store.trash.restore()
    assert len(db.store.search.run(Request("configur", limit=2_000)).hits) == 1_100


def test_what_is_not_in_the_trash(db: SessionDB) -> None:
    with pytest.raises(NotInTrash, match="empty"):
        db.store.trash.restore()
    for name in ("ab1", "ab2"):
        add(db, name, ended=LONG_AGO)
    db.store.trash.delete(["ab1", "ab2"])
    for wanted in ("nobody", "", 99):
        with pytest.raises(NotInTrash):
            db.store.trash.restore(wanted)
    with pytest.raises(AmbiguousSession):
        db.store.trash.restore("ab")
    assert db.store.trash.restore("ab1").session_ids == ("ab1",)
    assert db.store.trash.restore("ab").session_ids == ("ab2",)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trash_chunks SET data = x'00' WHERE entry_id = (SELECT MIN(id) FROM trash_entries)",
        "UPDATE trash_entries SET header = x'00' WHERE id = (SELECT MIN(id) FROM trash_entries)",
    ],
)
@pytest.mark.sqlite("damages a copy in the dialect of SQLite")
def test_a_damaged_copy_stays_and_keeps_no_other_from_being_restored(
    db: SessionDB, damage: str
) -> None:
    for each in ("a", "b"):
        add(db, each, "x", ended=LONG_AGO)
    db.store.trash.delete(["a", "b"])
    with db.store._sidecar.write() as tx:
        tx.run(damage)
    report = db.store.trash.restore()
    assert report.session_ids == ("b",)
    assert [each.session_id for each in report.skipped] == ["a"]
    assert "copy in the trash is damaged" in report.skipped[0].text
    assert db.session_count() == 1
    (batch,) = db.store.trash.list()
    assert [each.session_id for each in db.store.trash.sessions(batch.id)] == ["a"]


def test_blobs_and_odd_types_come_back(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", ended=LONG_AGO)
    with raw(path) as con:
        con.execute("UPDATE messages SET tool_call_id = x'00ff', token_count = 'many'")
        con.execute("UPDATE sessions SET user_id = x'fe', estimated_cost_usd = 9e999")
    before = everything(db)
    db.store.trash.delete_conversation("a")
    db.store.trash.restore()
    after = everything(db)
    assert (after["sessions"], after["messages"]) == (before["sessions"], before["messages"])


def test_a_long_session_needs_little_memory(db: SessionDB) -> None:
    with db._db.write() as tx:
        add(db, "long", ended=LONG_AGO)
        for number in range(6_000):
            tx.run(
                "INSERT INTO messages(session_id, role, content, timestamp) "
                "VALUES ('long', 'user', ?, ?)",
                (f"{number} " + "text " * 400, LONG_AGO + number),
            )
    tracemalloc.start()
    try:
        assert db.store.trash.delete_conversation("long").messages == 6_000
        db.store.trash.restore()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert db.message_count("long") == 6_000
    assert peak < 8_000_000  # of 12 MB of text, which as objects would be more


# -- files and emptying ----------------------------------------------------------------------


def test_transcripts_stay_until_the_trash_is_emptied(db: SessionDB, tmp_path: Path) -> None:
    for name in ("a", "b"):
        add(db, name, ended=LONG_AGO)
    for name in ("a.jsonl", "session_a.json", "b.jsonl", "other.jsonl"):
        (tmp_path / name).write_text("x")
    db.store.trash.delete_conversation("a", tmp_path)
    batch = db.store.trash.delete_conversation("b", tmp_path).batch_id
    assert batch is not None
    (entry,) = db.store.trash.sessions(batch)
    assert (entry.session_id, entry.files) == ("b", ("b.jsonl",))
    db.store.trash.restore("b")
    assert db.store.trash.empty().sessions == 1
    left = {path.name for path in tmp_path.glob("*.json*")}
    assert left == {"b.jsonl", "other.jsonl"}


def test_emptying_by_age_and_by_batch(db: SessionDB, path: Path) -> None:
    batches = []
    for name in ("old", "young", "chosen"):
        add(db, name, "text " * 20_000, ended=LONG_AGO)
        batches.append(db.store.trash.delete_conversation(name).batch_id)
    with db.store._sidecar.write() as tx:
        tx.run("UPDATE trash_batches SET deleted_at = ? WHERE id = ?", (LONG_AGO, batches[0]))
    assert db.store.trash.empty(older_than_days=30).sessions == 1
    assert db.store.trash.empty(batch_id=batches[2]).messages == 1
    assert [batch.session_ids for batch in db.store.trash.list()] == [("young",)]
    assert db.store.trash.empty(batch_id=99).sessions == 0
    assert db.store.trash.empty().bytes > 0
    assert db.store.trash.list() == ()
    with pytest.raises(NotInTrash):
        db.store.trash.restore()


@pytest.mark.sqlite("is about the size of a file")
def test_an_emptied_trash_takes_no_room(db: SessionDB) -> None:
    import random

    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=500_000))
    add(db, "a", noise, ended=LONG_AGO)
    db.store.trash.delete_conversation("a")
    db.store.trash.empty()
    with db.store._sidecar.write() as tx:
        assert tx.value("PRAGMA page_count") * tx.value("PRAGMA page_size") < 200_000


@pytest.mark.sqlite("is about a file")
def test_a_permanent_deletion_leaves_nothing(db: SessionDB) -> None:
    add(db, "a", "x", ended=LONG_AGO)
    gone = db.store.trash.delete_conversation("a", permanently=True)
    assert (gone.session_ids, gone.batch_id) == (("a",), None)
    assert not db.store._sidecar.exists


def test_nothing_to_delete_leaves_no_batch(db: SessionDB) -> None:
    assert db.store.trash.delete([]).session_ids == ()
    assert db.store.trash.delete(["nobody"]) == db.store.trash.delete(["nobody"])
    assert db.store.trash.list() == ()


# -- files of a newer Hermes -------------------------------------------------------------------


def test_a_newer_file_gets_everything_back_and_no_new_schema(path: Path) -> None:
    newer.make(path)
    theirs = Newer(path)
    theirs.put("system_prompts", hash="h1", prompt="be kind")
    theirs.session("a", ended_at=LONG_AGO + 5, end_reason="compression", archived=1, cwd="/x",
                   system_prompt_hash="h1", title="mine")  # fmt: skip
    theirs.session("b", at=LONG_AGO + 6, parent_session_id="a", ended_at=LONG_AGO + 9,
                   end_reason="user_exit")  # fmt: skip
    theirs.message("a", "word one", active=None)
    theirs.message("a", "word two", active=0, compacted=1, at=LONG_AGO + 2)
    theirs.message("b", "word three", display_kind="hidden", at=LONG_AGO + 7)
    for model in ("m1", "m2"):
        theirs.put("session_model_usage", session_id="a", model=model, input_tokens=5)
    theirs.close()
    schema = schema_of(path)
    with SessionDB(path) as db:
        before = everything(db)
        assert db.store.trash.delete_conversation("b").messages == 3
        assert everything(db)["session_model_usage"] == []
        db.store.trash.restore()
        assert everything(db) == before
        db.store.trash.delete_conversation("b")
        with db._db.write() as tx:
            tx.run("DELETE FROM system_prompts")
        db.store.trash.restore()
        row = db.get_session("a")
        assert row is not None and row["system_prompt"] == "be kind"
    assert schema_of(path) == schema


def test_a_copy_fits_a_file_that_has_grown_columns(db: SessionDB, path: Path) -> None:
    add(db, "a", "x", title="mine", ended=LONG_AGO)
    db.store.trash.delete_conversation("a")
    with raw(path) as con:
        con.execute("ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0")
        con.execute("ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1")
    db.store.trash.restore()
    assert db.store.sessions.get("a").title == "mine"
    assert db.message_count("a") == 1


def test_what_is_not_valid_text_comes_back_byte_for_byte(db: SessionDB, path: Path) -> None:
    add(db, "a", "first", "second", "third", ended=LONG_AGO + 5)
    with raw(path) as con:
        con.execute("UPDATE messages SET content = CAST(X'fffe41' AS TEXT) WHERE id = 2")
        con.execute("UPDATE messages SET tool_name = X'00ff' WHERE id = 3")
        con.execute("UPDATE sessions SET model = CAST(X'c328' AS TEXT)")
        wanted = "SELECT typeof(content), hex(content), typeof(tool_name), hex(tool_name), m.id, "
        wanted += "typeof(model), hex(model) FROM messages m JOIN sessions s ON s.id = session_id"
        before = list(con.execute(wanted))
    db.store.trash.delete(["a"])
    assert db.store.trash.list()[0].messages == 3
    assert db.store.trash.restore().messages == 3
    with raw(path) as con:
        assert list(con.execute(wanted)) == before
