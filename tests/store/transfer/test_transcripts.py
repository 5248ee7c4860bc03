"""Transcripts of the gateway: one message on a line, the session in the name of the file."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.transfer import Outcome
from tests.support import add

ID = "20260301_142530_9f3a61c2"
META = {
    "role": "session_meta",
    "tools": [{"name": "terminal"}],
    "model": "some/model",
    "platform": "telegram",
    "timestamp": "2026-03-01T14:25:30.5",
}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "List the files.", "timestamp": "2026-03-01T14:25:31"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}],
        "reasoning": "Look first.",
        "timestamp": "2026-03-01T14:25:32",
    },
    {
        "role": "tool",
        "name": "terminal",
        "tool_call_id": "c1",
        "content": "a\nb",
        "timestamp": "2026-03-01T14:25:33",
    },
    {"role": "assistant", "content": "Two: a and b.", "timestamp": "2026-03-01T14:25:34Z"},
]


def write(folder: Path, *lines: Any, end: str = "\n") -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / f"{ID}.jsonl").write_text("\n".join(texts) + end)
    return folder / f"{ID}.jsonl"


def test_a_transcript_becomes_a_session(db: SessionDB, tmp_path: Path) -> None:
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert (found.session_id, found.outcome, found.messages) == (ID, Outcome.ADDED, 4)
    session = db.store.sessions.get(ID)
    assert (session.source, session.model) == ("telegram", "some/model")
    assert session.started_at == datetime(2026, 3, 1, 14, 25, 30, 500_000).timestamp()
    assert (session.message_count, session.tool_call_count) == (4, 1)
    said = db.store.messages.of(ID)
    assert [each.role for each in said] == ["user", "assistant", "tool", "assistant"]
    assert said[0].timestamp == datetime(2026, 3, 1, 14, 25, 31).timestamp()
    assert said[3].timestamp == datetime.fromisoformat("2026-03-01T14:25:34+00:00").timestamp()
    assert said[1].reasoning == "Look first."
    assert (said[2].tool_name, said[2].tool_call_id) == ("terminal", "c1")


def test_only_the_missing_tail_is_added(db: SessionDB, tmp_path: Path) -> None:
    db.store.transfer.import_file(write(tmp_path, META, *TALK[:2]))
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK, META)).sessions
    assert (found.outcome, found.messages) == (Outcome.EXTENDED, 2)
    (again,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert again.outcome is Outcome.PRESENT
    assert db.store.sessions.get(ID).message_count == 4
    assert [each.content for each in db.store.messages.of(ID)] == [each["content"] for each in TALK]


def test_the_database_may_have_it_at_other_moments(db: SessionDB, tmp_path: Path) -> None:
    add(db, ID)
    db.append_message(ID, "session_meta", "noted")
    db.append_message(ID, "user", "List the files.")
    db.append_message(ID, "assistant", None, tool_calls=TALK[1]["tool_calls"])
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert (found.outcome, found.messages) == (Outcome.EXTENDED, 2)
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert found.outcome is Outcome.PRESENT
    assert db.store.sessions.get(ID).message_count == 5


def test_another_conversation_is_left_alone(db: SessionDB, tmp_path: Path) -> None:
    add(db, ID, "Something else.")
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert found.outcome is Outcome.SKIPPED
    assert db.store.sessions.get(ID).message_count == 1


def test_a_last_line_that_is_cut_off_is_left_out(db: SessionDB, tmp_path: Path) -> None:
    torn = json.dumps(TALK[3])[:-20]
    (found,) = db.store.transfer.import_file(
        write(tmp_path, META, *TALK[:3], torn, end="")
    ).sessions
    assert (found.outcome, found.messages) == (Outcome.ADDED, 3)
    assert found.note == "Line 5 is cut off: the file ends in the middle of it. It was left out."
    (found,) = db.store.transfer.import_file(write(tmp_path, META, *TALK)).sessions
    assert (found.outcome, found.messages) == (Outcome.EXTENDED, 1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Line 3 is not JSON"),
        ({"content": "x", "timestamp": 1}, "Line 3 has no role"),
        ({"role": "user", "timestamp": "soon"}, "Line 3 has an invalid time: 'soon'"),
        ({"role": "user", "timestamp": 1, "reasoning": {}}, "Line 3 has a reasoning"),
    ],
)
def test_a_fault_in_the_middle_refuses_the_session(
    db: SessionDB, tmp_path: Path, line: Any, reason: str
) -> None:
    (found,) = db.store.transfer.import_file(
        write(tmp_path, META, TALK[0], line, *TALK[1:])
    ).sessions
    assert (found.session_id, found.outcome) == (ID, Outcome.SKIPPED)
    assert reason in (found.note or "")
    assert db.session_count() == 0


def test_moments_that_are_missing_are_presumed(db: SessionDB, tmp_path: Path) -> None:
    timeless = [{"role": "user", "content": str(place)} for place in range(3)]
    db.store.transfer.import_file(write(tmp_path, META, *timeless))
    assert {each.timestamp for each in db.store.messages.of(ID)} == {
        db.store.sessions.get(ID).started_at
    }
    (found,) = db.store.transfer.import_file(write(tmp_path, *timeless)).sessions
    assert found.outcome is Outcome.SKIPPED
    assert "no timestamp" in (found.note or "")


def test_without_a_first_note_the_messages_have_to_do(db: SessionDB, tmp_path: Path) -> None:
    (found,) = db.store.transfer.import_file(write(tmp_path, *TALK)).sessions
    assert found.outcome is Outcome.ADDED
    assert db.store.sessions.get(ID).source == "unknown"
    assert db.store.sessions.get(ID).started_at == db.store.messages.of(ID)[0].timestamp


def test_a_note_alone_is_an_empty_session(db: SessionDB, tmp_path: Path) -> None:
    (found,) = db.store.transfer.import_file(write(tmp_path, META)).sessions
    assert (found.outcome, found.messages) == (Outcome.ADDED, 0)
