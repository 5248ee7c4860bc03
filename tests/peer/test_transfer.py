"""Exports of the real Hermes come in whole, and what goes out again is what it would write."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.records.transfer import Outcome
from tests.store import processes

pytestmark = pytest.mark.peer

SPEAK = """
import os, sys, time
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(db_path=Path(os.environ["HERMES_HOME"]) / "state.db")
call = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
for number in range(4):
    name = f"2026010{number + 1}_120000_abcdef"
    parent = f"2026010{number}_120000_abcdef" if number else None
    db.create_session(name, "cli", model="m", model_config={"n": number}, parent_session_id=parent)
    db.append_message(name, "user", f"größe {number} \\u2028 前回")
    db.append_message(name, "user", [{"type": "text", "text": "schön"}, {"type": "image_url"}])
    db.append_message(name, "assistant", "", tool_calls=[call], reasoning="hm",
                      reasoning_details=[{"type": "text"}])
    db.append_message(name, "tool", "done", tool_name="terminal", tool_call_id="c1")
    db.update_token_counts(name, input_tokens=5, estimated_cost_usd=0.5, model="m")
    db.set_session_title(name, f"Title {number}")
    if number < 3:
        db.end_session(name, "compression")
db.close()
"""


@pytest.fixture(params=["hermes13", "hermes19"])
def real(request: pytest.FixtureRequest) -> str:
    """The Python of each Hermes in turn."""
    return str(request.getfixturevalue(request.param))


def _exported(python: str, home: Path, target: Path) -> list[dict[str, Any]]:
    command = [str(Path(python).with_name("hermes")), "sessions", "export", str(target)]
    environment = os.environ | {"HERMES_HOME": str(home)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    return [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n") if line]


def test_an_export_of_the_real_hermes_comes_in_whole(tmp_path: Path, home: Path, real: str) -> None:
    home.mkdir()
    processes.run(SPEAK, python=real)
    theirs = _exported(real, home, tmp_path / "theirs.jsonl")
    assert len(theirs) == 4
    with SessionDB(tmp_path / "ours.db") as db:
        report = db.store.transfer.import_file(tmp_path / "theirs.jsonl")
        assert report.count(Outcome.ADDED) == 4
        assert {each.note for each in report.sessions} == {None}
        assert db.store.transfer.import_file(tmp_path / "theirs.jsonl").count(Outcome.PRESENT) == 4
        assert db.get_compression_tip("20260101_120000_abcdef") == "20260104_120000_abcdef"
        for row in theirs:
            ours = db.export_session(row["id"])
            assert ours is not None
            assert {name: row.get(name) for name in ours if name != "messages"} == {
                name: value for name, value in ours.items() if name != "messages"
            }
            assert [
                {name: each[name] for name in ours["messages"][0]} for each in row["messages"]
            ] == (ours["messages"])


def test_an_export_of_this_store_is_what_the_real_one_writes(
    tmp_path: Path, home: Path, hermes13: str
) -> None:
    home.mkdir()
    processes.run(SPEAK, python=hermes13)
    theirs = _exported(hermes13, home, tmp_path / "theirs.jsonl")
    sink = io.StringIO()
    with SessionDB(home / "state.db", read_only=True) as db:
        db.store.transfer.export(sink)
    ours = [json.loads(line) for line in sink.getvalue().split("\n") if line]
    for row in theirs:
        del row["last_active"]
    assert ours == theirs
