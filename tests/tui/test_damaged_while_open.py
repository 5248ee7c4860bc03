"""The database is damaged under an open browser: it stays up and says what it cannot do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from hermes_store import Store
from tests.campaign import harm
from tests.fuzzing import FACTOR
from tests.tui.running import Typed, drive, main, make_app, press

SEEDS = range(FACTOR)


async def _use(pilot: Pilot[Any]) -> None:
    """Move, read, search, rename and look at the dialogs."""
    await press(pilot, "tab", "down", "down")
    for key in ["ctrl+t"] * 4:
        await press(pilot, key)
    for key in ("t", "f3", "f6", "p", "e", "d"):
        await press(pilot, key)
        if pilot.app.screen is not main(pilot):
            await press(pilot, "escape")
    await press(pilot, "/", Typed("deploy"), "tab", "down", "up")
    await press(pilot, "r")
    if pilot.app.screen is not main(pilot):
        await press(pilot, Typed("Another title"), "enter")
    if pilot.app.screen is not main(pilot):
        await press(pilot, "escape")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", harm.DAMAGE)
def test_the_browser_stays_up(sample: Path, kind: str, seed: int) -> None:
    async def script(pilot: Pilot[Any]) -> None:
        with Store(sample) as store:
            store.sessions.start("late", "cli")
            store.messages.append("late", {"role": "user", "content": "deploy late"})
            harm.damage(kind, sample.parent, random.Random(seed))
        await _use(pilot)
        assert pilot.app.is_running
        assert main(pilot).is_current

    drive(make_app(sample, clock=None), script)
