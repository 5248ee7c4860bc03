"""A disk or a folder that refuses the gateway's files: a sentence, and no message twice."""

from __future__ import annotations

import logging
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.errors import BadFile
from hermes_store.gateway import SessionRouter
from tests import rights
from tests.store.gateway.conftest import ALICE, BOB, Clock, live_sessions


@contextmanager
def _small_files(limit: int) -> Iterator[None]:
    """Let no file grow beyond a limit, as under a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.sqlite("on a server, routes are in a table")
def test_a_protected_folder_is_a_sentence(
    db: SessionDB, router: SessionRouter, folder: Path
) -> None:
    folder.mkdir(mode=0o500)
    with rights.respected(), pytest.raises(BadFile, match=r"sessions\.json.* cannot be .*\."):
        router.incoming(ALICE)
    folder.chmod(0o700)
    router.incoming(ALICE)
    assert len(live_sessions(db)) == 1


@pytest.mark.sqlite("on a server, routes are in a table")
def test_a_file_that_cannot_be_written_loses_no_route(
    db: SessionDB, router: SessionRouter, folder: Path, clock: Clock
) -> None:
    first = router.incoming(ALICE).session_id
    routes = (folder / "sessions.json").read_bytes()
    (folder / "sessions.json.new").mkdir()
    with pytest.raises(BadFile, match=r"sessions\.json cannot be read or written"):
        router.incoming(BOB)
    assert (folder / "sessions.json").read_bytes() == routes
    (folder / "sessions.json.new").rmdir()
    second = SessionRouter(db.store, clock=clock).incoming(BOB).session_id
    assert sorted(live_sessions(db)) == sorted([first, second])


@pytest.mark.sqlite("on a server, routes are in a table")
def test_an_unreadable_file_is_a_sentence(router: SessionRouter, folder: Path) -> None:
    router.incoming(ALICE)
    (folder / "sessions.json").unlink()
    (folder / "sessions.json").mkdir()
    with pytest.raises(BadFile, match="cannot be read or written"):
        router.incoming(ALICE)


@pytest.mark.parametrize("ready", [False, True])
def test_a_message_is_saved_even_if_its_transcript_is_not(
    db: SessionDB, router: SessionRouter, caplog: pytest.LogCaptureFixture, ready: bool
) -> None:
    found = router.incoming(ALICE)
    if ready:
        router.save(found, "user", "zero")
    path = router.transcripts.path(found.session_id)
    kept = path.with_name("kept")
    if ready:
        path.rename(kept)
    path.mkdir()
    with caplog.at_level(logging.WARNING):
        first = router.save(found, "user", "one")
    assert f"Message {first} is saved" in caplog.text
    path.rmdir()
    if ready:
        kept.rename(path)
    router.save(found, "assistant", "two")
    said = [each.content for each in db.store.messages.of(found.session_id)]
    assert said == ["zero"] * ready + ["one", "two"]
    assert [each["content"] for each in router.transcripts.read(found.session_id).messages] == said


def test_a_line_that_is_cut_off_by_a_quota_is_written_again(
    db: SessionDB, router: SessionRouter
) -> None:
    found = router.incoming(ALICE)
    router.save(found, "user", "short")
    path = router.transcripts.path(found.session_id)
    db.append_message(found.session_id, "user", "x" * 3_000_000)
    largest = max(each.stat().st_size for each in path.parent.iterdir())
    with (
        _small_files(largest + 1_000_000),
        pytest.raises(BadFile, match="cannot be read or written"),
    ):
        router.transcripts.catch_up(db.store.database, found.session_id)
    router.save(found, "assistant", "after")
    said = [each.content for each in db.store.messages.of(found.session_id)]
    assert [each["content"] for each in router.transcripts.read(found.session_id).messages] == said
