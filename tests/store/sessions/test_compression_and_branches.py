"""Compressing, branching, taking back: one transaction each, whoever else is at it."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput, SessionInUse, SessionNotFound, TitleTaken
from hermes_store.records.message import SUMMARY_MARK
from hermes_store.records.relation_to_parent import Edge
from hermes_store.sessions.compression import cut
from hermes_store.sessions.start_child_session import Turn
from tests.store import newer, processes
from tests.support import LONG_AGO, add, found, is_whole, raw

NOW = LONG_AGO + 5_000
CALLS = [{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}},
         {"id": "c2", "function": {"name": "terminal", "arguments": "{}"}}]  # fmt: skip


def _talk(db: SessionDB, session_id: str = "old", title: str | None = "my project") -> None:
    """Write a session: a question, an answer with two tools, a question, an answer."""
    db.store.sessions.start(
        session_id,
        "telegram",
        model="opus",
        model_config={"temperature": 0.5, "_delegate_from": "__orphaned__"},
        user_id="u1",
        system_prompt="Be kind.",
        started_at=LONG_AGO,
    )
    said: tuple[dict[str, Any], ...] = (
        {"role": "user", "content": "first question"},
        {"role": "assistant", "content": "", "tool_calls": CALLS, "reasoning": "hm"},
        {"role": "tool", "content": "out 1", "tool_call_id": "c1", "tool_name": "terminal"},
        {"role": "tool", "content": "out 2", "tool_call_id": "c2", "tool_name": "terminal"},
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": [{"type": "text", "text": "second question"}]},
        {"role": "assistant", "content": "second answer"},
    )
    for place, message in enumerate(said, 1):
        db.append_message(session_id, **message, timestamp=LONG_AGO + place)
    if title:
        db.set_session_title(session_id, title)


def _texts(db: SessionDB, session_id: str) -> list[str]:
    return [message.text for message in db.store.messages.of(session_id)]


def _assert_counted(db: SessionDB, session_id: str) -> None:
    said = db.get_messages(session_id)
    session = db.store.sessions.get(session_id)
    assert session.message_count == len(said)
    assert session.tool_call_count == sum(len(each["tool_calls"] or ()) for each in said)


# -- compressing -------------------------------------------------------------------------------


def test_a_continuation_has_all_it_needs(db: SessionDB, path: Path) -> None:
    _talk(db)
    continued = db.store.lineage.compress("old", summary=" All is well. ", keep_last=2, now=NOW)
    old = db.store.sessions.get("old")
    assert (old.ended_at, old.end_reason, old.message_count) == (NOW, "compression", 7)
    assert (continued.parent_session_id, continued.started_at) == ("old", NOW)
    assert (continued.ended_at, continued.title) == (None, "my project #2")
    assert (continued.source, continued.model, continued.user_id) == ("telegram", "opus", "u1")
    assert continued.model_config == {"temperature": 0.5}
    row = db.get_session(continued.id)
    assert row is not None and row["system_prompt"] == "Be kind."
    said = db.store.messages.of(continued.id)
    assert [message.role for message in said] == ["user", "user", "assistant"]
    assert said[0].text == f"{SUMMARY_MARK}\n\nAll is well."
    assert said[1].content == [{"type": "text", "text": "second question"}]
    # In order of time as of ids, for programs that sort by either.
    assert [message.timestamp - LONG_AGO for message in said] == [6, 6, 7]
    _assert_counted(db, continued.id)
    assert db.store.lineage.tree("old").root.children[0].edge is Edge.COMPRESSION
    assert [each.root_id for each in db.store.lists.conversations()] == ["old"]
    assert found(db, "second") == ["old", "old", continued.id, continued.id]
    assert is_whole(path)


def test_tools_keep_their_questions(db: SessionDB) -> None:
    _talk(db)
    continued = db.store.lineage.compress("old", summary="s", keep_last=4, now=NOW)
    kept = db.get_messages(continued.id)[1:]
    assert [each["role"] for each in kept] == [
        "assistant", "tool", "tool", "assistant", "user", "assistant"
    ]  # fmt: skip
    assert kept[0]["tool_calls"] == CALLS and kept[0]["reasoning"] == "hm"
    assert [each["tool_call_id"] for each in kept[1:3]] == ["c1", "c2"]
    _assert_counted(db, continued.id)


def test_what_the_summary_cannot_know_of_is_kept(db: SessionDB) -> None:
    _talk(db)
    known = db.store.messages.newest_id("old")
    assert db.store.messages.newest_id("nobody") == 0
    for text in ("one more", "and another", "and a third"):
        db.append_message("old", "user", text)
    continued = db.store.lineage.compress(
        "old", summary="s", keep_last=2, summarised_to=known, now=NOW
    )
    assert _texts(db, continued.id)[1:] == ["one more", "and another", "and a third"]
    _assert_counted(db, continued.id)


def test_nothing_need_be_kept(db: SessionDB) -> None:
    _talk(db, title=None)
    continued = db.store.lineage.compress("old", summary="s", keep_last=0, new_id="on", now=NOW)
    assert (continued.id, continued.title, continued.message_count) == ("on", None, 1)
    assert db.store.messages.of("on")[0].timestamp == NOW


def test_a_name_finds_the_newest(db: SessionDB) -> None:
    _talk(db)
    first = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
    db.append_message(first.id, "user", "more")
    second = db.store.lineage.compress(first.id, summary="s2", keep_last=2, now=NOW + 100)
    assert second.title == "my project #3"
    for name in ("my project", "my project #2", "old", first.id):
        assert db.store.sessions.find_to_resume(name).id == second.id
    assert [each.root_id for each in db.store.lists.conversations()] == ["old"]


def test_a_title_of_full_length_goes_on(db: SessionDB) -> None:
    _talk(db, title="x" * 100)
    continued = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
    assert continued.title is not None
    assert continued.title.endswith(" #2") and len(continued.title) == 100


def test_a_branch_stays_one_when_its_parent_is_compressed(db: SessionDB) -> None:
    _talk(db)
    branch = db.store.lineage.branch("old", now=NOW)
    db.reopen_session("old")
    db.store.lineage.compress("old", summary="s", keep_last=2, new_id="on", now=NOW + 10)
    edges = {each.session.id: each.edge for each in db.store.lineage.tree("old").root.children}
    assert edges["on"] is Edge.COMPRESSION and edges[branch.id] is Edge.BRANCH


def test_old_branches_stay_branches(db: SessionDB) -> None:
    _talk(db)
    db.end_session("old", "branched")
    ended = db.store.sessions.get("old").ended_at
    assert ended is not None
    add(db, "unmarked", "x", parent="old", at=ended + 1)
    db.store.lineage.compress("old", summary="s", keep_last=2, new_id="on", now=ended + 10)
    edges = {each.session.id: each.edge for each in db.store.lineage.tree("old").root.children}
    assert edges == {"unmarked": Edge.BRANCH, "on": Edge.COMPRESSION}


def test_a_continued_branch_is_a_continuation(db: SessionDB) -> None:
    _talk(db)
    copy = db.store.lineage.branch("old", new_id="copy", now=NOW)
    continued = db.store.lineage.compress(
        copy.id, summary="s", keep_last=2, new_id="on", now=NOW + 10
    )
    assert continued.model_config == {"temperature": 0.5}
    assert db.store.sessions.find_to_resume("copy").id == "on"
    assert {each.root_id for each in db.store.lists.conversations()} == {"old", "copy"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"summary": " "}, "is empty"),
        ({"keep_last": -1}, "0 or more"),
        ({"keep_last": 7}, "all of its 7 messages"),
        ({"keep_last": 6}, "all of its 7 messages"),
        ({"new_id": "old"}, "already"),
        ({"now": float("nan")}, "not a valid time"),
    ],
)
def test_what_cannot_be_is_refused(db: SessionDB, change: dict[str, Any], said: str) -> None:
    db.store.sessions.start("old", "cli", started_at=LONG_AGO)
    db.append_message("old", "assistant", None, tool_calls=CALLS[:1])
    db.append_message("old", "tool", "x", tool_call_id="c1")
    for text in "abcde":
        db.append_message("old", "user", text)
    before = db.export_session("old")
    wanted: dict[str, Any] = {"summary": "s", "keep_last": 2, "now": NOW} | change
    with pytest.raises(InvalidInput, match=said):
        db.store.lineage.compress("old", **wanted)
    assert db.export_session("old") == before and db.session_count() == 1
    with pytest.raises(SessionNotFound):
        db.store.lineage.compress("nobody", summary="s", keep_last=2, now=NOW)


def test_a_session_is_compressed_once(db: SessionDB) -> None:
    _talk(db)
    continued = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
    with pytest.raises(SessionInUse, match=f"continues in {continued.id}"):
        db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW + 1)
    with pytest.raises(SessionInUse, match="already been compressed"):
        db.store.messages.undo_exchange("old")
    assert db.session_count() == 2


def _turn(number: int, kind: int) -> Turn:
    """Kinds: 0 user, 1 answer, 2 calls one tool, 3 answers the tool before, 4 a nameless tool."""
    role = ("user", "assistant", "assistant", "tool", "tool")[kind]
    return Turn(number, role, 0.0, None, frozenset())


@given(st.lists(st.integers(0, 4), max_size=25), st.integers(0, 30))
def test_the_cut_never_parts_what_belongs_together(kinds: list[int], keep_last: int) -> None:
    turns: list[Turn] = []
    owner: dict[int, int] = {}
    open_call: tuple[int, str] | None = None
    for number, kind in enumerate(kinds):
        turn = _turn(number, kind)
        if kind == 2:
            name = f"call{number}"
            turn = Turn(number, "assistant", 0.0, None, frozenset({name}), 1)
            open_call = (number, name)
        elif kind == 3 and open_call is not None:
            turn = Turn(number, "tool", 0.0, open_call[1])
            owner[number] = open_call[0]
        turns.append(turn)
    place = cut(turns, keep_last)
    assert len(turns) - place >= min(keep_last, len(turns))
    assert all(owner[number] >= place for number in range(place, len(turns)) if number in owner)
    # No more is kept than that takes: the wish itself, or the owner of something kept.
    wished = max(0, len(turns) - keep_last)
    assert place == wished or turns[place].role != "tool" or place == 0


COMPRESS = """
import sys
from hermes_store import SessionDB
from hermes_store.errors import SessionInUse
db = SessionDB(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    now = float(sys.argv[2])
    print("won", db.store.lineage.compress("old", summary="s", keep_last=2, now=now).id)
except SessionInUse as error:
    print("lost", error)
"""


@pytest.mark.parametrize("round_", range(3))
def test_of_many_processes_one_wins(db: SessionDB, path: Path, round_: int) -> None:
    _talk(db)
    racing = [processes.start(COMPRESS, path, NOW + number) for number in range(5)]
    for process in racing:
        assert processes.heard(process) == "ready"
    for process in racing:
        processes.tell(process)
    ends = [processes.finish(process).strip() for process in racing]
    won = [end.split()[1] for end in ends if end.startswith("won")]
    lost = [end for end in ends if end.startswith("lost")]
    assert len(won) == 1 and len(lost) == 4
    assert all(f"continues in {won[0]}" in end for end in lost)
    assert db.session_count() == 2
    assert db.store.sessions.find_to_resume("my project").id == won[0]
    _assert_counted(db, won[0])


STUCK = """
import sys
from hermes_store import SessionDB
from hermes_store.sessions import compression, start_child_session, titles
db = SessionDB(sys.argv[1])
module = compression if sys.argv[2] == "_keep_branches" else start_child_session
where = getattr(module, sys.argv[2])
def stop(*arguments, **more):
    result = where(*arguments, **more)
    print("midway", flush=True)
    sys.stdin.readline()
    return result
setattr(module, sys.argv[2], stop)
db.store.lineage.compress("old", summary="s", keep_last=2, now=float(sys.argv[3]))
"""


@pytest.mark.parametrize("where", ["_keep_branches", "end", "begin", "inherit", "copy"])
def test_killed_midway_nothing_happened(db: SessionDB, path: Path, where: str) -> None:
    _talk(db)
    before = db.export_session("old")
    process = processes.start(STUCK, path, where, NOW)
    assert processes.heard(process) == "midway"
    processes.kill(process)
    assert db.export_session("old") == before and db.session_count() == 1
    assert is_whole(path)
    assert (
        db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW).title == "my project #2"
    )


ONWARD = """
import sys
from hermes_store import SessionDB
db = SessionDB(sys.argv[1])
current = db.store.sessions.find_to_resume("my project").id
print("ready", flush=True)
while True:
    for number in range(4):
        db.append_message(current, "user", "again")
    now = float(sys.argv[2])
    current = db.store.lineage.compress(current, summary="s", keep_last=2, now=now).id
    print(current, flush=True)
"""


def test_killed_at_any_moment_the_chain_is_whole(db: SessionDB, path: Path) -> None:
    _talk(db)
    draw = random.Random(1)
    acknowledged: set[str] = set()
    for _ in range(10):
        process = processes.start(ONWARD, path, NOW)
        assert processes.heard(process) == "ready"
        acknowledged.add(processes.heard(process))
        time.sleep(draw.uniform(0, 0.05))
        acknowledged |= set(processes.kill(process).split())
    chain = [segment.session_id for segment in db.store.transcripts.outline("old").segments]
    assert acknowledged <= set(chain)
    for number, session_id in enumerate(chain):
        session = db.store.sessions.get(session_id)
        assert session.title == ("my project" if not number else f"my project #{number + 1}")
        assert (session.end_reason == "compression") == (number < len(chain) - 1)
        _assert_counted(db, session_id)
        if number:
            assert _texts(db, session_id)[0].startswith(SUMMARY_MARK)
    assert is_whole(path)


# -- branching ---------------------------------------------------------------------------------


def test_a_branch_is_a_copy_of_its_own(db: SessionDB) -> None:
    _talk(db)
    copy = db.store.lineage.branch("old", now=NOW)
    old = db.store.sessions.get("old")
    assert (old.ended_at, old.end_reason) == (NOW, "branched")
    assert (copy.title, copy.ended_at, copy.started_at) == ("my project #2", None, NOW)
    assert copy.model_config == {"temperature": 0.5, "_branched_from": "old"}
    assert _texts(db, copy.id) == _texts(db, "old")
    assert [m.timestamp for m in db.store.messages.of(copy.id)] == [
        m.timestamp for m in db.store.messages.of("old")
    ]
    _assert_counted(db, copy.id)
    assert db.store.lineage.tree("old").root.children[0].edge is Edge.BRANCH
    assert {each.root_id for each in db.store.lists.conversations()} == {"old", copy.id}
    second = db.store.lineage.branch("old", title="another way", now=NOW + 9)
    assert second.title == "another way" and db.store.sessions.get("old").ended_at == NOW


def test_a_branch_without_a_name_gets_one(db: SessionDB) -> None:
    _talk(db, title=None)
    assert db.store.lineage.branch("old", now=NOW).title == "branch"
    assert db.store.lineage.branch("old", now=NOW + 1).title == "branch #2"


def test_a_branch_that_cannot_be_changes_nothing(db: SessionDB) -> None:
    _talk(db)
    add(db, "other", "x", title="taken")
    db.store.sessions.start("empty", "cli")
    with pytest.raises(TitleTaken):
        db.store.lineage.branch("old", title="taken", now=NOW)
    with pytest.raises(InvalidInput, match="no messages to branch from"):
        db.store.lineage.branch("empty", now=NOW)
    assert db.store.sessions.get("old").ended_at is None and db.session_count() == 3


def test_an_old_segment_can_be_branched_off(db: SessionDB) -> None:
    _talk(db)
    continued = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
    copy = db.store.lineage.branch("old", now=NOW + 10)
    assert db.store.sessions.get("old").end_reason == "compression"
    edges = {each.session.id: each.edge for each in db.store.lineage.tree("old").root.children}
    assert edges == {continued.id: Edge.COMPRESSION, copy.id: Edge.BRANCH}


# -- taking back -------------------------------------------------------------------------------


def test_what_was_taken_back_is_not_counted(db: SessionDB) -> None:
    add(db, "a", "one", "two", "three")
    before = db.store.sessions.get("a").message_count
    gone = db.store.messages.undo_exchange("a")
    assert db.store.sessions.get("a").message_count == before - gone
    assert db.store.upkeep.statistics().messages == before - gone
    assert len(db.get_messages("a", include_inactive=True)) == before - gone


def test_the_last_exchange_is_taken_back(db: SessionDB, path: Path) -> None:
    _talk(db)
    assert db.store.messages.undo_exchange("old") == 2
    _assert_counted(db, "old")
    assert found(db, "second") == []
    assert db.store.messages.undo_exchange("old") == 5
    assert (
        db.store.sessions.get("old").message_count
        == db.store.sessions.get("old").tool_call_count
        == 0
    )
    with pytest.raises(InvalidInput, match="nothing left"):
        db.store.messages.undo_exchange("old")
    assert is_whole(path)


def test_a_summary_is_not_taken_back(db: SessionDB) -> None:
    _talk(db)
    continued = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
    assert db.store.messages.undo_exchange(continued.id) == 2
    with pytest.raises(InvalidInput, match="nothing left"):
        db.store.messages.undo_exchange(continued.id)
    db.store.trash.delete(["old"], permanently=True, force=True)
    with pytest.raises(InvalidInput, match="nothing left"):
        db.store.messages.undo_exchange(continued.id)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=12))
def test_undo_removes_from_the_last_question_on(
    tmp_path_factory: pytest.TempPathFactory, roles: list[str]
) -> None:
    with SessionDB(tmp_path_factory.mktemp("u") / "state.db", synchronous="NORMAL") as db:
        db.create_session("s", "cli")
        for role in roles:
            db.append_message("s", role, role)
        if "user" not in roles:
            with pytest.raises(InvalidInput):
                db.store.messages.undo_exchange("s")
            return
        last = len(roles) - 1 - roles[::-1].index("user")
        assert db.store.messages.undo_exchange("s") == len(roles) - last
        assert [each.role for each in db.store.messages.of("s")] == roles[:last]
        _assert_counted(db, "s")


# -- files of a newer Hermes -------------------------------------------------------------------


@pytest.fixture
def newer_path(tmp_path: Path) -> Path:
    """A newer file with one session: one rewound message, one hidden, four plain ones."""
    path = tmp_path / "newer.db"
    newer.make(path)
    writer = newer.Newer(path)
    writer.session("old", title="my project", cwd="/work", message_count=6, system_prompt_hash="h")
    writer.put("system_prompts", hash="h", prompt="Be kind.")
    writer.message("old", "rewound", active=0)
    writer.message("old", "hidden", display_kind="hidden", at=LONG_AGO + 2)
    for number in range(4):
        role = "assistant" if number % 2 else "user"
        writer.message("old", f"said {number}", at=LONG_AGO + 3 + number, role=role)
    writer.close()
    return path


def test_a_newer_file_is_split_the_plain_way(newer_path: Path) -> None:
    with SessionDB(newer_path) as db:
        continued = db.store.lineage.compress("old", summary="s", keep_last=2, now=NOW)
        assert (continued.title, continued.cwd) == ("my project #2", "/work")
        assert _texts(db, continued.id)[1:] == ["said 2", "said 3"]
        row = db.get_session(continued.id)
        assert row is not None and row["system_prompt"] == "Be kind."
        assert db.store.sessions.find_to_resume("my project").id == continued.id
        copy = db.store.lineage.branch(continued.id, now=NOW + 1)
        assert _texts(db, copy.id) == _texts(db, continued.id)
    with SessionDB(newer_path) as db:
        assert db.store.capabilities().version == newer.VERSION


def test_hidden_messages_are_copied_and_rewound_ones_are_not(newer_path: Path) -> None:
    with SessionDB(newer_path) as db:
        copy = db.store.lineage.branch("old", now=NOW)
        with db._db.read() as tx:
            said = tx.rows("SELECT content FROM messages WHERE session_id = ?", (copy.id,))
            assert [row[0] for row in said] == ["hidden", "said 0", "said 1", "said 2", "said 3"]


def test_a_newer_file_keeps_what_was_taken_back(newer_path: Path) -> None:
    with SessionDB(newer_path) as db:
        assert db.store.messages.undo_exchange("old") == 2
        assert _texts(db, "old") == ["said 0", "said 1"]
        row = db.get_session("old")
        assert row is not None and (row["message_count"], row["rewind_count"]) == (6, 1)
        with db._db.read() as tx:
            assert tx.value("SELECT COUNT(*) FROM messages") == 6


def test_a_lock_of_a_newer_hermes_is_respected(newer_path: Path) -> None:
    with SessionDB(newer_path) as db:
        with raw(newer_path) as con:
            con.execute(
                "INSERT INTO compression_locks VALUES ('old', 'gateway', ?)", (time.time() + 60,)
            )
        for change in (
            lambda: db.store.lineage.compress("old", summary="s", keep_last=2, now=time.time()),
            lambda: db.store.lineage.branch("old", now=time.time()),
            lambda: db.store.messages.undo_exchange("old"),
        ):
            with pytest.raises(SessionInUse, match="being compressed by gateway"):
                change()
        with raw(newer_path) as con:
            con.execute("UPDATE compression_locks SET expires_at = 1")
        assert db.store.lineage.compress("old", summary="s", keep_last=2, now=time.time()).title
