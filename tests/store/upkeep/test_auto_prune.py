"""The clean-up that runs by itself: when, how much, and never into its caller."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hermes_store import SessionDB
from hermes_store.config.settings import Config, SessionsConfig
from hermes_store.trash import delete_from_database
from hermes_store.upkeep.auto_prune import LAST_RUN_KEY
from hermes_store.upkeep.prune_by_age import prune_older_than
from tests.support import LONG_AGO, add, add_chain, found, is_whole, raw

NOTHING = {"skipped": False, "pruned": 0, "vacuumed": False}


def _config(**settings: bool | int) -> Config:
    return Config(sessions=SessionsConfig(**settings))  # type: ignore[arg-type]


def test_old_sessions_go_and_the_moment_is_kept(db: SessionDB) -> None:
    add(db, "old", ended=LONG_AGO)
    add(db, "open")
    before = time.time()
    assert db.maybe_auto_prune_and_vacuum() == {"skipped": False, "pruned": 1, "vacuumed": True}
    assert before <= float(db.get_meta(LAST_RUN_KEY) or 0) <= time.time()
    assert db.session_count() == 1


@pytest.mark.parametrize("mark", ["pin", "archive"])
@pytest.mark.parametrize("way", ["auto_prune", "prune_sessions"])
def test_what_is_pinned_or_archived_stays(db: SessionDB, mark: str, way: str) -> None:
    add(db, "old", ended=LONG_AGO)
    add_chain(db, ["first", "second"], at=LONG_AGO)
    getattr(db.store.marks, mark)("second")
    pruned = db.prune_sessions() if way == "prune_sessions" else _auto_pruned(db)
    assert pruned == 1
    assert db.get_session("old") is None
    assert db.get_session("first") is not None and db.get_session("second") is not None


def test_what_is_pinned_while_pruning_runs_stays(
    db: SessionDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete_from_database, "STEP_SESSIONS", 1)
    for session_id in ("a", "b"):
        add(db, session_id, ended=LONG_AGO)
    steps = prune_older_than(db._db, db.store.marks, 90)
    left = {"a", "b"} - {next(steps)}
    db.store.marks.pin(*left)
    assert not list(steps)
    assert {row["id"] for row in db.list_sessions_rich()} == left


def _auto_pruned(db: SessionDB) -> int:
    return int(db.maybe_auto_prune_and_vacuum()["pruned"])


def test_it_waits_for_its_turn(db: SessionDB) -> None:
    assert db.maybe_auto_prune_and_vacuum() == NOTHING
    add(db, "old", ended=LONG_AGO)
    assert db.maybe_auto_prune_and_vacuum() == NOTHING | {"skipped": True}
    db.set_meta(LAST_RUN_KEY, str(time.time() - 25 * 3600))
    assert db.maybe_auto_prune_and_vacuum(min_interval_hours=26)["skipped"] is True
    assert db.maybe_auto_prune_and_vacuum()["pruned"] == 1


def test_all_processes_of_a_home_share_the_turn(db: SessionDB, path: Path) -> None:
    assert db.maybe_auto_prune_and_vacuum() == NOTHING
    with SessionDB(path) as other:
        assert other.maybe_auto_prune_and_vacuum()["skipped"] is True


@pytest.mark.parametrize("last", ["nonsense", "nan", "", "99999999999.0"])
def test_a_moment_that_makes_no_sense_does_not_stop_it(db: SessionDB, last: str) -> None:
    db.set_meta(LAST_RUN_KEY, last)
    assert db.maybe_auto_prune_and_vacuum() == NOTHING
    assert abs(float(db.get_meta(LAST_RUN_KEY) or 0) - time.time()) < 60


def test_space_is_given_back_only_if_rows_went(db: SessionDB, path: Path) -> None:
    add(db, "big", *["x" * 50_000] * 20, ended=LONG_AGO + 99)
    add(db, "small", "kept needle")
    db.delete_session("big")
    free = db.store.upkeep.statistics().reclaimable_bytes
    assert free > 0
    assert db.maybe_auto_prune_and_vacuum() == NOTHING
    assert db.store.upkeep.statistics().reclaimable_bytes == free
    db.vacuum()
    assert db.store.upkeep.statistics().reclaimable_bytes == 0
    assert found(db, "needle") == ["small"]
    assert is_whole(path)


@pytest.mark.sqlite("is about the free space of a file")
def test_vacuum_can_be_left_out(db: SessionDB) -> None:
    add(db, "big", *["x" * 50_000] * 20, ended=LONG_AGO + 99)
    report = db.maybe_auto_prune_and_vacuum(vacuum=False)
    assert report == {"skipped": False, "pruned": 1, "vacuumed": False}
    assert db.store.upkeep.statistics().reclaimable_bytes > 0


def test_files_of_pruned_sessions_go_too(db: SessionDB, tmp_path: Path) -> None:
    add(db, "old", ended=LONG_AGO)
    (tmp_path / "old.jsonl").write_text("x")
    db.maybe_auto_prune_and_vacuum(sessions_dir=tmp_path)
    assert not (tmp_path / "old.jsonl").exists()


def test_a_read_only_store_reports_instead_of_raising(db: SessionDB, path: Path) -> None:
    add(db, "old", ended=LONG_AGO)
    with SessionDB(path, read_only=True) as reader:
        report = reader.maybe_auto_prune_and_vacuum()
    assert report["pruned"] == 0
    assert "read-only" in report["error"]
    assert db.session_count() == 1


def test_damage_is_reported_instead_of_raised(db: SessionDB, path: Path) -> None:
    add(db, "old", ended=LONG_AGO)
    with raw(path) as con:
        con.execute(
            "CREATE TRIGGER refuse BEFORE DELETE ON sessions "
            "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        )
    report = db.maybe_auto_prune_and_vacuum()
    assert "not this one" in report["error"]
    assert db.session_count() == 1


def test_nothing_happens_unless_the_settings_say_so(db: SessionDB) -> None:
    add(db, "old", ended=LONG_AGO)
    assert db.store.upkeep.auto_prune(Config()).skipped
    assert db.get_meta(LAST_RUN_KEY) is None
    report = db.store.upkeep.auto_prune(_config(auto_prune=True, vacuum_after_prune=False))
    assert (report.pruned_ids, report.vacuumed, report.error) == (("old",), False, None)


def test_the_settings_decide_how_old_is_old(db: SessionDB) -> None:
    moment = time.time() - 40 * 86_400
    add(db, "old", at=moment, ended=moment)
    assert db.store.upkeep.auto_prune(_config(auto_prune=True, min_interval_hours=0)).pruned == 0
    report = db.store.upkeep.auto_prune(
        _config(auto_prune=True, retention_days=30, min_interval_hours=0)
    )
    assert report.pruned == 1
