"""Marks: on whole conversations, in the file where it has room for them, else beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput, SessionNotFound
from hermes_store.marks.marks import tag_name
from hermes_store.records.listing import Filter
from hermes_store.records.marks import SessionMarks, TagChange
from hermes_store.records.search import Request
from tests.store import newer
from tests.store.newer import Newer
from tests.support import LONG_AGO, add, add_chain, schema_of


def _listed(db: SessionDB, chosen: Filter | None = None) -> list[str]:
    return [each.root_id for each in db.store.lists.conversations(chosen)]


def _hits(db: SessionDB, text: str) -> set[str]:
    return {hit.session_id for hit in db.store.search.run(Request(text, relax=False)).hits}


def test_a_mark_counts_for_the_whole_conversation(db: SessionDB) -> None:
    add_chain(db, "abc")
    add(db, "other", "x")
    db.store.marks.pin("b")
    db.store.marks.archive("c")
    assert db.store.marks.tag("a", "Work", "#urgent") == ("urgent", "work")
    everything = SessionMarks(pinned=True, archived=True, tags=("urgent", "work"))
    assert db.store.marks.of(["a", "b", "c", "other"]) == dict.fromkeys("abc", everything) | {
        "other": SessionMarks()
    }
    db.store.marks.unpin("a")
    db.store.marks.unarchive("b")
    assert db.store.marks.untag("c", "WORK") == ("urgent",)
    assert db.store.marks.of(["a"])["a"] == SessionMarks(tags=("urgent",))
    assert db.store.marks.untag("c") == ()


def test_a_conversation_that_goes_on_keeps_its_marks(db: SessionDB) -> None:
    add(db, "a", "x", ended=LONG_AGO + 5, reason="compression")
    db.store.marks.tag("a", "work")
    add(db, "b", "y", at=LONG_AGO + 6, parent="a")
    assert db.store.marks.of(["b"])["b"].tags == ("work",)
    db.delete_session("a")
    # The mark went with the session it stood on; set anew, it stands on what is there.
    db.store.marks.tag("b", "work")
    assert db.store.marks.tags() == (("work", 1),)


def test_marks_on_what_is_not_there(db: SessionDB) -> None:
    for change in (
        db.store.marks.pin,
        db.store.marks.unpin,
        db.store.marks.archive,
        db.store.marks.unarchive,
        db.store.marks.tag,
        db.store.marks.untag,
    ):
        with pytest.raises(SessionNotFound):
            change("nobody")
    assert db.store.marks.of(["nobody"]) == {"nobody": SessionMarks()}


@pytest.mark.parametrize("text", ["", "  ", "#", "x" * 51])
def test_tags_that_cannot_be(db: SessionDB, text: str) -> None:
    add(db, "a")
    with pytest.raises(InvalidInput, match="tag"):
        db.store.marks.tag("a", text)


def test_a_tag_is_one_clean_line() -> None:
    assert tag_name(" #Deep\n Work ") == "deep work"
    assert "\x1b" not in tag_name("a\x1b[31m")


def test_archived_conversations_are_hidden_and_one_filter_away(db: SessionDB) -> None:
    add_chain(db, "abc")
    add(db, "other", "x", at=LONG_AGO + 900)
    db.store.marks.archive("c")
    assert _listed(db) == ["other"]
    assert _listed(db, Filter(include_archived=True)) == ["other", "a"]
    assert _listed(db, Filter(include_children=True)) == ["other"]
    db.store.marks.unarchive("a")
    assert _listed(db) == ["other", "a"]


def test_search_knows_marks(db: SessionDB) -> None:
    add_chain(db, "ab")
    add(db, "other", "said elsewhere")
    db.store.marks.pin("a")
    db.store.marks.archive("a")
    db.store.marks.tag("b", "work")
    for field in ("is:pinned", "is:archived", "tag:work", "tag:#Work", 'tag:"work"'):
        assert _hits(db, f"said {field}") == {"a", "b"}, field
        assert _hits(db, f"said -{field}") == {"other"}, field
    assert _hits(db, "said (tag:work OR elsewhere)") == {"a", "b", "other"}
    assert {row["session_id"] for row in db.search_messages("said tag:work")} == {"a", "b"}
    db.store.marks.unpin("b")
    assert _hits(db, "said is:pinned") == set()


def test_a_tag_that_no_session_has_is_said(db: SessionDB) -> None:
    add(db, "a", "word")
    for known in ("No conversation has a tag yet.",
                  "No conversation has the tag 'none'. Known tags: work."):  # fmt: skip
        result = db.store.search.run("word tag:none")
        assert result.hits == ()
        assert [each.message for each in result.diagnostics] == [known]
        db.store.marks.tag("a", "work")


def test_marks_come_back_from_the_trash_and_go_with_it(db: SessionDB) -> None:
    add(db, "a", "x", ended=LONG_AGO + 9)
    db.store.marks.tag("a", "work")
    db.store.marks.pin("a")
    db.store.trash.delete_conversation("a")
    assert db.store.marks.tags() == ()
    db.store.trash.restore()
    assert db.store.marks.of(["a"])["a"] == SessionMarks(pinned=True, tags=("work",))
    db.store.trash.delete_conversation("a")
    db.store.trash.empty()
    add(db, "a")
    assert db.store.marks.of(["a"])["a"] == SessionMarks()
    db.store.marks.tag("a", "work")
    db.store.trash.delete_conversation("a", permanently=True)
    add(db, "a")
    assert db.store.marks.of(["a"])["a"] == SessionMarks()


# -- files of a newer Hermes ---------------------------------------------------------------------


@pytest.fixture
def theirs(path: Path) -> Iterator[Newer]:
    newer.make(path)
    writer = Newer(path)
    yield writer
    writer.close()


def test_columns_are_used_where_they_are(path: Path, theirs: Newer) -> None:
    theirs.session("a", ended_at=LONG_AGO + 5, end_reason="compression")
    theirs.session("b", at=LONG_AGO + 6, parent_session_id="a")
    theirs.session("c", pinned=1, archived=1)
    for name in "abc":
        theirs.message(name, f"word of {name}")
    before = schema_of(path)
    with SessionDB(path) as db:
        assert db.store.marks.of(["c"])["c"] == SessionMarks(pinned=True, archived=True)
        db.store.marks.pin("b")
        db.store.marks.archive("b")
        assert theirs.rows("SELECT id, pinned, archived FROM sessions ORDER BY id") == [
            ("a", 1, 1), ("b", 1, 1), ("c", 1, 1)
        ]  # fmt: skip
        assert not db.store._sidecar.exists
        assert _listed(db) == []
        db.store.marks.unarchive("c")
        assert _listed(db) == ["c"]
        db.store.marks.tag("c", "work")
        assert _hits(db, "word tag:work") == {"c"}
        assert _hits(db, "word is:archived") == {"a", "b"}
        assert _hits(db, "word is:pinned") == {"a", "b", "c"}
        db.store.marks.unpin("a")
        assert db.store.marks.of(["b"])["b"] == SessionMarks(archived=True)
    assert schema_of(path) == before


# -- several at once, and what it takes to undo that ---------------------------------------------


def test_marking_several_says_what_changed(db: SessionDB) -> None:
    add_chain(db, "ab")
    add(db, "other", "x")
    assert db.store.marks.pin("other") == ("other",)
    assert db.store.marks.pin("b", "other") == ("b",)
    assert db.store.marks.archive("b", "other") == ("b", "other")
    assert db.store.marks.unarchive("other", "a") == ("other", "a")
    assert db.store.marks.unpin("a") == ("a",)
    assert db.store.marks.of(["b", "other"]) == {
        "b": SessionMarks(),
        "other": SessionMarks(pinned=True),
    }


def test_marking_several_marks_none_if_one_is_missing(db: SessionDB) -> None:
    add(db, "other", "x")
    with pytest.raises(SessionNotFound):
        db.store.marks.pin("other", "nobody")
    with pytest.raises(SessionNotFound):
        db.store.marks.retag({"other": TagChange(("work",)), "nobody": TagChange(("work",))})
    assert db.store.marks.of(["other"])["other"] == SessionMarks()


def test_tags_of_several_are_changed_and_given_back(db: SessionDB) -> None:
    add_chain(db, "ab")
    add(db, "other", "x")
    db.store.marks.tag("a", "work", "mine")
    db.store.marks.tag("other", "work", "next week")
    before = db.store.marks.of(["a", "other"])
    change = TagChange(("#Urgent", "mine"), ("work",))
    done = db.store.marks.retag({"a": change, "other": change})
    assert done == {
        "a": TagChange(("urgent",), ("work",)),
        "other": TagChange(("urgent", "mine"), ("work",)),
    }
    assert db.store.marks.of(["b"])["b"].tags == ("mine", "urgent")
    assert db.store.marks.of(["other"])["other"].tags == ("mine", "next week", "urgent")
    db.store.marks.retag({each: change.reversed for each, change in done.items()})
    assert db.store.marks.of(["a", "other"]) == before
