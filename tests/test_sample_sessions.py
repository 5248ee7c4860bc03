"""The sample generator: the same for a seed, varied, and never all in memory."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from bench.sample_sessions import SampleSession, fill, sample_sessions
from hermes_store import SessionDB
from hermes_store.records.relation_to_parent import Edge
from hermes_store.records.sources import KNOWN
from tests.support import LONG_AGO, found

NOW = LONG_AGO
# Chinese, Japanese, Korean, emoji.
SCRIPTS = ("[\u4e00-\u9fff]", "[\u3040-\u30ff]", "[\uac00-\ud7af]", "[\U0001f300-\U0001faff]")


@pytest.fixture(scope="module")
def sample() -> list[SampleSession]:
    """Enough sessions to hold everything that is promised."""
    return list(sample_sessions(600, now=NOW, seed=3))


def _texts(sample: list[SampleSession]) -> str:
    return "\n".join(str(m["content"]) for session in sample for m in session.messages)


def test_a_seed_decides_everything() -> None:
    def make(seed: int) -> list[SampleSession]:
        return list(sample_sessions(40, now=NOW, seed=seed))

    assert make(1) == make(1)
    assert make(1) != make(2)


def test_even_a_small_sample_has_every_source_and_kind() -> None:
    small = list(sample_sessions(60, now=NOW))
    roots = [session for session in small if session.edge is Edge.ROOT]
    assert len(roots) >= 22
    assert {session.source for session in roots[:22]} == set(KNOWN)
    assert {session.edge for session in small} == set(Edge) - {Edge.RESET}


def test_about_as_many_as_asked_for_and_never_a_cut_chain() -> None:
    for number in (1, 20, 100):
        made = list(sample_sessions(number, now=NOW))
        assert number <= len(made) <= number + 15
        assert made[-1].end_reason != "compression"


def test_ids_and_titles_are_unique(sample: list[SampleSession]) -> None:
    assert len({session.id for session in sample}) == len(sample)
    titles = [session.title for session in sample if session.title]
    assert len(set(titles)) == len(titles)
    assert 0.3 < len(titles) / len(sample) < 0.9


def test_chains_have_two_to_six_sessions(sample: list[SampleSession]) -> None:
    root_of: dict[str, str] = {}
    for session in sample:
        if session.edge is Edge.COMPRESSION:
            assert session.parent_id is not None
            root_of[session.id] = root_of[session.parent_id]
        else:
            root_of[session.id] = session.id
    lengths = {length for length in Counter(root_of.values()).values() if length > 1}
    assert lengths == {2, 3, 4, 5, 6}


def test_parents_come_before_children(sample: list[SampleSession]) -> None:
    seen: set[str] = set()
    for session in sample:
        assert session.parent_id is None or session.parent_id in seen
        assert (session.parent_id is None) == (session.edge is Edge.ROOT)
        seen.add(session.id)


def test_languages_emoji_code_urls_and_pictures_are_there(sample: list[SampleSession]) -> None:
    text = _texts(sample)
    for wanted in (*SCRIPTS, "```", r"https://\S+", r"/\w+\.\w+"):
        assert re.search(wanted, text), wanted
    contents = [m["content"] for session in sample for m in session.messages]
    pictures = [c for c in contents if isinstance(c, list)]
    assert any(part["type"] == "image_url" for parts in pictures for part in parts)


def test_tool_calls_are_answered_and_some_output_is_long(sample: list[SampleSession]) -> None:
    for session in sample[:200]:
        asked = [c["id"] for m in session.messages for c in m.get("tool_calls", ())]
        answered = [m["tool_call_id"] for m in session.messages if m["role"] == "tool"]
        assert asked == answered
    outputs = [m["content"] for s in sample for m in s.messages if m["role"] == "tool"]
    assert max(output.count("\n") for output in outputs) > 100


def test_time_goes_forward(sample: list[SampleSession]) -> None:
    for session in sample:
        moments = [m["timestamp"] for m in session.messages]
        assert moments == sorted(moments)
        assert session.started_at <= moments[0]
        assert session.ended_at is None or session.ended_at >= moments[-1]


def test_chains_follow_each_other_and_nothing_is_in_the_future(
    sample: list[SampleSession],
) -> None:
    ends = {session.id: session.ended_at for session in sample}
    for session in sample:
        assert session.messages[-1]["timestamp"] <= NOW
        if session.edge is Edge.COMPRESSION:
            ended = ends[session.parent_id or ""]
            assert ended is not None and session.started_at >= ended


def test_texts_are_plausible(sample: list[SampleSession]) -> None:
    titles = [session.title for session in sample if session.title]
    assert not [title for title in titles if re.search(r"\(\d+\)", title)]
    numbers = [int(n) for n in re.findall(r"holds (\d+) GB", _texts(sample))]
    assert numbers and max(numbers) < 100
    patches = [
        json.loads(m["content"])
        for session in sample
        for m in session.messages
        if m.get("tool_name") == "patch"
    ]
    assert patches and all(patch["diff"].startswith("@@ ") for patch in patches)


def test_sessions_are_made_one_at_a_time() -> None:
    tracemalloc.start()
    try:
        first = sum(1 for _ in islice(sample_sessions(100_000, now=NOW), 20))
        _, small = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        more = sum(1 for _ in islice(sample_sessions(100_000, now=NOW), 200))
        _, large = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, more) == (20, 200)
    # Ten times as many pass through; were they held, they would take ten times the room.
    assert large < small * 4


def test_a_store_is_filled_as_described(db: SessionDB) -> None:
    reported: list[tuple[int, int]] = []
    written = fill(db._db, 120, now=NOW, seed=5, progress=lambda *step: reported.append(step))
    expected = list(sample_sessions(120, now=NOW, seed=5))
    assert written == db.session_count() == len(expected)
    assert db.message_count() == sum(len(session.messages) for session in expected)
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported
    assert all(done <= total == 120 for done, total in reported)
    for session in expected:
        _compare(db, session)
    assert set(dict(db.store.upkeep.statistics().by_source)) == set(KNOWN)


def _compare(db: SessionDB, expected: SampleSession) -> None:
    session = db.store.sessions.get(expected.id)
    assert (session.source, session.title) == (expected.source, expected.title)
    assert (session.ended_at, session.end_reason) == (expected.ended_at, expected.end_reason)
    assert session.input_tokens == expected.usage["input_tokens"]
    assert session.message_count == len(expected.messages)
    said: list[Any] = [row["content"] for row in db.get_messages(expected.id)]
    assert said == [message["content"] for message in expected.messages]


def test_the_store_sees_the_edges_that_were_meant(db: SessionDB) -> None:
    fill(db._db, 80, now=NOW)
    listed = {each.root_id for each in db.store.lists.conversations(limit=-1)}
    for session in sample_sessions(80, now=NOW):
        assert (session.id in listed) == (session.edge in (Edge.ROOT, Edge.BRANCH))


def test_samples_can_be_searched(db: SessionDB) -> None:
    fill(db._db, 30, now=NOW)
    assert found(db, "session")
