"""Runs the browser without a terminal, and waits until it has come to rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Button, Input
from textual.worker import WorkerCancelled

from hermes_store.config.settings import Config
from hermes_tui.app import HermesApp
from hermes_tui.browse.screen import BrowseScreen
from hermes_tui.opening.start_options import Choice, Opening
from hermes_tui.store_access import Access

NOW = 1_790_000_000.0
"""What the clock of every test says: Monday, 21 September 2026, 14:13:20 UTC."""
WIDE = (120, 36)
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Typed:
    """A text that comes into the field that has the keys in one go, as when it is pasted."""

    text: str


Keys = str | Typed
Script = Callable[[Pilot[Choice]], Awaitable[None]]


def make_app(database: Path, *, clock: float | None = NOW, **opening: Any) -> HermesApp:
    """Return the browser of a file; without a clock it uses the real one."""
    tick = time.time if clock is None else lambda: clock
    access = Access(
        database,
        Config(),
        read_only=bool(opening.get("read_only")),
        address=opening.get("address"),
    )
    app = HermesApp(access, Opening(database=database, clock=tick, **opening))
    app.animation_level = "none"
    return app


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until nothing is under way: no worker runs and no message or key waits."""
    while True:
        started = _started_workers(pilot)
        running = [worker for worker in pilot.app.workers if not worker.is_finished]
        if running:
            with suppress(WorkerCancelled):
                await pilot.app.workers.wait_for_complete(running)
            continue
        # A worker that ends after this look has posted its answer only after the pause began, so
        # at rest is only a pause with no worker before it, none after it, and none within it.
        await pilot.pause()
        # A pause ends with painting, and what is painted may ask for what it lacks.
        await pilot._wait_for_screen()
        if _started_workers(pilot) == started and not getattr(pilot.app, "_typed", None):
            return


def _started_workers(pilot: Pilot[Any]) -> int:
    """Return how many workers the program has ever started; counts from the first look on."""
    manager: Any = pilot.app.workers
    if not hasattr(manager, "started"):
        add = manager.add_worker

        def counting(*args: Any, **options: Any) -> None:
            manager.started += 1
            add(*args, **options)

        manager.started, manager.add_worker = 0, counting
    count: int = manager.started
    return count


LOADING = 10.0
"""Seconds to wait for the first whole list; a test may keep it from being read."""


async def load(pilot: Pilot[Any]) -> None:
    """Wait until the first whole list is there, which begins after the first painting."""
    await settle(pilot)
    deadline = time.monotonic() + LOADING
    screens = [each for each in pilot.app.screen_stack if isinstance(each, BrowseScreen)]
    while any(each.list._loaded_at is None for each in screens) and time.monotonic() < deadline:
        await pilot.pause(0.02)
    await settle(pilot)


async def press(pilot: Pilot[Any], *keys: Keys) -> None:
    """Press keys, each after the one before has had its effect."""
    await settle(pilot)
    for each in keys:
        if isinstance(each, Typed):
            field = pilot.app.focused
            assert isinstance(field, Input)
            field.post_message(events.Paste(each.text))
        else:
            await pilot.press(each)
        await settle(pilot)


async def click(pilot: Pilot[Any], button: str) -> None:
    """Press a button of a dialog."""
    assert not pilot.app.screen.query_one(button, Button).disabled
    await pilot.click(button)
    await press(pilot)


async def until(pilot: Pilot[Any], condition: Callable[[], object], what: str) -> None:
    """Wait for something that comes from elsewhere; fail if it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        await pilot.pause(0.02)
    await settle(pilot)


def drive(app: HermesApp, script: Script, size: tuple[int, int] = WIDE) -> Choice | None:
    """Run the browser along a script; return what it was left with."""

    async def go() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(pilot)
            await script(pilot)

    asyncio.run(go())
    return app.return_value


def main(pilot: Pilot[Any]) -> BrowseScreen:
    """Return the main screen, whatever lies above it."""
    return next(each for each in pilot.app.screen_stack if isinstance(each, BrowseScreen))


def listed(pilot: Pilot[Any]) -> list[str]:
    """Return what the list holds, from top to bottom."""
    return [entry for entry in main(pilot).list.sessions.listed() if isinstance(entry, str)]


def page(pilot: Pilot[Any]) -> list[str]:
    """Return the lines that are on the screen."""
    return [strip.text for strip in pilot.app.screen._compositor.render_strips()]


def shown(pilot: Pilot[Any]) -> str:
    """Return all that is on the screen."""
    return "\n".join(page(pilot))


def text_of(widget: Widget) -> str:
    """Return what a text widget says."""
    return str(widget.render())


def said(pilot: Pilot[Any]) -> list[str]:
    """Return what the status line of the browser says, after what else was announced."""
    notes = [note.message for note in pilot.app._notifications]
    screens = [each for each in pilot.app.screen_stack if isinstance(each, BrowseScreen)]
    return notes + [each.status.message for each in screens if each.status.message]
