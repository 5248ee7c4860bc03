"""Automatic pruning as config.yaml sets it: through the trash, by the store, a bot and a verb."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hermes_store import SessionDB
from hermes_store.config.settings import Config, SessionsConfig
from hermes_store.engines.sqlite import holders as open_files
from hermes_store.engines.sqlite import session_database
from hermes_store.gateway import MessageSource, SessionRouter
from hermes_store.upkeep import auto_prune
from tests.cli.command import hermes
from tests.support import LONG_AGO, add, add_chain

DAY = 86_400


def on(**settings: Any) -> Config:
    return Config(sessions=SessionsConfig(auto_prune=True, **settings))


@pytest.fixture
def full(db: SessionDB) -> SessionDB:
    """Two old conversations, and some that stay."""
    add_chain(db, ["a", "b"])
    add(db, "old", "x", ended=LONG_AGO + 5)
    add(db, "open", "x")
    add(db, "kept", "x", ended=LONG_AGO + 5)
    add(db, "new", "x", at=time.time() - 5 * DAY, ended=time.time() - 4 * DAY)
    db.store.marks.pin("kept")
    return db


def test_it_does_nothing_unless_it_is_asked_for(full: SessionDB) -> None:
    assert full.store.upkeep.auto_prune(Config()).skipped
    assert full.session_count() == 6 and full.store.upkeep.last_auto_prune() is None


def test_old_conversations_move_to_trash_and_come_back(full: SessionDB) -> None:
    before = time.time()
    report = full.store.upkeep.auto_prune(on())
    assert (report.pruned, report.error, report.skipped) == (3, None, False)
    assert set(report.pruned_ids) == {"a", "b", "old"}
    (batch,) = full.store.trash.list()
    assert (batch.id, batch.reason) == (report.batch_id, auto_prune.AUTOMATIC)
    assert (full.store.upkeep.last_auto_prune() or 0) >= before
    assert full.store.upkeep.auto_prune(on()).skipped
    full.store.trash.restore()
    assert full.session_count() == 6


def test_what_it_moved_is_deleted_as_long_after(
    full: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.store.upkeep.auto_prune(on(min_interval_hours=0))
    full.store.trash.delete_conversation("new")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 91 * DAY)
    monkeypatch.setattr(full.store.trash, "_clock", time.time)
    report = full.store.upkeep.auto_prune(on(min_interval_hours=0))
    assert report.purged == 3
    # What a person deleted stays in the trash.
    assert [batch.reason for batch in full.store.trash.list()] == ["deleted"]


@pytest.mark.parametrize("others", [[], [(7, "hermes")]])
@pytest.mark.sqlite("nobody waits for a vacuum of PostgreSQL")
def test_space_is_returned_when_nobody_else_is_there(
    full: SessionDB, monkeypatch: pytest.MonkeyPatch, others: list[tuple[int, str]]
) -> None:
    monkeypatch.setattr(session_database, "holders", lambda _path: others)
    report = full.store.upkeep.auto_prune(on())
    assert report.vacuumed is (not others)
    assert (full.get_meta(auto_prune.LAST_VACUUM_KEY) is not None) is (not others)


def test_space_is_not_returned_every_day(full: SessionDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_database, "holders", lambda _path: [])
    full.set_meta(auto_prune.LAST_VACUUM_KEY, str(time.time() - 5 * DAY))
    assert full.store.upkeep.auto_prune(on()).vacuumed is False
    full.set_meta(auto_prune.LAST_RUN_KEY, "0")
    add(full, "another", "x", ended=LONG_AGO)
    assert full.store.upkeep.auto_prune(on(min_vacuum_interval_days=4)).vacuumed is True


def test_other_programs_are_seen(path: Path, db: SessionDB) -> None:
    assert open_files.holders(path) == []


def test_a_bot_prunes_while_it_runs(full: SessionDB) -> None:
    router = SessionRouter(full.store, on())
    assert router.caretaker is not None
    router.incoming(MessageSource(platform="telegram", chat_id="1", user_id="u"), "hello")
    thread = router.caretaker.thread
    assert thread is not None
    thread.join(60)
    assert full.get_session("old") is None and full.store.trash.list()
    router.incoming(MessageSource(platform="telegram", chat_id="1", user_id="u"), "again")
    assert router.caretaker.thread is thread  # not with every message


def test_a_bot_that_was_not_asked_does_not(full: SessionDB) -> None:
    assert SessionRouter(full.store, Config()).caretaker is None
    assert SessionRouter(full.store).caretaker is None


def test_the_verb_and_the_doctor_tell(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        add(db, "old", "x", ended=LONG_AGO + 5)
    assert "Automatic pruning is off" in hermes(tmp_path, "sessions", "auto-prune").out
    assert "Off; sessions.auto_prune" in hermes(tmp_path, "sessions", "doctor").out
    (tmp_path / "config.yaml").write_text("sessions:\n  auto_prune: true\n  retention_days: 30\n")
    said = hermes(tmp_path, "sessions", "doctor").out
    assert "inactive for 30 days move to trash" in said and "It has never run." in said
    done = hermes(tmp_path, "sessions", "auto-prune", "--json").json()
    assert (done["on"], done["pruned"], done["skipped"]) == (True, 1, False)
    assert "Not due yet" in hermes(tmp_path, "sessions", "auto-prune").out
    assert "It last ran on" in hermes(tmp_path, "sessions", "doctor").out
    assert hermes(tmp_path, "sessions", "restore", "--last").code == 0
