"""Files with faults: every line that cannot be imported has a reason, the others come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput
from hermes_store.records.transfer import Outcome
from tests.store.transfer.lines import Write, only, outcomes, said, session
from tests.support import raw

BAD = {
    "{": "is not JSON",
    "[1]": "is not a JSON object",
    '{"id": "b"}': "no list of messages",
    '{"id": "", "messages": []}': "no session id",
    '{"id": 7, "messages": []}': "no session id",
    '{"messages": []}': "no session id",
    '{"id": "b", "messages": {}}': "no list of messages",
    '{"id": "b", "messages": []}': "no start time",
    '{"id": "b", "started_at": "soon", "messages": []}': "an invalid time",
    '{"id": "b", "started_at": true, "messages": []}': "started_at that is not a number",
    '{"id": "b", "started_at": 1, "source": 5, "messages": []}': "source that is not text",
    '{"id": "b", "started_at": 1, "input_tokens": 1.5, "messages": []}': "not a whole number",
    '{"id": "b", "started_at": 1, "input_tokens": 1e30, "messages": []}': "not a whole number",
    '{"id": "b", "started_at": 1e999, "messages": []}': "not a number",
    '{"id": "b", "started_at": 1, "messages": [5]}': "Message 1 of line 2 is not a JSON object",
    '{"id": "b", "started_at": 1, "messages": [{"timestamp": 1}]}': "has no role",
    '{"id": "b", "started_at": 1, "messages": [{"role": "user"}]}': "has no timestamp",
    '{"id": "b", "started_at": 1, "messages": [{"role": 1, "timestamp": 1}]}': "role that is not",
    '{"id": "b", "x": ' + "[" * 99_999: "nested too deeply",
    '{"id": "b", "started_at": ' + "9" * 5_000 + "}": "is not JSON",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=range(len(BAD)))
def test_a_bad_line_is_skipped_with_a_reason(
    db: SessionDB, write: Write, line: str, reason: str
) -> None:
    report = db.store.transfer.import_file(
        write(session("a", said("x")), line, "", session("c", said("y")))
    )
    assert [each.line for each in report.sessions] == [1, 2, 4]
    skipped = report.sessions[1]
    assert skipped.outcome is Outcome.SKIPPED
    assert reason in (skipped.note or "")
    assert "ine 2" in (skipped.note or "")
    assert report.count(Outcome.ADDED) == 2
    assert not db.get_session("b")


def test_bytes_that_are_no_text_are_reported(db: SessionDB, write: Write) -> None:
    file = write(session("a", said("x")))
    file.write_bytes(file.read_bytes() + b'{"id": "\xff\xfe", "messages": []}\n')
    assert "not UTF-8" in (db.store.transfer.import_file(file).sessions[1].note or "")


def test_a_mark_at_the_beginning_does_not_matter(db: SessionDB, write: Write) -> None:
    file = write(session("a", said("x")))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert only(db.store.transfer.import_file(file)).outcome is Outcome.ADDED


def test_a_last_line_that_is_cut_off_is_reported(db: SessionDB, write: Write) -> None:
    torn = json.dumps(session("b", said("y")))[:-9]
    report = db.store.transfer.import_file(write(session("a", said("x")), torn, end=""))
    assert outcomes(report) == [("a", Outcome.ADDED), (None, Outcome.SKIPPED)]
    assert "Line 2 is cut off" in (report.sessions[1].note or "")


def test_unknown_keys_are_named_once(db: SessionDB, write: Write) -> None:
    spoken = said("x", mood="good", active=1)
    report = db.store.transfer.import_file(
        write(*(session(each, spoken, cwd="/", last_active=1, **{"e\x1b": 1}) for each in "abc"))
    )
    assert report.unknown_keys == ("e␛", "messages.mood")
    assert report.count(Outcome.ADDED) == 3


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", '{"a": 1}\n', "\x00" * 99, "[\n{\n}\n]"])
def test_a_file_of_another_kind_is_refused(db: SessionDB, tmp_path: Path, text: str) -> None:
    (tmp_path / "in.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match="neither an export nor a transcript"):
        db.store.transfer.import_file(tmp_path / "in.jsonl")


def test_a_missing_file_or_a_folder_is_a_sentence(db: SessionDB, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no file"):
        db.store.transfer.import_file(tmp_path / "gone.jsonl")
    with pytest.raises(InvalidInput, match="is a folder"):
        db.store.transfer.import_file(tmp_path)


def test_a_session_that_the_database_refuses_costs_only_itself(
    db: SessionDB, write: Write, path: Path
) -> None:
    with raw(path) as con:
        con.execute(
            "CREATE TRIGGER no_b BEFORE INSERT ON messages WHEN new.session_id = 'b' "
            "BEGIN SELECT RAISE(ABORT, 'b is not welcome'); END"
        )
    report = db.store.transfer.import_file(
        write(*(session(name, said("x")) for name in ("a", "b", "c")))
    )
    assert outcomes(report) == [
        ("a", Outcome.ADDED), ("b", Outcome.SKIPPED), ("c", Outcome.ADDED)
    ]  # fmt: skip
    assert "b is not welcome" in (report.sessions[1].note or "")
    assert db.get_session("b") is None
