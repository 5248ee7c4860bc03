"""sessions.json: the form of Hermes Agent, kept whole, mended, never lost silently."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings

from hermes_store import SessionDB
from hermes_store.errors import StoreError
from hermes_store.gateway import (
    MessageSource,
    Outcome,
    Route,
    Routes,
    SessionRouter,
    build,
    file_lock,
    routing_file,
)
from tests.store.gateway.conftest import ALICE, BOB, NOON, Clock, live_sessions
from tests.store.gateway.test_session_keys import IDS

pytestmark = pytest.mark.sqlite("on a server, routes are in a table")

# As Hermes Agent 0.19 writes it, with a field and a key that nobody here knows.
THEIRS = {
    "_README": "LEGACY MIRROR",
    "agent:main:telegram:dm:1": {
        "session_key": "agent:main:telegram:dm:1",
        "session_id": "theirs",
        "created_at": "2026-09-21T10:00:00.000001",
        "updated_at": "2026-09-21T14:13:00.123456",
        "display_name": "Room ü",
        "total_tokens": 17,
        "expiry_finalized": False,
        "was_auto_reset": False,
        "unknown": {"kept": [1, None]},
        "origin": {"platform": "telegram", "chat_id": "1", "guild_id": "g"},
    },
    "agent:main:slack:dm:2": {
        "session_key": "agent:main:slack:dm:2",
        "session_id": "gone",
        "updated_at": "2026-09-21T14:13:00",
    },
}


def file(folder: Path) -> Path:
    return folder / "sessions.json"


def entries(folder: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(file(folder).read_text("utf-8"))
    return found


def aside(folder: Path) -> list[Path]:
    return sorted(folder.glob("sessions.json.damaged-*"))


def test_the_file_is_what_hermes_writes(router: SessionRouter, folder: Path) -> None:
    session_id = router.incoming(ALICE).session_id
    entry = entries(folder)["agent:main:telegram:dm:1"]
    assert entry["session_id"] == session_id
    assert entry["session_key"] == "agent:main:telegram:dm:1"
    assert entry["origin"] == ALICE.origin()
    assert (entry["platform"], entry["chat_type"], entry["display_name"]) == (
        "telegram", "dm", "Alice"
    )  # fmt: skip
    assert {"created_at", "updated_at", "total_tokens", "suspended", "cost_status"} <= set(entry)
    assert entry["updated_at"] == routing_file.local_time(NOON)
    text = file(folder).read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    assert file(folder).stat().st_mode & 0o777 == 0o600


def test_what_is_not_known_is_kept(
    db: SessionDB, router: SessionRouter, folder: Path, clock: Clock
) -> None:
    db.store.sessions.start("theirs", "telegram", started_at=NOON - 10)
    folder.mkdir()
    file(folder).write_text(json.dumps(THEIRS), "utf-8")
    assert router.incoming(ALICE).session_id == "theirs"
    router.incoming(BOB)
    found = entries(folder)
    ours = found.pop(build(BOB))
    assert ours["session_key"] == build(BOB)
    changed = found["agent:main:telegram:dm:1"]
    assert changed["unknown"] == {"kept": [1, None]}
    assert (changed["total_tokens"], changed["display_name"]) == (17, "Room ü")
    assert found["_README"] == THEIRS["_README"]
    assert found["agent:main:slack:dm:2"] == THEIRS["agent:main:slack:dm:2"]
    clock.now += 10 * 86_400
    assert router.incoming(ALICE).outcome is Outcome.RESET
    after = entries(folder)["agent:main:telegram:dm:1"]
    assert (after["unknown"], after["total_tokens"]) == ({"kept": [1, None]}, 0)
    assert aside(folder) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text[:-1],
        lambda text: text + "}",
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: "null",
        lambda text: "\x00" * len(text),
        lambda text: text.replace('"session_id"', '"session_ID"'),
        lambda text: text.replace('"updated_at": "20', '"updated_at": "soon 20'),
        lambda text: text.replace(": {\n", ": {\n,", 1),
    ],
)
def test_a_damaged_file_is_set_aside_and_rebuilt(
    db: SessionDB,
    router: SessionRouter,
    folder: Path,
    damage: object,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = {source: router.incoming(source).session_id for source in (ALICE, BOB)}
    assert callable(damage)
    spoilt = damage(file(folder).read_text("utf-8"))
    file(folder).write_text(spoilt, "utf-8")
    with caplog.at_level(logging.WARNING):
        assert {source: router.incoming(source).session_id for source in before} == before
    assert [path.read_text("utf-8") for path in aside(folder)] == [spoilt]
    assert aside(folder)[0].name in caplog.text
    assert set(entries(folder)) == {build(ALICE), build(BOB)}
    assert len(live_sessions(db)) == 2


def test_what_can_be_read_of_a_torn_file_is_kept(
    db: SessionDB, router: SessionRouter, folder: Path
) -> None:
    """Sessions that real Hermes began are in no other place."""
    db.store.sessions.start("theirs", "telegram", started_at=NOON - 10)
    folder.mkdir()
    text = json.dumps(THEIRS, indent=2)
    file(folder).write_text(text[: text.index("slack")], "utf-8")
    assert router.incoming(ALICE).session_id == "theirs"
    assert set(entries(folder)) == {"_README", "agent:main:telegram:dm:1"}
    assert len(aside(folder)) == 1


def test_a_missing_file_is_rebuilt_from_the_database(
    db: SessionDB, router: SessionRouter, folder: Path, clock: Clock
) -> None:
    before = {source: router.incoming(source).session_id for source in (ALICE, BOB)}
    clock.now += 60
    file(folder).unlink()
    fresh = SessionRouter(db.store, clock=clock)
    assert {source: fresh.incoming(source).session_id for source in before} == before
    assert entries(folder)[build(BOB)]["origin"] == BOB.origin()
    assert aside(folder) == []


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(IDS, IDS)
@example("%", "_")
@example('a"b\\', "\x00")
def test_any_ids_are_found_again_in_the_database(
    db: SessionDB, router: SessionRouter, folder: Path, chat: str, user: str
) -> None:
    sources = [
        MessageSource(platform="matrix", chat_type="group", chat_id=chat, user_id=user),
        MessageSource(platform="matrix", chat_type="group", chat_id=chat.swapcase(), user_id=user),
    ]
    before = [router.incoming(source).session_id for source in sources]
    assert [router.incoming(source).session_id for source in sources] == before
    file(folder).unlink()
    assert [router.incoming(source).session_id for source in sources] == before
    assert (before[0] == before[1]) == (chat == chat.swapcase())


def test_an_entry_that_a_person_removed_leads_to_the_same_session(
    db: SessionDB, router: SessionRouter, folder: Path
) -> None:
    before = router.incoming(ALICE).session_id
    router.incoming(BOB)
    kept = entries(folder)
    del kept[build(ALICE)]
    file(folder).write_text(json.dumps(kept), "utf-8")
    again = router.incoming(ALICE)
    assert (again.outcome, again.session_id) == (Outcome.RESUMED, before)
    assert len(live_sessions(db)) == 2


def test_changes_of_another_process_are_seen(db: SessionDB, router: SessionRouter) -> None:
    other = SessionRouter(db.store, clock=lambda: NOON)
    for number in range(5):
        source = MessageSource(platform="sms", chat_id=str(number))
        one, two = (router, other) if number % 2 else (other, router)
        assert one.incoming(source).session_id == two.incoming(source).session_id


def test_a_block_that_fails_changes_nothing(folder: Path) -> None:
    routes = Routes(folder, dict)
    with routes.changing() as found:
        found["k"] = Route.new("k", "first", NOON, {})
    before = file(folder).read_bytes()
    with pytest.raises(RuntimeError), routes.changing() as found:
        found["k"] = Route.new("k", "second", NOON, {})
        raise RuntimeError
    kept = routes.get("k")
    assert kept is not None
    assert kept.session_id == "first"
    assert file(folder).read_bytes() == before


def test_the_same_again_writes_nothing(folder: Path) -> None:
    routes = Routes(folder, dict)
    with routes.changing() as found:
        found["k"] = Route.new("k", "first", NOON, {})
    before = os.stat(file(folder))
    with routes.changing():
        pass
    assert os.stat(file(folder)) == before


def test_moments_are_exact_in_the_hour_that_comes_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half past two comes twice on 25 October 2026; its local time alone does not say which."""
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        for moment in (1_792_888_200.25, 1_792_891_800.25):
            with Routes(folder, dict).changing() as found:
                found["k"] = Route.new("k", "s", moment, {})
            read = Routes(folder, dict).get("k")
            assert read is not None
            assert read.updated_at == moment
            assert read.fields["updated_at"] == "2026-10-25T02:30:00.250000"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_moment_that_hermes_wrote_later_counts(folder: Path) -> None:
    with Routes(folder, dict).changing() as found:
        found["k"] = Route.new("k", "s", NOON, {})
    later = entries(folder)
    later["k"]["updated_at"] = routing_file.local_time(NOON + 12.5)
    file(folder).write_text(json.dumps(later), "utf-8")
    read = Routes(folder, dict).get("k")
    assert read is not None
    assert read.updated_at == NOON + 12.5


def test_a_lock_that_is_never_given_back_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        file_lock.locked(path),
        pytest.raises(StoreError, match="Another program has held"),
        file_lock.locked(path, patience=0.05),
    ):
        pass
    with file_lock.locked(path, patience=0):
        pass


def test_locks_hold_against_a_plain_flock(tmp_path: Path) -> None:
    """Earlier versions of this program locked that way, and may still run."""
    path = tmp_path / "file"
    with path.open("wb") as theirs, path.open("rb+") as ours:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="Another program"), file_lock.locked(path, 0.02):
            pass
        with pytest.raises(StoreError, match="Another program"):
            file_lock.wait_for(ours.fileno(), path, 0.02)
        fcntl.flock(theirs, fcntl.LOCK_UN)
        file_lock.wait_for(ours.fileno(), path, 0)
        with pytest.raises(BlockingIOError):
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
