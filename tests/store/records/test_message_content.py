"""Content: stored in one text column and read back the same, however strange."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.records.message_content import (
    MARKER,
    decode,
    decode_json,
    encode,
    encode_json,
    preview,
    readable,
    stored_preview,
)
from tests.fuzzing import thorough
from tests.support import add

PLAIN = st.text().filter(lambda text: not text.startswith(MARKER))
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(TREES, max_size=5) | st.dictionaries(st.text(), TREES, max_size=5)


@thorough(100)
@given(PLAIN | st.none() | PARTS)
def test_content_round_trips(content: Any) -> None:
    stored = encode(content)
    assert stored is None or isinstance(stored, str)
    assert decode(stored) == content


@thorough(60)
@given(PARTS)
def test_json_columns_round_trip_or_are_nothing(value: Any) -> None:
    stored = encode_json(value)
    assert decode_json(stored) == (value or None)


@thorough(100)
@given(PLAIN | PARTS)
def test_everything_reads_as_one_short_line(content: Any) -> None:
    assert isinstance(readable(content), str)
    stored = encode(content)
    assert stored is not None
    shown = stored_preview(stored)
    assert len(shown) <= 63
    assert "\n" not in shown
    assert "\r" not in shown
    assert not shown.startswith(MARKER)


@thorough(60)
@given(st.text(), st.integers(0, 300))
def test_a_preview_of_the_first_bytes_is_that_of_the_text(text: str, cut: int) -> None:
    raw = text.encode("utf-8", "ignore")
    beginning = raw[: 252 + cut]
    assert stored_preview(beginning) == preview(raw.decode("utf-8"))


@thorough(100)
@given(st.text(max_size=40))
def test_damaged_json_comes_back_as_text(text: str) -> None:
    assert decode(MARKER + "{" + text + "\x01") == "{" + text + "\x01"
    assert decode_json("{" + text + "\x01") == "{" + text + "\x01"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ("words", "words"),
        ([{"type": "text", "text": "a"}, "b", None, {"type": "input_image"}], "a b None [image]"),
        ({"type": "text", "text": "single"}, "single"),
        ([{"type": "tool_result", "content": "out"}], "out"),
        ([{"type": "audio"}, {"type": "file"}], "[audio] [file]"),
        ([{"kind": "odd", "値": 1}], '{"kind": "odd", "値": 1}'),
        (7, "7"),
    ],
)
def test_readable(content: Any, expected: str) -> None:
    assert readable(content) == expected


def test_what_was_written_by_the_agent_reads_the_same(db: SessionDB) -> None:
    add(db, "a", "x")
    with db._db.write() as tx:
        # The agent escapes what is not ASCII; half a pair can be among it.
        tx.run("UPDATE messages SET content = ?", ('\x00json:["\\u65e5\\u672c \\ud83d"]',))
    assert db.store.messages.of("a")[0].content == ["日本 \ud83d"]
    assert db.list_sessions_rich()[0]["preview"].startswith("日本")
