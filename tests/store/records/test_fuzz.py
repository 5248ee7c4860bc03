"""Whatever a message holds, the store reads it everywhere, or refuses it in a sentence."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput, TitleError
from hermes_store.records import tool_calls
from hermes_store.records.message_content import MARKER, decode, readable, stored_preview
from hermes_store.records.search import Request
from tests.fuzzing import NESTED, TEXTS, TREES, objects, thorough

_CALLS = st.lists(
    objects("id", "name", "function", "arguments", "input", "args", "type") | TREES, max_size=3
)
_STORED = TEXTS | TREES.map(str) | st.sampled_from(NESTED).map(lambda text: MARKER + text)


def _nested(depth: int) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = [found]
    return found


@thorough(60)
@given(TREES, _CALLS | TREES, TEXTS, TEXTS)
@example({"type": "text", "text": None}, {"function": None}, "x", "x")
def test_fuzz_messages(tmp_path: Path, content: Any, calls: Any, text: str, title: str) -> None:
    _store(tmp_path, content, calls, text, title)


# Beyond about a thousand, Python gives up; just below it, that depends on who calls.
@pytest.mark.parametrize("depth", [100, 300, 700, *range(900, 1_000, 9), 1_500, 100_000])
def test_nested_messages(tmp_path: Path, depth: int) -> None:
    _store(tmp_path, _nested(depth), None, "", "")
    _store(tmp_path, None, _nested(depth), "", "")
    deep = [{"name": _nested(depth), "arguments": _nested(depth)}]
    _store(tmp_path, {"type": "text", "text": _nested(depth)}, deep, "x", "x")


def _store(tmp_path: Path, content: Any, calls: Any, text: str, title: str) -> None:
    for each in tmp_path.glob("state.db*"):
        each.unlink()
    with SessionDB(tmp_path / "state.db", synchronous="NORMAL") as db:
        db.create_session("a", "cli")
        for role in ("user", "assistant", "tool"):
            try:
                db.append_message(
                    "a", role, content, tool_name=text, tool_calls=calls, reasoning=text
                )
            except InvalidInput as error:
                assert str(error).endswith(".")
        try:
            db.set_session_title("a", title)
        except TitleError as error:
            assert str(error).endswith(".")
        _read(db, text)


def _read(db: SessionDB, text: str) -> None:
    """Read a session the way every part of the program does."""
    store = db.store
    db.get_messages("a")
    db.get_messages_as_conversation("a")
    db.list_sessions_rich()
    store.transcripts.recap("a")
    store.transcripts.quick_recap("a")
    store.transcripts.outline("a")
    store.lists.rows(["a"], now=time.time())
    for wanted in ("x", text):
        store.search.run(Request(wanted, limit=5))
        with suppress(InvalidInput):  # a question without a word
            store.recall.about(wanted, now=time.time())


@thorough(150)
@given(_STORED)
def test_fuzz_stored_content(stored: str) -> None:
    readable(decode(stored))
    assert len(stored_preview(stored)) <= 63
    assert len(stored_preview(stored.encode("utf-8", "surrogatepass")[:200])) <= 63


@thorough(150)
@given(_CALLS | TREES)
def test_fuzz_tool_calls(stored: Any) -> None:
    assert tool_calls.count(stored) == len(tool_calls.parse(stored))
    assert len(tool_calls.names(stored)) <= tool_calls.count(stored)
    tool_calls.summary(stored)
