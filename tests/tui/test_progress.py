"""Long work: what the dialog shows, and that stopping leaves everything whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store.records.prune import PruneFilter
from hermes_store.store import Store
from hermes_tui.browse import change_jobs
from hermes_tui.dialogs.export import Export
from hermes_tui.dialogs.progress import GivenUp, ProgressDialog, Work
from tests.tui.running import NOW, drive, listed, main, make_app, said, shown, until


def test_the_dialog_shows_how_far_it_is_and_goes_when_it_ends(sample: Path) -> None:
    work = Work("Cleaning up", "All is well.")

    async def script(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(ProgressDialog(work))
        work.progress("copying", 30, 120)
        await until(pilot, lambda: "copying" in shown(pilot) and "25%" in shown(pilot), "a quarter")
        await pilot.press("escape")
        await until(pilot, lambda: "Stopping" in shown(pilot), "the wish to stop")
        with pytest.raises(GivenUp, match=r"stopped\. All is well\."):
            work.progress("copying", 31, 120)
        work.ended = True
        await until(
            pilot, lambda: not isinstance(pilot.app.screen, ProgressDialog), "the end of the dialog"
        )

    drive(make_app(sample), script)


def test_a_prune_that_is_stopped_loses_nothing(sample: Path) -> None:
    with Store(sample) as store:
        before = store.upkeep.statistics()
        plan = store.upkeep.plan_prune(PruneFilter(older_than_days=30), NOW)
        assert plan.sessions > 20
        work = Work("Cleaning up", "All is well.")
        steps = 0

        def progress(what: str, done: int, total: int) -> None:
            nonlocal steps
            steps += 1
            if steps == 3:
                work.stop()
            work.progress(what, done, total)

        with pytest.raises(GivenUp):
            store.upkeep.prune(plan, progress=progress)
        left = store.upkeep.statistics().sessions
        assert left > 0
        while store.trash.list():
            store.trash.restore(store.trash.list()[0].id)
        after = store.upkeep.statistics()
        assert (after.sessions, after.messages) == (before.sessions, before.messages)


def test_an_export_that_is_stopped_says_what_is_true(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "all.jsonl"
    target.write_text("an older export")
    monkeypatch.setattr(Work, "stopping", True)

    async def script(pilot: Pilot[Any]) -> None:
        changes = main(pilot).changes
        changes._export(Export(target, "jsonl", tuple(listed(pilot)[:3]), False))
        await until(pilot, lambda: any("Exporting was stopped" in each for each in said(pilot)), "")
        [told] = [each for each in said(pilot) if "Exporting was stopped" in each]
        assert told == "Exporting was stopped. No file was created or replaced."

    drive(make_app(sample), script)
    assert target.read_text() == "an older export"
    assert [each.name for each in tmp_path.iterdir() if "all.jsonl" in each.name] == ["all.jsonl"]


def test_a_deletion_that_is_stopped_can_be_undone(sample: Path) -> None:
    """What was moved to trash before it was stopped comes back with the undo of that step."""
    with Store(sample) as store:
        plan = store.upkeep.plan_prune(PruneFilter(older_than_days=30), NOW)
        before = store.upkeep.statistics().sessions
        steps = 0

        class Impatient(Work):
            """Stops at the third step."""

            def progress(self, what: str, done: int, total: int) -> None:
                nonlocal steps
                steps += 1
                if steps == 3:
                    self.stop()
                super().progress(what, done, total)

        work = Impatient("Deleting", "The rest stays.")
        outcome = change_jobs.prune(store, plan, None, work)
        assert outcome.text == "Deleting was stopped. The rest stays."
        assert store.upkeep.statistics().sessions < before
        assert outcome.undo is not None
        outcome.undo(store)
        assert store.upkeep.statistics().sessions == before
