"""Transcripts: one object on a line, only added to, mended at the end, never ahead of the facts."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_store import SessionDB
from hermes_store.errors import InvalidInput
from hermes_store.gateway import Outcome, Routed, SessionRouter, Transcripts
from hermes_store.gateway.transcript_repair import Difference, compare
from tests.store.gateway.conftest import ALICE


@pytest.fixture
def talk(router: SessionRouter) -> Routed:
    """A session with two messages."""
    routed = router.incoming(ALICE)
    router.save(routed, "user", "hello")
    router.save(routed, "assistant", "hi there")
    return routed


def contents(router: SessionRouter, routed: Routed) -> list[object]:
    return [each["content"] for each in router.transcripts.read(routed.session_id).messages]


def difference(db: SessionDB, path: Path) -> Difference:
    with db.store.database.read() as tx:
        return compare(tx, path).difference


def test_lines_are_only_added(router: SessionRouter, talk: Routed) -> None:
    path = router.transcripts.path(talk.session_id)
    before = path.read_bytes()
    assert before.count(b"\n") == 3
    for number in range(50):
        router.save(talk, "user", f"{number}\nnext line \u2028 部署 \x1b[0m")
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 53
    assert all(isinstance(json.loads(line), dict) for line in after.splitlines())
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kept", range(1, 40, 6))
def test_a_last_line_that_was_cut_off_is_told_of_and_goes(
    db: SessionDB,
    router: SessionRouter,
    talk: Routed,
    kept: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = router.transcripts.path(talk.session_id)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    found = router.transcripts.read(talk.session_id)
    assert [each["content"] for each in found.messages] == ["hello"]
    assert found.torn == lines[-1][:kept].decode()
    with caplog.at_level(logging.WARNING):
        router.save(talk, "user", "go on")
    assert "was cut off" in caplog.text
    assert path.read_bytes().startswith(whole)
    assert contents(router, talk) == ["hello", "hi there", "go on"]
    assert difference(db, path) is Difference.NONE


def test_a_line_that_only_lacks_its_end_is_whole(router: SessionRouter, talk: Routed) -> None:
    path = router.transcripts.path(talk.session_id)
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert router.transcripts.read(talk.session_id).torn is None
    router.save(talk, "user", "go on")
    assert contents(router, talk) == ["hello", "hi there", "go on"]


def test_what_a_crash_kept_from_a_transcript_comes_with_the_next_message(
    db: SessionDB, router: SessionRouter, talk: Routed
) -> None:
    db.append_message(talk.session_id, "user", "saved, and then the power went")
    router.save(talk, "assistant", "I am back")
    said = ["hello", "hi there", "saved, and then the power went", "I am back"]
    assert contents(router, talk) == said
    fresh = SessionRouter(db.store)
    db.append_message(talk.session_id, "user", "again")
    fresh.save(talk, "assistant", "yes")
    assert contents(router, talk) == [*said, "again", "yes"]


def test_a_transcript_that_says_something_else_is_kept(
    db: SessionDB, router: SessionRouter, talk: Routed, caplog: pytest.LogCaptureFixture
) -> None:
    path = router.transcripts.path(talk.session_id)
    other = path.read_text().replace("hello", "goodbye")
    path.write_text(other)
    with caplog.at_level(logging.WARNING):
        SessionRouter(db.store).save(talk, "user", "go on")
    assert path.read_text().startswith(other)
    assert contents(router, talk) == ["goodbye", "hi there", "go on"]
    assert "differs from the database" in caplog.text


def test_system_rows_are_left_out(db: SessionDB, router: SessionRouter, talk: Routed) -> None:
    db.append_message(talk.session_id, "system", "You are helpful.")
    db.append_message(talk.session_id, "session_meta", "noted")
    router.save(talk, "user", "go on")
    assert contents(router, talk) == ["hello", "hi there", "go on"]


@pytest.mark.sqlite("lists the files of a folder")
def test_a_transcript_goes_with_its_session(
    db: SessionDB, router: SessionRouter, talk: Routed, folder: Path
) -> None:
    beside = [f"session_{talk.session_id}.json", f"request_dump_{talk.session_id}_1.json"]
    for name in beside:
        (folder / name).write_text("{}")
    db.delete_session(talk.session_id, sessions_dir=folder)
    assert sorted(path.name for path in folder.iterdir()) == ["sessions.json", "sessions.json.lock"]
    again = router.incoming(ALICE)
    assert again.outcome is Outcome.CREATED
    router.save(again, "user", "anew")
    assert contents(router, again) == ["anew"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "a\0"])
def test_an_id_never_reaches_outside_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        Transcripts(folder).path(name)


_CONTENT = st.none() | st.text(max_size=30) | st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=10)}), max_size=2
)  # fmt: skip


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), _CONTENT), max_size=5))
def test_anything_that_was_said_can_be_imported_again(
    db: SessionDB, router: SessionRouter, tmp_path: Path, said: list[tuple[str, object]]
) -> None:
    first = router.incoming(ALICE)
    for role, content in said:
        router.save(first, role, content)
    db.end_session(first.session_id, "new_session")
    path = router.transcripts.path(first.session_id)
    if not said:
        assert not path.exists()
        return
    assert difference(db, path) is Difference.NONE
    copy = tmp_path / "copies" / f"{first.session_id}.db"
    with SessionDB(copy) as other:
        other.store.transfer.import_file(path)
        found = [(each.role, each.content) for each in other.store.messages.of(first.session_id)]
        assert found == [
            (each.role, each.content) for each in db.store.messages.of(first.session_id)
        ]
        times = [each.timestamp for each in other.store.messages.of(first.session_id)]
        assert times == [each.timestamp for each in db.store.messages.of(first.session_id)]
