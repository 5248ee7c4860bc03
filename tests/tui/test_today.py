"""What today's Hermes adds to a file, in the browser: scope, summarised turns, idle pruning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import SessionDB
from hermes_store.config.settings import Config, SessionsConfig
from hermes_store.records.listing import View
from hermes_store.records.workspace import Place
from hermes_tui import app as application
from hermes_tui.app import HermesApp
from hermes_tui.cli.common.open_screen import opening_for
from hermes_tui.opening.first_list_rows import FirstPage
from hermes_tui.opening.start_options import Opening, State
from hermes_tui.store_access import Access
from tests.store import versions
from tests.store.engines.test_versions import Program
from tests.support import LONG_AGO, add
from tests.tui.conftest import Snap
from tests.tui.running import NOW, Typed, drive, listed, load, make_app, page, press, said, until

DAY = 86_400


@pytest.fixture
def today(tmp_path: Path) -> Path:
    """A file of schema 26 with workspaces, a compacted conversation and what Hermes hides."""
    path = tmp_path / "state.db"
    versions.make(path, 26)
    program = Program(path)

    def talk(name: str, hours: float, *turns: str, **more: Any) -> None:
        start = NOW - hours * 3_600
        program.session(name, start, message_count=len(turns), **more)
        for number, text in enumerate(turns):
            role = "user" if number % 2 == 0 else "assistant"
            program.say(name, text, start + 10 * (number + 1), role)

    talk("ci", 0.5, "The deploy step fails with exit code 137.", "The container ran out of memory.",
         title="Fix CI out-of-memory kill", git_repo_root="/src/shop-api", cwd="/src/shop-api/ci",
         last_read_at=1.0)  # fmt: skip
    talk("pay", 4, "Are retries safe?", "Only with an idempotency key.",
         title="Retry safety in payments", cwd="/src/shop-api", source="slack",
         git_repo_root="/src/shop-api")  # fmt: skip
    talk("trip", 20, "A hotel in Lisbon, please", "Near the river?", title="Hotel in Lisbon",
         source="telegram", last_read_at=NOW)  # fmt: skip
    talk("site", 30, "Draft the onboarding mail", "Here it is.", title="Onboarding mail",
         git_repo_root="/src/website", cwd="/src/website")  # fmt: skip
    talk("once", 2, "What is 2 + 2?", "4", source="oneshot")
    talk("card", 3, "Card 12", "Done", source="kanban")
    talk("dark", 5, "x", "y", hidden=1)
    start = NOW - 7_200
    program.session("cron", start, title="Move the cron job to systemd", message_count=3,
                    cwd="/src/shop-api", git_repo_root="/src/shop-api")  # fmt: skip
    turns: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("user", "How do I turn my cron job into a timer?", {"active": 0, "compacted": 1}),
        ("assistant", "With a service and a timer unit.", {"active": 0, "compacted": 1}),
        ("user", "Where do they go?", {"active": 0, "compacted": 1}),
        ("assistant", "Into /etc/systemd/system.", {"active": 0, "compacted": 1}),
        ("user", "[Summary] Two units were written.", {}),
        ("user", "oops, wrong window", {"active": 0}),
        ("user", "And the logs?", {}),
        ("assistant", "journalctl -u billing.service", {}),
        ("user", "a note for the model only", {"display_kind": "hidden"}),
    )  # fmt: skip
    for number, (role, text, state) in enumerate(turns):
        program.say("cron", text, start + number, role, **state)
    program.close()
    return path


@pytest.fixture
def in_shop(today: Path) -> Iterator[HermesApp]:
    """The browser, opened inside of a workspace."""
    yield make_app(today, view=View(here="/src/shop-api"))


def test_the_list_says_where_and_what_is_unread(today: Path, snap: Snap) -> None:
    snap(make_app(today))


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 12)], ids=str)
def test_one_workspace(in_shop: HermesApp, snap: Snap, size: tuple[int, int]) -> None:
    snap(in_shop, size=size)


@pytest.mark.parametrize("size", [(120, 36), (80, 24)], ids=str)
def test_summarised_turns(today: Path, snap: Snap, size: tuple[int, int]) -> None:
    snap(make_app(today, state=State(session_id="cron", tab="transcript")), size=size)


def test_everything(today: Path, snap: Snap) -> None:
    app = make_app(today, state=State(session_id="cron", tab="transcript"))
    snap(app, "tab", "tab", "v")


def test_one_key_shows_all_workspaces_and_searches_them(in_shop: HermesApp) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        assert listed(pilot) == ["ci", "cron", "pay"]
        assert "3 conversations in shop-api (F5: all)" in page(pilot)[0]
        await press(pilot, Typed("lisbon"))
        assert listed(pilot) == []
        assert any("Nothing found in shop-api" in line for line in page(pilot))
        await press(pilot, "f5")
        await until(pilot, lambda: listed(pilot) == ["trip"], "the hotel in Lisbon")
        await press(pilot, "escape")
        await until(pilot, lambda: len(listed(pilot)) == 5, "all workspaces")
        await press(pilot, "f5")
        await until(pilot, lambda: len(listed(pilot)) == 3, "one workspace")

    drive(in_shop, script)


def test_a_browser_for_some_workspaces_searches_only_those(today: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        assert listed(pilot) == ["ci", "cron", "pay"]
        await press(pilot, Typed("mail OR retries"))
        await until(pilot, lambda: listed(pilot) == ["pay"], "nothing about the website")

    drive(make_app(today, view=View(workspace="shop")), script)


def test_pruning_begins_with_what_is_shown(in_shop: HermesApp) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, "f2")
        field = pilot.app.screen.query_one("#where")
        assert getattr(field, "value", "") == 'workspace:"/src/shop-api"'

    drive(in_shop, script)


def test_elsewhere_the_key_says_why_nothing_happens(today: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, "f5")
        assert any("No conversation took place in this folder" in each for each in said(pilot))

    drive(make_app(today), script)


def test_the_first_page_knows_the_folder(today: Path) -> None:
    first = FirstPage(today, View(), NOW, Place("/src/shop-api/ci", "/src/shop-api"))
    first.wait()
    assert first.view.here == "/src/shop-api"
    assert first.head is not None and first.head.entries == ["ci", "cron", "pay"]
    assert first.store is not None
    first.store.close()


@pytest.mark.parametrize(("scope", "workspace"), [("here", None), ("all", None), ("here", "x")])
def test_a_setting_turns_it_off(tmp_path: Path, scope: str, workspace: str | None) -> None:
    import argparse

    from hermes_store.config.settings import BrowseConfig
    from hermes_tui.cli.common.context import Context
    from hermes_tui.cli.common.output import Printer

    options = argparse.Namespace(source=None, workspace=workspace, limit=0, read_only=False,
                                 print_id=False, query="", demo=False)  # fmt: skip
    context = Context(tmp_path, tmp_path / "state.db", Printer(), NOW)
    opening = opening_for(options, context, Config(browse=BrowseConfig(scope=scope)))
    assert opening.scoped is (scope == "here" and workspace is None)
    assert opening.place is not None and opening.place.cwd == os.getcwd()
    assert opening.view.workspace == workspace


def test_fields_complete_with_what_is_there(today: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed("retries"))
        await press(pilot, Typed(" workspace:sh"), "tab")
        field = pilot.app.screen.query_one("#query")
        assert getattr(field, "value", "") == "retries workspace:shop-api "

    drive(make_app(today), script)


@pytest.mark.parametrize("auto_prune", [True, False])
def test_old_conversations_are_pruned_while_nobody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auto_prune: bool
) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        add(db, "old", "x", ended=LONG_AGO + 5)
        add(db, "open", "x")
    monkeypatch.setattr(application, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(application, "LOOK_SECONDS", 0.05)
    config = Config(sessions=SessionsConfig(auto_prune=auto_prune))
    app = HermesApp(Access(path, config), Opening(database=path, clock=lambda: NOW))

    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        if not auto_prune:
            assert not app.access.prunes
            return
        await until(pilot, lambda: any("1 old session" in each for each in said(pilot)), "a prune")

    drive(app, script)
    with SessionDB(path) as db:
        assert (db.get_session("old") is None) is auto_prune
        assert len(db.store.trash.list()) == int(auto_prune)


def test_a_hit_among_summarised_turns_is_on_the_page(today: Path) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        await load(pilot)
        await press(pilot, Typed('"etc/systemd"'))
        await until(
            pilot, lambda: any("Into /etc/systemd" in line for line in page(pilot)), "the turn"
        )
        assert any("summarised, no longer sent to the model" in line for line in page(pilot))

    drive(make_app(today), script)
