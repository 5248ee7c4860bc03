"""Out and in again: the same bytes, and twice is once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.sample_sessions import fill
from hermes_store import SessionDB
from hermes_store.errors import TitleTooLong
from hermes_store.records.transfer import Outcome
from hermes_store.sessions import titles
from tests.support import LONG_AGO, add


def jsonl(db: SessionDB) -> str:
    sink = io.StringIO()
    db.store.transfer.export(sink)
    return sink.getvalue()


@pytest.mark.sqlite("a server has columns of newer versions, which a new file has not")
def test_sample_sessions_come_back_to_the_byte(db: SessionDB, tmp_path: Path) -> None:
    fill(db._db, 150, now=LONG_AGO)
    add(db, "empty")
    assert db.store.transfer.export_file(tmp_path / "out.jsonl") == db.session_count()
    with SessionDB(tmp_path / "other.db") as other:
        report = other.store.transfer.import_file(tmp_path / "out.jsonl")
        assert report.count(Outcome.ADDED) == db.session_count()
        assert not report.unknown_keys
        assert {each.note for each in report.sessions} == {None}
        assert jsonl(other) == (tmp_path / "out.jsonl").read_text()
        assert other.list_sessions_rich(limit=500) == db.list_sessions_rich(limit=500)
        report = other.store.transfer.import_file(tmp_path / "out.jsonl")
        assert report.count(Outcome.PRESENT) == db.session_count()
        assert jsonl(other) == (tmp_path / "out.jsonl").read_text()


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_MOMENTS = st.floats(0, 4e9) | st.sampled_from([LONG_AGO, LONG_AGO + 1])
_COUNTS = st.integers(0, 2**62)


def _title(text: str) -> str | None:
    try:
        return titles.sanitize(text)
    except TitleTooLong:
        return None


_MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system"]) | st.text(min_size=1),
        "timestamp": _MOMENTS,
        "content": _TREES | st.sampled_from(["\x00json:[1]", "a\x00b", "\ud800"]),
        "tool_calls": _TREES,
        "tool_name": st.none() | st.text(),
        "token_count": st.none() | _COUNTS,
        "reasoning": st.none() | st.text(),
        "reasoning_details": st.none() | st.text() | st.lists(st.text(), max_size=2),
    }
)
_SESSIONS = st.fixed_dictionaries(
    {
        "source": st.text(min_size=1),
        "started_at": _MOMENTS,
        "title": st.none() | st.text(max_size=20).map(_title),
        "model": st.none() | st.text(),
        "ended_at": st.none() | _MOMENTS,
        "end_reason": st.none() | st.sampled_from(["compression", "branched", "user_exit"]),
        "input_tokens": st.none() | _COUNTS,
        "estimated_cost_usd": st.none() | st.floats(0, 1e6),
        "model_config": st.none()
        | st.dictionaries(st.text(), st.integers() | st.text(), max_size=2),
        "messages": st.lists(_MESSAGES, max_size=4),
    }
)
_IDS = st.sampled_from(["a", "b", "c", "d"]) | st.text(min_size=1, max_size=8)


@st.composite
def _files(draw: st.DrawFn) -> list[dict[str, Any]]:
    ids = draw(st.lists(_IDS, max_size=5))
    parents = st.none() | st.sampled_from(ids or ["gone"]) | st.just("gone")
    return [draw(_SESSIONS) | {"id": each, "parent_session_id": draw(parents)} for each in ids]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@settings(deadline=None, max_examples=60)
@given(_files())
def test_any_file_comes_in_once_and_goes_out_the_same(rows: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        if not rows:
            return
        file = _write(place / "in.jsonl", rows)
        with SessionDB(place / "one.db") as one, SessionDB(place / "two.db") as two:
            first = one.store.transfer.import_file(file)
            once = jsonl(one)
            second = one.store.transfer.import_file(file)
            assert jsonl(one) == once
            assert second.count(Outcome.ADDED) == second.count(Outcome.EXTENDED) == 0
            assert len(first.sessions) == len(rows)
            assert first.count(Outcome.ADDED) == one.session_count()

            one.store.transfer.export_file(place / "out.jsonl")
            if once:
                report = two.store.transfer.import_file(place / "out.jsonl")
                assert report.count(Outcome.ADDED) == one.session_count()
            assert jsonl(two) == once
