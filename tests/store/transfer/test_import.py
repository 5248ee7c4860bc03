"""Imports: nothing lost, nothing doubled, and every refusal has a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.errors import DatabaseLocked, DatabaseReadOnly
from hermes_store.records.transfer import Kind, Outcome
from hermes_store.sessions import messages, session_rows
from hermes_store.transfer import import_file
from tests.store import newer
from tests.store.transfer.lines import Write, only, outcomes, said, session
from tests.support import LONG_AGO, add, add_chain, is_whole


def test_everything_about_a_session_is_kept(db: SessionDB, write: Write) -> None:
    row = session(
        "a",
        said("hello", LONG_AGO + 1, token_count=3),
        said(
            [{"type": "text", "text": "x"}],
            LONG_AGO + 2,
            "assistant",
            tool_calls=[{"id": "c"}],
            reasoning_details=[{"d": 1}],
            finish_reason="stop",
        ),
        source="telegram",
        user_id="7",
        model="m",
        model_config={"temperature": 1},
        system_prompt="Be brief.",
        ended_at=LONG_AGO + 9,
        end_reason="user_exit",
        input_tokens=5,
        reasoning_tokens=6,
        estimated_cost_usd=0.25,
        billing_provider="p",
        title="A title",
    )
    report = db.store.transfer.import_file(write(row))
    assert outcomes(report) == [("a", Outcome.ADDED)]
    assert report.messages == 2
    found = db.export_session("a")
    assert found is not None
    for name, value in row.items():
        if name not in ("messages", "model_config"):
            assert found[name] == value, name
    assert json.loads(found["model_config"]) == {"temperature": 1}
    assert found["message_count"] == 2
    assert found["tool_call_count"] == 1
    first, second = found["messages"]
    assert (first["content"], first["timestamp"], first["token_count"]) == (
        "hello",
        LONG_AGO + 1,
        3,
    )
    assert second["content"] == [{"type": "text", "text": "x"}]
    assert second["tool_calls"] == [{"id": "c"}]
    assert json.loads(second["reasoning_details"]) == [{"d": 1}]
    assert db.search_messages("hello")[0]["session_id"] == "a"


def test_importing_again_changes_nothing(db: SessionDB, write: Write) -> None:
    file = write(session("a", said("x"), title="t"), session("b"))
    db.store.transfer.import_file(file)
    db.store.sessions.rename("a", "mine now")
    before = db.export_all()
    report = db.store.transfer.import_file(file)
    assert outcomes(report) == [("a", Outcome.PRESENT), ("b", Outcome.PRESENT)]
    assert db.export_all() == before


def test_parents_come_before_children_whatever_the_order(db: SessionDB, write: Write) -> None:
    rows = [
        session(name, said(name), parent_session_id=parent)
        for name, parent in (("c", "b"), ("b", "a"), ("x", None), ("a", None))
    ]
    report = db.store.transfer.import_file(write(*rows))
    assert [each.session_id for each in report.sessions] == ["c", "b", "x", "a"]
    assert [each.id for each in db.store.lineage.ancestors("c")] == ["b", "a"]
    first = {each["id"]: each["messages"][0]["id"] for each in db.export_all()}
    assert first["a"] < first["b"] < first["c"]


def test_a_very_long_chain_imports(write: Write, tmp_path: Path) -> None:
    names = [f"s{place}" for place in range(3_000)]
    lines = [
        json.dumps(session(name, parent_session_id=parent))
        for name, parent in zip(names[1:], names, strict=False)
    ]
    planned = import_file.plan([*reversed(lines), json.dumps(session("s0"))], "in.jsonl")
    assert [each.session_id for each in planned.sessions] == names


def test_a_parent_that_is_nowhere_is_said(db: SessionDB, write: Write) -> None:
    add(db, "there", "x")
    report = db.store.transfer.import_file(
        write(
            session("a", parent_session_id="gone"),
            session("b", parent_session_id="there"),
            session("c", parent_session_id="c"),
            session("d", parent_session_id="e"),
            session("e", parent_session_id="d"),
        )
    )
    assert report.count(Outcome.ADDED) == 5
    assert "parent gone is missing" in (report.sessions[0].note or "")
    parents = {each: db.store.sessions.get(each).parent_session_id for each in "abcde"}
    assert parents == {"a": None, "b": "there", "c": None, "d": "e", "e": None}


def test_a_taken_title_gets_the_next_number(db: SessionDB, write: Write) -> None:
    add(db, "mine", title="plan")
    report = db.store.transfer.import_file(
        write(
            session("a", title="plan"),
            session("b", title="plan #2"),
            session("c", title="x" * 130),
            session("d", title=" \x1b "),
        )
    )
    assert [db.store.sessions.get(each).title for each in "abcd"] == [
        "plan #2",
        "plan #3",
        "x" * 100,
        None,
    ]
    assert "is taken" in (report.sessions[0].note or "")
    assert "too long" in (report.sessions[2].note or "")


@pytest.mark.parametrize("config", ["", "no json", "[1]", "5", [1], '{"a": NaN}', "[" * 9_999])
def test_a_model_config_is_an_object_or_nothing(db: SessionDB, write: Write, config: Any) -> None:
    report = db.store.transfer.import_file(write(session("a", said("x"), model_config=config)))
    assert "model_config" in (only(report).note or "")
    assert db.get_session("a")["model_config"] is None  # type: ignore[index]


def test_what_the_store_lacks_is_added_at_the_end(db: SessionDB, write: Write) -> None:
    spoken = [said(f"m{place}", LONG_AGO + place) for place in range(5)]
    db.store.transfer.import_file(write(session("a", *spoken[:2], input_tokens=1)))
    report = db.store.transfer.import_file(
        write(session("a", *spoken, input_tokens=9, ended_at=LONG_AGO + 9))
    )
    assert only(report).outcome is Outcome.EXTENDED
    assert only(report).messages == 3
    assert [each.content for each in db.store.messages.of("a")] == ["m0", "m1", "m2", "m3", "m4"]
    found = db.store.sessions.get("a")
    assert (found.message_count, found.input_tokens, found.ended_at) == (5, 9, LONG_AGO + 9)
    shorter = db.store.transfer.import_file(write(session("a", *spoken[:3])))
    assert only(shorter).outcome is Outcome.PRESENT
    assert db.store.sessions.get("a").message_count == 5


def test_another_conversation_under_the_same_id_is_left_alone(db: SessionDB, write: Write) -> None:
    add(db, "a", "mine")
    for spoken in ([said("theirs")], [said("theirs"), said("more")], [said("mine", 5)]):
        found = only(db.store.transfer.import_file(write(session("a", *spoken))))
        assert found.outcome is Outcome.SKIPPED
        assert "a different conversation" in (found.note or "")
    assert [each.content for each in db.store.messages.of("a")] == ["mine"]


def test_the_same_session_twice_in_a_file(db: SessionDB, write: Write) -> None:
    report = db.store.transfer.import_file(
        write(session("a", said("x")), session("a", said("x")), session("a", said("x"), said("y")))
    )
    assert [each.outcome for each in report.sessions] == [
        Outcome.ADDED,
        Outcome.PRESENT,
        Outcome.EXTENDED,
    ]


def test_the_plan_tells_what_would_happen(write: Write) -> None:
    lines = [json.dumps(session("a", said("x"), parent_session_id="p")), "nonsense"]
    planned = import_file.plan(iter(lines), "in.jsonl")
    assert planned.kind is Kind.EXPORT
    assert [(each.session_id, each.parent_id, each.messages) for each in planned.sessions] == [
        ("a", "p", 1)
    ]
    assert [each.line for each in planned.skipped] == [2]


def test_a_session_is_there_as_a_whole_or_not_at_all(
    db: SessionDB, path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(session("a", said("x")), session("b", said("y"), said("z")))
    real = messages.insert_row

    def interrupted(tx: Any, session_id: str, stored: Any, message_id: Any = None) -> int:
        if stored["content"] == "z":
            raise KeyboardInterrupt
        return real(tx, session_id, stored, message_id)

    monkeypatch.setattr(messages, "insert_row", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.store.transfer.import_file(file)
    monkeypatch.undo()
    assert db.get_session("b") is None
    assert db.message_count() == 1
    assert outcomes(db.store.transfer.import_file(file)) == [
        ("a", Outcome.PRESENT),
        ("b", Outcome.ADDED),
    ]
    assert is_whole(path)


def test_trouble_with_the_database_is_raised(
    db: SessionDB, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: Any, **__: Any) -> None:
        raise DatabaseLocked("locked")

    monkeypatch.setattr(session_rows, "create", locked)
    with pytest.raises(DatabaseLocked):
        db.store.transfer.import_file(write(session("a")))


def test_a_store_that_is_read_only_says_so(db: SessionDB, path: Path, write: Write) -> None:
    with SessionDB(path, read_only=True) as reader, pytest.raises(DatabaseReadOnly):
        reader.store.transfer.import_file(write(session("a")))


def test_a_file_that_changes_meanwhile_is_noticed(db: SessionDB, write: Write) -> None:
    # Far enough apart that no buffer holds the last line when the first is read.
    file = write(session("a"), session("far", said("x" * 100_000)), session("b", said("y")))

    def change(done: int, total: int) -> None:
        file.write_text(file.read_text().replace('"b"', '"z"'))

    report = db.store.transfer.import_file(file, progress=change)
    assert report.sessions[2].outcome is Outcome.SKIPPED
    assert "The file changed while" in (report.sessions[2].note or "")


def test_ids_of_messages_never_take_a_place_or_exhaust_them(db: SessionDB, write: Write) -> None:
    highest = 2**63 - 1
    db.store.transfer.import_file(
        write(
            session("a", said("x", id=highest)),
            session("b", said("x", id=7), said("y", id=7)),
            session("c", said("x", id="text"), said("y", id=True), said("z", id=-1)),
        )
    )
    assert db.message_count() == 6
    add(db, "after", "still room")
    assert [each.content for each in db.store.messages.of("b")] == ["x", "y"]


def test_content_cannot_pretend_to_be_stored_json(db: SessionDB, write: Write) -> None:
    strange = ["\x00json:[1]", "\x00json:{", 5, True, {"a": [None]}, [], "", None]
    db.store.transfer.import_file(write(session("a", *map(said, strange))))
    assert [each.content for each in db.store.messages.of("a")] == strange


def test_a_chain_keeps_its_shape(db: SessionDB, tmp_path: Path) -> None:
    add_chain(db, ["one", "two", "three"])
    db.store.transfer.export_file(tmp_path / "out.jsonl")
    with SessionDB(tmp_path / "other.db") as other:
        other.store.transfer.import_file(tmp_path / "out.jsonl")
        assert other.get_compression_tip("one") == "three"
        assert len(other.store.lists.conversations()) == 1


def test_a_file_of_a_newer_hermes_takes_sessions(tmp_path: Path, write: Write) -> None:
    newer.make(tmp_path / "newer.db")
    before = tmp_path / "newer.db"
    rows = [
        session("b", said("y"), parent_session_id="a", cwd="/srv", archived=1),
        session("a", said("x"), model="m", input_tokens=5, estimated_cost_usd=0.5),
    ]
    with SessionDB(before) as db:
        report = db.store.transfer.import_file(write(*rows))
        assert report.count(Outcome.ADDED) == 2
        assert report.unknown_keys == ("archived",)
        assert db.store.transfer.import_file(write(*rows)).count(Outcome.PRESENT) == 2
        found = db.get_session("a")
    assert found is not None
    assert (found["input_tokens"], found["estimated_cost_usd"]) == (5, 0.5)
    reader = newer.Newer(before)
    assert reader.rows("SELECT active, compacted FROM messages") == [(1, 0), (1, 0)]
    assert reader.rows("SELECT session_id, model, input_tokens FROM session_model_usage") == [
        ("a", "m", 5)
    ]
    assert reader.rows("SELECT version FROM schema_version") == [(newer.VERSION,)]
    reader.close()


def test_a_session_being_compressed_is_extended(tmp_path: Path, write: Write) -> None:
    newer.make(tmp_path / "newer.db")
    writer = newer.Newer(tmp_path / "newer.db")
    writer.session("a")
    writer.put("compression_locks", session_id="a", holder="someone", expires_at=9e12)
    writer.close()
    with SessionDB(tmp_path / "newer.db") as db:
        report = db.store.transfer.import_file(
            write(session("a", said("x")), session("b", said("y")))
        )
    assert outcomes(report) == [("a", Outcome.EXTENDED), ("b", Outcome.ADDED)]
