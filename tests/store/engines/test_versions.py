"""Files of every schema since 12: browsed, searched, shown, exported, changed; the schema stays."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_store import SessionDB
from hermes_store.engines.sqlite.cjk_stand_in import STALE_KEY
from hermes_store.records.listing import Hidden, View
from hermes_store.records.message import State
from hermes_store.records.relation_to_parent import Edge
from tests.cli.command import hermes
from tests.store import versions
from tests.support import LONG_AGO

NOW = LONG_AGO + 5_000


class Program:
    """The program that the file belongs to: it writes what its columns can hold."""

    def __init__(self, path: Path) -> None:
        self._con = versions.connect(path)
        self.columns = {
            table: {row[1] for row in self._con.execute(f"PRAGMA table_info({table})")}
            for table in ("sessions", "messages")
        }

    def put(self, table: str, **row: Any) -> None:
        """Insert a row; what the file has no column for is left out."""
        known = {name: value for name, value in row.items() if name in self.columns[table]}
        marks = ", ".join("?" * len(known))
        self._con.execute(
            f"INSERT INTO {table}({', '.join(known)}) VALUES ({marks})", tuple(known.values())
        )

    def session(self, name: str, at: float, **more: Any) -> None:
        row = {"id": name, "source": "cli", "started_at": at, "message_count": 2} | more
        self.put("sessions", **row)

    def say(self, name: str, text: str, at: float, role: str = "user", **more: Any) -> None:
        row = {"session_id": name, "role": role, "content": text, "timestamp": at} | more
        self.put("messages", **row)

    def value(self, sql: str) -> Any:
        return self._con.execute(sql).get

    def close(self) -> None:
        self._con.close()


def fill(path: Path) -> None:
    """Write an ordinary, a compacted, a branched, a reset and some hidden conversations."""
    program = Program(path)
    program.session("plain", LONG_AGO, title="Plain talk", cwd="/src/shop", git_branch="main",
                    git_repo_root="/src/shop")  # fmt: skip
    program.say("plain", "about a zebra in src/main.py", LONG_AGO + 1)
    program.say("plain", "部署完成", LONG_AGO + 2, "assistant")
    program.session("compacted", LONG_AGO + 100, title="Compacted", pinned=1, last_read_at=1.0)
    keeps = {"active", "compacted"} <= program.columns["messages"]
    for number in range(4):
        told = LONG_AGO + 101 + number
        old: dict[str, Any] = {"active": 0, "compacted": 1} if number < 3 else {}
        if keeps or not old:
            program.say("compacted", f"turn {number}", told, **old)
    if keeps:
        program.say("compacted", "taken back", LONG_AGO + 110, active=0)
    program.say("compacted", "unseen", LONG_AGO + 111, display_kind="hidden")
    program.session("first", LONG_AGO + 200, ended_at=LONG_AGO + 260, end_reason="session_reset",
                    session_key="k")  # fmt: skip
    program.say("first", "before the reset", LONG_AGO + 201)
    program.session("second", LONG_AGO + 300, parent_session_id="first", session_key="k",
                    model_config=json.dumps({"_reset_from": "first"}))  # fmt: skip
    program.say("second", "after the reset", LONG_AGO + 301)
    program.session("once", LONG_AGO + 400, source="oneshot")
    program.say("once", "a single question", LONG_AGO + 401)
    program.session("unseen", LONG_AGO + 500, hidden=1)
    program.say("unseen", "in the dark", LONG_AGO + 501)
    program.close()


@pytest.fixture(params=versions.VERSIONS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A home folder with a file of each version; in the end its schema is what it was."""
    path = tmp_path / "state.db"
    versions.make(path, request.param)
    fill(path)
    before = versions.schema_text(path)
    yield tmp_path
    assert versions.schema_text(path) == before
    assert before[1] == request.param
    con = versions.connect(path)
    assert con.execute("PRAGMA integrity_check").get == "ok"
    assert con.execute("PRAGMA foreign_key_check").fetchall() == []
    con.close()


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "state.db"


def _has(path: Path, table: str, column: str) -> bool:
    program = Program(path)
    program.close()
    return column in program.columns[table]


def test_it_is_browsed(path: Path) -> None:
    with SessionDB(path, read_only=True) as db:
        listed = list(db.store.lists.entries(View(), now=NOW))
        hidden = _has(path, "sessions", "hidden")
        expected = ["second", "first", "compacted", "plain"]
        if _has(path, "sessions", "pinned"):
            expected = ["compacted", "second", "first", "plain"]
        assert listed == (expected if hidden else ["unseen", *expected])
        counts = {Hidden.ONESHOT: 1} | ({Hidden.HIDDEN: 1} if hidden else {})
        assert db.store.lists.hidden_counts(View()) == counts
        rows = {row.id: row for row in db.store.lists.rows(expected, now=NOW)}
        assert rows["second"].edge is Edge.RESET
        placed = _has(path, "sessions", "git_repo_root")
        where = _has(path, "sessions", "cwd")
        assert rows["plain"].place.workspace == ("/src/shop" if placed or where else None)
        assert rows["compacted"].pinned is _has(path, "sessions", "pinned")
        assert rows["compacted"].unread is _has(path, "sessions", "last_read_at")


def test_it_is_searched(path: Path) -> None:
    with SessionDB(path, read_only=True) as db:
        for text in ("zebra", "src/main.py", "ebr", "部署", "taken"):
            found = [hit.session_id for hit in db.store.search.run(text).hits]
            assert found == ([] if text == "taken" else ["plain"]), text
        assert {hit.session_id for hit in db.store.search.run("turn").hits} == {"compacted"}


def test_compacted_turns_are_shown_and_exported(path: Path, folder: Path) -> None:
    keeps = _has(path, "messages", "compacted")
    hides = _has(path, "messages", "display_kind")
    turns = [f"turn {number}" for number in range(4)] if keeps else ["turn 3"]
    read = turns if hides else [*turns, "unseen"]
    with SessionDB(path, read_only=True) as db:
        page = db.store.transcripts.outline("compacted")
        assert [each.text for each in db.store.messages.by_id(page.message_ids)] == read
        stretches = [(each.first, each.count, each.state) for each in page.stretches]
        assert stretches == ([(0, 3, State.SUMMARISED)] if keeps else [])
        assert [each["content"] for each in db.get_messages("compacted")] == ["turn 3", "unseen"]
        sink = io.StringIO()
        db.store.transfer.export(sink, "markdown", ["compacted"])
        assert ("summarised, no longer sent to the model" in sink.getvalue()) is keeps
        assert sink.getvalue().count("turn ") == len(turns)
    shown = hermes(folder, "sessions", "show", "compacted").out
    assert ("summarised, no longer sent to the model" in shown) is keeps
    assert ("left out: 1 taken back" in shown) is keeps
    if keeps:
        everything = hermes(folder, "sessions", "show", "compacted", "--all").out
        assert "taken back with /undo" in everything


def test_it_is_renamed_and_written_to(path: Path) -> None:
    with SessionDB(path) as db:
        assert db.set_session_title("plain", "Another name")
        added = db.append_message("plain", "user", "one more", platform_message_id="p1")
        db.update_token_counts("plain", input_tokens=5, model="m", billing_provider="b")
        row = next(each for each in db.get_messages("plain") if each["id"] == added)
        known = _has(path, "messages", "platform_message_id")
        assert row.get("platform_message_id") == ("p1" if known else None)
        session = db.get_session("plain")
        assert session is not None
        assert session["title"] == "Another name"
        assert session.get("title_source") == (
            "user" if _has(path, "sessions", "title_source") else None
        )
        if _has(path, "sessions", "last_activity_at"):
            assert session["last_activity_at"] == row["timestamp"]


def test_it_is_deleted_from_and_restored_into(path: Path) -> None:
    program = Program(path)
    before = program.value("SELECT COUNT(*) FROM messages")
    program.close()
    with SessionDB(path) as db:
        for name in ("compacted", "first"):
            gone = db.store.trash.delete_conversation(name, force=True)
            assert gone.session_ids == (name,)  # not what began after a reset
        assert db.get_session("second") is not None
        while db.store.trash.list():
            assert not db.store.trash.restore().skipped
    program = Program(path)
    assert program.value("SELECT COUNT(*) FROM messages") == before
    assert program.value("SELECT parent_session_id FROM sessions WHERE id = 'second'") == "first"
    if "compacted" in program.columns["messages"]:
        assert program.value("SELECT COUNT(*) FROM messages WHERE compacted = 1") == 3
    program.close()


def test_a_message_that_the_chinese_index_misses_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    versions.make(path, 30)
    fill(path)
    with SessionDB(path) as db:
        db.set_session_title("plain", "Only a name")
        assert db.get_meta(STALE_KEY) is None
        db.append_message("plain", "user", "部署再次")
        assert db.get_meta(STALE_KEY) == "1"
        gone = db.store.trash.delete_conversation("plain", permanently=True, force=True)
        assert gone.left is not None and "messages_fts_cjk" in gone.left
        db.create_session("plain", "cli")
    # The program itself still writes, with its own tokenizer.
    program = Program(path)
    program.say("plain", "又一次", LONG_AGO + 900)
    program.close()


def test_a_prompt_is_stored_once_and_goes_with_its_last_session(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    versions.make(path, 26)
    with SessionDB(path) as db:
        for name in "ab":
            db.create_session(name, "cli", system_prompt="be kind")
        session = db.get_session("a")
        assert session is not None and session["system_prompt"] == "be kind"
        program = Program(path)
        count = "SELECT COUNT(*) FROM system_prompts"
        assert program.value(count) == 1
        assert program.value("SELECT COUNT(*) FROM sessions WHERE system_prompt IS NULL") == 2
        db.delete_session("a")
        assert program.value(count) == 1
        db.store.trash.delete_conversation("b", force=True)
        assert program.value(count) == 0
        db.store.trash.restore()
        session = db.get_session("b")
        assert session is not None and session["system_prompt"] == "be kind"
        program.close()


def test_two_routes_to_a_model_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    versions.make(path, 22)
    with SessionDB(path) as db:
        db.create_session("a", "cli", model="m")
        for url, mode in (("https://one", "paid"), ("https://two", "paid"), ("https://two", "")):
            for _ in range(2):
                db.update_token_counts("a", input_tokens=5, api_call_count=1, model="m",
                                       billing_provider="b", billing_base_url=url,
                                       billing_mode=mode)  # fmt: skip
    con = apsw.Connection(str(path))
    rows = con.execute(
        "SELECT billing_base_url, billing_mode, input_tokens, api_call_count "
        "FROM session_model_usage ORDER BY 1, 2"
    ).fetchall()
    con.close()
    # Without a mode, the session's own counts.
    assert rows == [("https://one", "paid", 10, 2), ("https://two", "paid", 20, 4)]
