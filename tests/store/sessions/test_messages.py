"""Messages: appended and replaced with exact counters, read back, replayed to a model."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.errors import ConstraintViolated, SessionNotFound
from tests.support import LONG_AGO, add, add_chain, raw

CALLS = [{"id": "c1", "function": {"name": "shell", "arguments": "{}"}}]


def _counters(db: SessionDB, session_id: str) -> tuple[int, int]:
    session = db.store.sessions.get(session_id)
    return session.message_count, session.tool_call_count


def test_a_message_comes_back_with_all_it_was_given(db: SessionDB) -> None:
    db.create_session("a", "cli")
    given: dict[str, Any] = {
        "content": "done",
        "tool_calls": CALLS,
        "tool_name": "shell",
        "tool_call_id": "c0",
        "token_count": 12,
        "finish_reason": "tool_calls",
        "reasoning": "thought",
        "reasoning_content": "more thought",
    }
    before = time.time()
    number = db.append_message("a", "assistant", **given)
    (row,) = db.get_messages("a")
    assert row["id"] == number
    assert {name: row[name] for name in given} == given
    assert before <= row["timestamp"] <= time.time()
    (message,) = db.store.messages.of("a")
    assert (message.text, message.tool_calls, message.reasoning) == ("done", CALLS, "thought")


def test_ids_grow_and_order_is_kept(db: SessionDB) -> None:
    add(db, "a")
    ids = [db.append_message("a", "user", str(n), timestamp=1000.0 - n) for n in range(5)]
    assert ids == sorted(ids)
    assert [row["content"] for row in db.get_messages("a")] == ["0", "1", "2", "3", "4"]


def test_counters_follow_every_append(db: SessionDB) -> None:
    add(db, "a", "hello")
    assert _counters(db, "a") == (1, 0)
    db.append_message("a", "assistant", "", tool_calls=CALLS * 3)
    db.append_message("a", "tool", "out", tool_call_id="c1")
    assert _counters(db, "a") == (3, 3)
    db.append_message("a", "assistant", tool_calls={"id": "single"})
    assert _counters(db, "a") == (4, 4)


def test_replacing_sets_counters_and_order(db: SessionDB) -> None:
    add(db, "a", "old one", "old two")
    new = [{"role": "user", "content": f"n{n}"} for n in range(20)]
    db.replace_messages("a", [*new, {"role": "assistant", "content": None, "tool_calls": CALLS}])
    rows = db.get_messages("a")
    assert [row["content"] for row in rows] == [f"n{n}" for n in range(20)] + [None]
    moments = [row["timestamp"] for row in rows]
    assert len(set(moments)) == 21
    assert moments == sorted(moments)
    assert _counters(db, "a") == (21, 1)


def test_a_failed_replacement_leaves_the_old_messages(db: SessionDB) -> None:
    add(db, "a", "kept")
    with pytest.raises(TypeError):
        db.replace_messages("a", [{"content": "fine"}, {"content": "x", "token_count": object()}])
    assert [row["content"] for row in db.get_messages("a")] == ["kept"]
    assert _counters(db, "a") == (1, 0)


def test_clearing_keeps_the_session(db: SessionDB) -> None:
    add(db, "a", "one", "two", title="kept")
    add(db, "b", "other")
    db.clear_messages("a")
    assert db.get_messages("a") == []
    assert _counters(db, "a") == (0, 0)
    assert db.get_session_title("a") == "kept"
    assert db.message_count() == db.message_count("b") == 1


def test_a_message_needs_its_session(db: SessionDB) -> None:
    with pytest.raises(SessionNotFound, match="'nobody'"):
        db.append_message("nobody", "user", "hello")
    with pytest.raises(SessionNotFound, match="'nobody'"):
        db.replace_messages("nobody", [{"role": "user", "content": "hello"}])
    assert db.message_count() == 0
    assert db.get_messages("nobody") == []
    assert db.get_messages_as_conversation("nobody", include_ancestors=True) == []


@pytest.mark.sqlite("expects SQLite's own words")
def test_a_message_needs_a_role(db: SessionDB) -> None:
    add(db, "a", "hello")
    with pytest.raises(sqlite3.IntegrityError, match=r"messages\.role") as caught:
        db.append_message("a", None, "hello")  # type: ignore[arg-type]
    assert isinstance(caught.value, ConstraintViolated)
    with pytest.raises(sqlite3.IntegrityError):
        db.replace_messages("a", [{"role": None, "content": "hello"}])
    assert [each["content"] for each in db.get_messages("a")] == ["hello"]
    db.replace_messages("a", [{"content": "hello"}])
    assert [each["role"] for each in db.get_messages("a")] == ["unknown"]


def test_empty_and_missing_content_differ(db: SessionDB) -> None:
    add(db, "a", "", None, "   ")
    assert [row["content"] for row in db.get_messages("a")] == ["", None, "   "]
    assert [message.text for message in db.store.messages.of("a")] == ["", "", "   "]
    (row,) = db.list_sessions_rich()
    assert row["preview"] == ""
    assert db.get_messages_as_conversation("a")[0] == {"role": "user", "content": ""}


def test_multimodal_content_round_trips(db: SessionDB) -> None:
    parts = [
        {"type": "text", "text": "look at 日本 👩‍💻"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    add(db, "a", parts, {"type": "input_audio", "data": "AA"}, 42)
    assert [row["content"] for row in db.get_messages("a")] == [
        parts,
        {"type": "input_audio", "data": "AA"},
        "42",
    ]
    assert [message.text for message in db.store.messages.of("a")] == [
        "look at 日本 👩‍💻 [image]",
        "[audio]",
        "42",
    ]


def test_content_nested_too_deep_is_still_read(db: SessionDB, path: Path) -> None:
    add(db, "a")
    hostile = "\x00json:" + "[" * 200_000
    with raw(path) as con:
        con.execute(
            "INSERT INTO messages(session_id, role, content, tool_calls, timestamp) "
            "VALUES ('a', 'user', ?, ?, 1)",
            (hostile, "[" * 200_000),
        )
    (row,) = db.get_messages("a")
    assert row["content"] == "[" * 200_000
    assert db.list_sessions_rich()[0]["preview"].startswith("[[[")
    assert len(db.export_all()) == 1


def test_a_conversation_holds_what_a_model_is_sent(db: SessionDB) -> None:
    add(db, "a")
    db.append_message("a", "user", "hi", token_count=3)
    db.append_message(
        "a",
        "assistant",
        "ok",
        tool_calls=CALLS,
        finish_reason="tool_calls",
        reasoning="r",
        reasoning_content="",
        reasoning_details=[{"t": 1}],
    )
    db.append_message("a", "tool", "out", tool_name="shell", tool_call_id="c1", reasoning="no")
    assert db.get_messages_as_conversation("a") == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": CALLS,
            "finish_reason": "tool_calls",
            "reasoning": "r",
            "reasoning_content": "",
            "reasoning_details": [{"t": 1}],
        },
        {"role": "tool", "content": "out", "tool_name": "shell", "tool_call_id": "c1"},
    ]


def test_recalled_memory_is_not_replayed(db: SessionDB) -> None:
    woven = "<memory-context>\nold\n</memory-context>\n What now? "
    add(db, "a", woven)
    db.append_message("a", "tool", woven)
    user, tool = db.get_messages_as_conversation("a")
    assert user["content"] == "What now?"
    assert tool["content"] == woven
    assert db.get_messages("a")[0]["content"] == woven


def test_ancestors_come_first_and_a_repeated_question_once(db: SessionDB) -> None:
    add_chain(db, ["a", "b", "c"])
    with db._db.write() as tx:
        tx.run("UPDATE messages SET content = 'said in b' WHERE session_id = 'c'")
    db.append_message("c", "assistant", "answer")
    db.append_message("c", "user", "said in b")
    texts = [m["content"] for m in db.get_messages_as_conversation("c", include_ancestors=True)]
    assert texts == ["said in a", "said in b", "answer", "said in b"]
    own = [m["content"] for m in db.get_messages_as_conversation("c")]
    assert own == ["said in b", "answer", "said in b"]


def test_an_export_holds_everything_about_a_session(db: SessionDB) -> None:
    add(db, "a", "one", source="sms", title="T")
    add(db, "b", "two", "three", at=LONG_AGO + 500)
    exported = db.export_session("b")
    assert exported is not None
    assert exported == (db.get_session("b") or {}) | {"messages": db.get_messages("b")}
    assert [each["id"] for each in db.export_all()] == ["b", "a"]
    assert [len(each["messages"]) for each in db.export_all("sms")] == [1]
    assert db.export_session("nobody") is None


def test_an_export_has_no_page_limit(db: SessionDB) -> None:
    for number in range(45):
        add(db, f"s{number}")
    assert len(db.export_all()) == 45
